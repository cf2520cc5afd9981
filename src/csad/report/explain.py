"""What a run uses: the columns of a table, places in a picture or a series, or the color of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad.auditing.metrics.classification import cell_accuracy
from csad.data.chunks import rows_at_a_time
from csad.data.own.preprocessor import Preprocessor
from csad.data.samples import Classes, Dataset, Samples
from csad.report.findings import ColorMaps
from csad.runs.run import Run
from csad.training.device import computing_in

Array = NDArray[np.float64]
STEPS = 16  # from the mean row to a row
MOST_ROWS = 2000  # whose columns are shuffled
LEAST_MAPPED, MOST_MAPPED, MOST_VALUES = 32, 256, 400_000  # rows, rows, values of all these rows
MOST_REPEATS, MOST_SHUFFLES = 5, 1000
COLOR, MOST_COLORS = "color", 24  # the fact of a row that color maps need
MOST_SAMPLED = 100  # pictures whose mean color stands for a color


@dataclass(frozen=True)
class ColumnImportance:
    """How much worse a run does once a column is shuffled, and the share of rows whose prediction changes."""

    column: str
    mean: float
    std: float
    changed: float | None


def column_blocks(run: Run, width: int) -> dict[str, slice]:
    """The columns of x that each raw column became; x's own columns, by number from 1, if no table was prepared."""
    if not isinstance(run.preparation, Preprocessor):
        return {f"column {k + 1}": slice(k, k + 1) for k in range(width)}
    blocks, first = {}, 0
    for column in run.preparation.columns:
        last = first + len(column.names())
        if last > first:
            blocks[column.column] = slice(first, last)
        first = last
    return blocks


