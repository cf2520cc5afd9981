"""What a run goes by: the worth of each column of a table, or where in a picture or a series it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad.data.pieces import rows_at_a_time
from csad.data.samples import Classes, Dataset, Samples
from csad.data.tables.preparation import Preparation
from csad.experiments.run import Run
from csad.training.device import computing_in

Array = NDArray[np.float64]
STEPS = 16  # on the way from the mean row to a row
MOST_ROWS = 2000  # are shuffled
LEAST_LOOKED_AT, MOST_LOOKED_AT, MOST_VALUES = 32, 256, 400_000  # rows, rows, values of all these rows
MOST_REPEATS, MOST_SHUFFLES = 5, 1000


@dataclass(frozen=True)
class Worth:
    """What a column is worth: how much worse a run does without its order, and the share of rows it then changes."""

    column: str
    mean: float
    std: float
    changed: float | None


def blocks(run: Run, width: int) -> dict[str, slice]:
    """Which columns of x each raw column became; x's own columns, by number from 1, where no table was prepared."""
    if not isinstance(run.preparation, Preparation):
        return {f"column {k + 1}": slice(k, k + 1) for k in range(width)}
    found, first = {}, 0
    for column in run.preparation.columns:
        last = first + len(column.names())
        if last > first:
            found[column.column] = slice(first, last)
        first = last
    return found


def worth_of_columns(run: Run, samples: Samples, *, seed: int = 0) -> tuple[list[Worth], int]:
    """What each raw column is worth to a run, and how often each was shuffled.

    Accuracy lost, or squared error gained, when a column's values are dealt out anew among the rows: all columns of x
    that it became move together, as the preparation of one column sees no other. Rows and deals follow from the seed
    alone, so that two runs are compared on the same.
    """
    rng = np.random.default_rng(seed)
    rows = _some(len(samples), MOST_ROWS, rng)
    x, y = samples.x[torch.as_tensor(rows)].cpu(), samples.y.cpu().numpy()[rows]
    columns = blocks(run, x.shape[1])
    repeats = min(MOST_REPEATS, max(1, MOST_SHUFFLES // len(columns)))
    number = not isinstance(run.method.task.target, Classes)
    before = run.predict(x)
    found = []
    for name, block in columns.items():
        losses, changed = [], []
        for _ in range(repeats):
            dealt = x.clone()
            dealt[:, block] = x[torch.as_tensor(rng.permutation(len(x)))][:, block]
            after = run.predict(dealt)
            losses.append(_worse(before, after, y, number))
            changed.append(float(np.mean(before != after)))
        found.append(
            Worth(name, float(np.mean(losses)), float(np.std(losses)), None if number else float(np.mean(changed)))
        )
    return found, repeats


def _worse(before: NDArray[Any], after: NDArray[Any], y: NDArray[Any], number: bool) -> float:
    if number:
        return float(np.mean((after - y) ** 2) - np.mean((before - y) ** 2))
    return float(np.mean(before == y) - np.mean(after == y))


def looks(run: Run, x: Tensor, middle: Tensor) -> Array:
    """What each value of x adds to what the run says of its row: integrated gradients (Sundararajan et al., 2017).

    (x − m) times the mean gradient, on the straight way from the mean row m to x, of the score of the class that is
    said, or of the number. Their sum is that score less its value at m, as far as the steps are fine enough.
    """
    method = run.method.eval()
    device = next(method.parameters()).device
    weights = (torch.arange(STEPS, device=device, dtype=torch.get_default_dtype()) + 0.5) / STEPS
    found = []
    with computing_in(method.course.precision):
        # Copies, because a view may change what it is given.
        start = run.view(middle.to(device, copy=True)[None])
        for rows in torch.split(x, rows_at_a_time(x.shape[1:], STEPS)):
            seen = run.view(rows.to(device, copy=True))
            with torch.no_grad():
                said = torch.as_tensor(run.said(method.predict(seen).cpu()), device=device)
            way = weights.reshape(-1, *[1] * seen.ndim)
            places = (start + way * (seen - start)).flatten(0, 1).detach().requires_grad_()
            with torch.enable_grad():
                scores = method.predict(places).gather(1, said.repeat(STEPS)[:, None])
                slope = torch.autograd.grad(scores.sum(), places)[0]
            mean = slope.reshape(STEPS, *seen.shape).mean(0)
            found.append(((seen - start) * mean).cpu().double())
    together: Array = torch.cat(found).numpy()
    return together


def middle_of(samples: Samples) -> Tensor:
    """The mean row, in the unit that rows are stored in."""
    spread = samples.x[:: -(-len(samples) // MOST_LOOKED_AT)]  # enough for a mean, and few in memory
    mean = spread.to(torch.get_default_dtype()).mean(0)
    return mean.to(samples.x.dtype) if samples.x.is_floating_point() else mean.round().to(samples.x.dtype)


def attention(parts: Array) -> Array:
    """The share of each place in what was added, by row: a picture's channels are one, a series keeps its own."""
    size = np.abs(parts)
    size = size.sum(1) if size.ndim == 4 else size
    whole = size.reshape(len(size), -1).sum(1).reshape(-1, *[1] * (size.ndim - 1))
    shares: Array = np.divide(size, whole, out=np.zeros_like(size), where=whole > 0)
    return shares


def attention_of(runs: Mapping[str, Run], samples: Samples, *, seed: int = 0) -> tuple[dict[str, Array], int]:
    """For each run its mean attention, a map that sums to 1 unless it looks nowhere; and how many rows it is of."""
    most = min(MOST_LOOKED_AT, max(LEAST_LOOKED_AT, MOST_VALUES // samples.x[0].numel()))
    rows = torch.as_tensor(_some(len(samples), most, np.random.default_rng(seed)))
    middle = middle_of(samples)
    maps = {name: attention(looks(run, samples.x[rows], middle)).mean(0) for name, run in runs.items()}
    return maps, len(rows)


def is_table(dataset: Dataset) -> bool:
    """Whether rows of x are columns, neither pictures nor series."""
    return len(dataset.task.shape) == 1


def _some(rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))
