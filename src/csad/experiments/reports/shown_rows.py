"""Some rows of a run's data for people to see, with what runs say of them; made only where the user asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad.data.samples import Classes, Dataset, Number, Samples
from csad.data.tables.owned import OwnTable
from csad.data.tables.preparation import Preparation, Unit
from csad.data.tables.prepared import OneHot, Scaled
from csad.data.tables.series import SeriesPreparation
from csad.data.tables.wide_series import WideSeries
from csad.experiments.reports.explaining import attention, is_table, looks, middle_of
from csad.experiments.run import Run
from csad.report.findings import Shown

MOST_ROWS, MOST_PICTURES, MOST_SERIES, MOST_COLUMNS = 10, 8, 4, 14
UNIT = Unit()  # of a number that is as it stands in the data
RED = np.array([235.0, 60.0, 20.0])  # where a model looks, laid over a gray picture


def shown_rows(runs: Mapping[str, Run], dataset: Dataset, split: str, columns: list[str]) -> Shown:
    """A few rows of the split, those of which the runs say different things first.

    ``columns`` are the raw columns of a table in the order of their worth.
    """
    samples = dataset.splits[split]
    said = {name: run.predict(samples.x) for name, run in runs.items()}
    most = MOST_ROWS if is_table(dataset) else MOST_PICTURES
    rows = telling_rows(list(said.values()), samples.y.cpu().numpy(), most)
    some = samples.rows(rows)
    head = [f"row of {split}", "target", *(f"{name} says" for name in runs), *dataset.task.bias_names]
    target, unit = dataset.task.target, dataset.preparation.target if isinstance(dataset, OwnTable) else UNIT
    cells = [
        [str(row + 1), _word(target, some.y[k], unit), *(_word(target, of[row], unit) for of in said.values()),
         *(_word(kind, some.b[k, j], _unit(kind)) for j, kind in enumerate(dataset.task.biases))]
        for k, row in enumerate(rows.tolist())
    ]  # fmt: skip
    if is_table(dataset):
        raw = raw_cells(next(iter(runs.values())).preparation, some.x)
        kept = [name for name in columns if name in raw][:MOST_COLUMNS]
        return Shown([*head, *kept], [line + [raw[name][k] for name in kept] for k, line in enumerate(cells)])
    if len(dataset.task.shape) == 3:
        return Shown(head, cells, _pictures(runs, samples, some))
    preparation = next(iter(runs.values())).preparation
    curves = [
        {name: list(enumerate(values.tolist())) for name, values in _channels(preparation, series).items()}
        for series in some.x[:MOST_SERIES].cpu().double().numpy()
    ]
    return Shown(head, cells, series=curves)


def _channels(preparation: object, series: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """One series by channel, named and in units as the user has it, where a preparation tells."""
    if isinstance(preparation, SeriesPreparation | WideSeries):
        return preparation.curves(series)
    return {f"channel {c + 1}": values for c, values in enumerate(series)}


def telling_rows(said: Sequence[NDArray[Any]], y: NDArray[Any], most: int) -> NDArray[np.int64]:
    """Rows worth showing: those of which the runs say different things first, classes in turn."""
    apart = np.any([one != said[0] for one in said], axis=0)
    turn = np.zeros(len(y), np.int64)
    for kind in np.unique(y):
        place = np.flatnonzero(y == kind)
        place = place[np.argsort(~apart[place], kind="stable")]
        turn[place] = np.arange(len(place))
    return np.lexsort((np.arange(len(y)), turn, ~apart))[:most]


def raw_cells(preparation: object, x: Tensor) -> dict[str, list[str]]:
    """The cells of a table by column, as the preparation of x lets them be told; x's own values without one.

    A missing number that has no column of its own shows as what stands for it; a word without a column as "other".
    """
    values = x.cpu().double().numpy()
    if not isinstance(preparation, Preparation):
        return {f"column {k + 1}": [f"{value:.4g}" for value in values[:, k]] for k in range(values.shape[1])}
    found, first = {}, 0
    for column in preparation.columns:
        last = first + len(column.names())
        block = values[:, first:last]
        found[column.column] = _numbers(column, block) if isinstance(column, Scaled) else _words(column, block)
        first = last
    return found


def _numbers(column: Scaled, block: NDArray[np.float64]) -> list[str]:
    numbers = block[:, 0] * column.spread + column.mean if column.spread > 0 else np.full(len(block), column.mean)
    if column.date:
        told = [str(np.datetime64(round(day), "D")) for day in numbers.tolist()]
    else:
        told = [f"{number:.6g}" for number in numbers.tolist()]
    gone = block[:, -1] > 0.5 if column.missing else np.zeros(len(block), bool)
    return ["missing" if lost else word for lost, word in zip(gone.tolist(), told, strict=True)]


def _words(column: OneHot, block: NDArray[np.float64]) -> list[str]:
    kinds = [*column.kinds, *(["missing"] if column.missing else [])]
    rest = column.rest[0] if len(column.rest) == 1 else "other"
    return [kinds[int(row.argmax())] if row.any() else rest for row in block]


def _pictures(runs: Mapping[str, Run], samples: Samples, some: Samples) -> dict[str, NDArray[np.uint8]]:
    """The pictures, and for each run the same in gray with red where it looks; none if they have no colours to show."""
    if samples.x.shape[1] not in (1, 3):
        return {}
    pixels = _bytes(some.x)
    gray = pixels.mean(3, keepdims=True)
    found = {"the pictures": pixels}
    for name, run in runs.items():
        share = attention(looks(run, some.x, middle_of(samples)))
        top = share.reshape(len(share), -1).max(1)[:, None, None]
        heat = np.divide(share, top, out=np.zeros_like(share), where=top > 0)[..., None]
        found[f"where {name} looks"] = np.rint((1 - heat) * 0.6 * gray + heat * RED).astype(np.uint8)
    return found


def _bytes(x: Tensor) -> NDArray[np.uint8]:
    """(n, height, width, 3) bytes; floats are stretched between the least and the greatest."""
    values = x.cpu()
    if values.dtype != torch.uint8:
        low, high = values.min(), values.max()
        values = (255 * (values - low) / (high - low).clamp(min=1e-12)).round().to(torch.uint8)
    return np.ascontiguousarray(values.expand(-1, 3, -1, -1).permute(0, 2, 3, 1).numpy())


def _unit(kind: Classes | Number) -> Unit:
    return Unit(kind.middle, kind.size) if isinstance(kind, Number) else UNIT


def _word(kind: Classes | Number, value: Any, unit: Unit = UNIT) -> str:
    number = float(value)
    if isinstance(kind, Number):
        return "unknown" if np.isnan(number) else f"{number * unit.size + unit.middle:.6g}"
    if number < 0 or np.isnan(number):
        return "unknown"
    return kind.words[int(number)]