def column_importance(run: Run, samples: Samples) -> tuple[list[ColumnImportance], int]:
    """The importance of each raw column to a run, and how often each was shuffled.

    Importance is the accuracy lost, or the squared error gained, when a column is shuffled among the rows. All columns
    of x that a raw column became move together. Rows and shuffles are the same for all runs.
    """
    rng = np.random.default_rng(0)
    rows = _draw_rows(len(samples), MOST_ROWS, rng)
    x, y = samples.x[torch.as_tensor(rows)].cpu(), samples.y.cpu().numpy()[rows]
    blocks = column_blocks(run, x.shape[1])
    repeats = min(MOST_REPEATS, max(1, MOST_SHUFFLES // len(blocks)))
    number = not isinstance(run.method.task.target, Classes)
    before = run.predict(x)
    importances = []
    for name, block in blocks.items():
        losses, changed = [], []
        for _ in range(repeats):
            shuffled = x.clone()
            shuffled[:, block] = x[torch.as_tensor(rng.permutation(len(x)))][:, block]
            after = run.predict(shuffled)
            losses.append(_loss(before, after, y, number))
            changed.append(float(np.mean(before != after)))
        mean_changed = None if number else float(np.mean(changed))
        importances.append(ColumnImportance(name, float(np.mean(losses)), float(np.std(losses)), mean_changed))
    return importances, repeats


def _loss(before: NDArray[Any], after: NDArray[Any], y: NDArray[Any], number: bool) -> float:
    if number:
        return float(np.mean((after - y) ** 2) - np.mean((before - y) ** 2))
    return float(np.mean(before == y) - np.mean(after == y))


def integrated_gradients(run: Run, x: Tensor, mean: Tensor) -> Array:
    """What each value of x adds to the prediction for its row: integrated gradients (Sundararajan et al., 2017).

    (x − m) times the mean gradient, on a straight line from the mean row m to x, of the score of the predicted class,
    or of the number. Their sum is that score less its value at m, as far as the steps are fine enough.
    """
    method = run.method.eval()
    device = next(method.parameters()).device
    weights = (torch.arange(STEPS, device=device, dtype=torch.get_default_dtype()) + 0.5) / STEPS
    parts = []
    with computing_in(method.course.precision):
        # Copies, because a view may change the tensor it gets.
        start = run.view(mean.to(device, copy=True)[None])
        for rows in torch.split(x, rows_at_a_time(x.shape[1:], STEPS)):
            inputs = run.view(rows.to(device, copy=True))
            with torch.no_grad():
                predicted = torch.as_tensor(run.decide(method.predict(inputs).cpu()), device=device)
            shares = weights.reshape(-1, *[1] * inputs.ndim)
            points = (start + shares * (inputs - start)).flatten(0, 1).detach().requires_grad_()
            with torch.enable_grad():
                scores = method.predict(points).gather(1, predicted.repeat(STEPS)[:, None])
                gradients = torch.autograd.grad(scores.sum(), points)[0]
            slope = gradients.reshape(STEPS, *inputs.shape).mean(0)
            parts.append(((inputs - start) * slope).cpu().double())
    together: Array = torch.cat(parts).numpy()
    return together


def mean_row(samples: Samples) -> Tensor:
    """The mean row, in the unit that rows are stored in."""
    spread = samples.x[:: -(-len(samples) // MOST_MAPPED)]  # enough for a mean, and few in memory
    mean = spread.to(torch.get_default_dtype()).mean(0)
    return mean.to(samples.x.dtype) if samples.x.is_floating_point() else mean.round().to(samples.x.dtype)


def attention(parts: Array) -> Array:
    """Each place's share of what was added, by row; channels of a picture are summed, a series keeps them apart."""
    size = np.abs(parts)
    size = size.sum(1) if size.ndim == 4 else size
    whole = size.reshape(len(size), -1).sum(1).reshape(-1, *[1] * (size.ndim - 1))
    shares: Array = np.divide(size, whole, out=np.zeros_like(size), where=whole > 0)
    return shares


def mean_attention(runs: Mapping[str, Run], samples: Samples) -> tuple[dict[str, Array], int]:
    """For each run its mean attention map, whose sum is 1 unless the run uses no place, and the number of rows."""
    most = min(MOST_MAPPED, max(LEAST_MAPPED, MOST_VALUES // samples.x[0].numel()))
    rows = torch.as_tensor(_draw_rows(len(samples), most, np.random.default_rng(0)))
    mean = mean_row(samples)
    maps = {name: attention(integrated_gradients(run, samples.x[rows], mean)).mean(0) for name, run in runs.items()}
    return maps, len(rows)


def color_maps(runs: Mapping[str, Run], dataset: Dataset, split: str) -> ColorMaps | None:
    """Accuracy by color and target; None unless pictures have classes and their rows tell which color each is in."""
    samples, target = dataset.splits[split], dataset.task.target
    facts = [part.extra.get(COLOR) for part in (samples, dataset.train)]
    if not isinstance(target, Classes) or len(dataset.task.shape) != 3 or dataset.task.shape[0] != 3:
        return None
    if any(fact is None or fact.ndim != 1 or fact.is_floating_point() for fact in facts):
        return None
    colors, trained = (np.asarray(fact.cpu()) for fact in facts if fact is not None)
    y = samples.y.cpu().numpy()
    count = int(max(colors.max(), trained.max())) + 1
    if count > MOST_COLORS:
        return None
    cells = {name: cell_accuracy(run.predict(samples.x), y, colors, count, target.count) for name, run in runs.items()}
    pairs = float(np.mean(trained == dataset.train.y.cpu().numpy()))
    return ColorMaps(
        cells, target.words, _swatches(dataset.train, trained, count), pairs > 0.5 and count == target.count
    )


def _swatches(samples: Samples, colors: NDArray[Any], count: int) -> list[tuple[int, int, int]]:
    """The mean color of what is not black in the pictures of each color."""
    swatches = []
    for color in range(count):
        rows = np.flatnonzero(colors == color)[:MOST_SAMPLED]
        pixels = (
            picture_bytes(samples.x[torch.as_tensor(rows)]).reshape(-1, 3) if len(rows) else np.zeros((0, 3), np.uint8)
        )
        lit = pixels[pixels.any(axis=1)]
        red, green, blue = lit.mean(axis=0).round().astype(int).tolist() if len(lit) else (128, 128, 128)
        swatches.append((red, green, blue))
    return swatches


def picture_bytes(x: Tensor) -> NDArray[np.uint8]:
    """(n, height, width, 3) bytes; floats are stretched between the least and the greatest."""
    values = x.cpu()
    if values.dtype != torch.uint8:
        low, high = values.min(), values.max()
        values = (255 * (values - low) / (high - low).clamp(min=1e-12)).round().to(torch.uint8)
    return np.ascontiguousarray(values.expand(-1, 3, -1, -1).permute(0, 2, 3, 1).numpy())


def is_table(dataset: Dataset) -> bool:
    """Whether rows of x are columns, neither pictures nor series."""
    return len(dataset.task.shape) == 1


def _draw_rows(rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))
