"""Rows and pictures of a run's data, which a report shows only if the user asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad.data.own.dataset import TableDataset
from csad.data.own.preprocessor import CategoryEncoder, NumberEncoder, Preprocessor, Unit
from csad.data.own.series import SeriesPreprocessor, WideSeries
from csad.data.samples import Classes, Dataset, Number, Samples
from csad.report.explain import attention, integrated_gradients, is_table, mean_row, picture_bytes
from csad.report.findings import PictureGrid, ShownData
from csad.runs.run import Run

MOST_ROWS, MOST_PICTURES, MOST_SERIES, MOST_COLUMNS = 10, 8, 4, 14
GRID_ROWS, GRID_COLUMNS, MOST_GROUPS = 3, 8, 12
MOST_PIXELS = 96  # across a picture of a grid; a column of the page has about 400 for all of them
UNIT = Unit()  # of a number that is as it stands in the data
RED = np.array([235.0, 60.0, 20.0])  # where a model looks, laid over a gray picture
Pixels = NDArray[np.uint8]


def shown_data(runs: Mapping[str, Run], dataset: Dataset, split: str, columns: list[str]) -> ShownData:
    """A few rows of the split, first those of which the runs say different things.

    ``columns`` are the raw columns of a table in the order of their worth.
    """
    samples = dataset.splits[split]
    predictions = {name: run.predict(samples.x) for name, run in runs.items()}
    most = MOST_ROWS if is_table(dataset) else MOST_PICTURES
    rows = disputed_rows(list(predictions.values()), samples.y.cpu().numpy(), most)
    sample = samples.rows(rows)
    head = [f"row of {split}", "target", *(f"prediction of {name}" for name in runs), *dataset.task.bias_names]
    target, unit = dataset.task.target, _target_unit(dataset)
    cells = [
        [
            str(row + 1),
            _label(target, sample.y[k], unit),
            *(_label(target, predicted[row], unit) for predicted in predictions.values()),
            *(_label(kind, sample.b[k, j], _unit(kind)) for j, kind in enumerate(dataset.task.biases)),
        ]
        for k, row in enumerate(rows.tolist())
    ]
    if is_table(dataset):
        raw = raw_cells(next(iter(runs.values())).preparation, sample.x)
        shown = [name for name in columns if name in raw][:MOST_COLUMNS]
        return ShownData([*head, *shown], [line + [raw[name][k] for name in shown] for k, line in enumerate(cells)])
    if len(dataset.task.shape) == 3:
        grids = [grid_of_pictures(dataset, name) for name in dict.fromkeys(("train", split))]
        return ShownData(head, cells, _pictures(runs, samples, sample), grids=[grid for grid in grids if grid])
    preparation = next(iter(runs.values())).preparation
    curves = [
        {name: list(enumerate(values.tolist())) for name, values in _channels(preparation, series).items()}
        for series in sample.x[:MOST_SERIES].cpu().double().numpy()
    ]
    return ShownData(head, cells, series=curves)


def grid_of_pictures(dataset: Dataset, split: str) -> PictureGrid | None:
    """The first pictures of each target class in columns; None if they have no colors to show, or too few rows.

    A target that is a number is cut into as many ranges as there are columns.
    """
    samples, target = dataset.splits[split], dataset.task.target
    y = samples.y.cpu().numpy()
    if samples.x.shape[1] not in (1, 3):
        return None
    if isinstance(target, Classes):
        groups = [np.flatnonzero(y == k) for k in range(min(target.count, MOST_GROUPS))]
        names = [target.words[k] for k, rows in enumerate(groups) if len(rows)]
    else:
        groups = [np.sort(rows) for rows in np.array_split(np.argsort(y, kind="stable"), min(GRID_COLUMNS, len(y)))]
        unit = _target_unit(dataset)
        names = [f"{_label(target, y[rows].min(), unit)} to {_label(target, y[rows].max(), unit)}" for rows in groups]
    groups = [rows for rows in groups if len(rows)]
    each = max(1, GRID_COLUMNS // len(groups))
    lines = min(GRID_ROWS, min(map(len, groups)) // each)
    if not lines:
        return None
    # Line by line, so that the pictures of a class stand below one another.
    chosen = np.concatenate([rows[line * each : (line + 1) * each] for line in range(lines) for rows in groups])
    pixels = picture_bytes(samples.x[torch.as_tensor(chosen)])
    step = -(-max(pixels.shape[1:3]) // MOST_PIXELS)
    return PictureGrid(split, np.ascontiguousarray(pixels[:, ::step, ::step]), each * len(groups), names)


def _channels(preparation: object, series: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """One series by channel, named and in the user's units if a preparation knows them."""
    if isinstance(preparation, SeriesPreprocessor | WideSeries):
        return preparation.curves(series)
    return {f"channel {c + 1}": values for c, values in enumerate(series)}


def disputed_rows(predictions: Sequence[NDArray[Any]], y: NDArray[Any], most: int) -> NDArray[np.int64]:
    """Rows worth showing: first those of which the runs say different things, classes in turn."""
    disputed = np.any([predicted != predictions[0] for predicted in predictions], axis=0)
    turn = np.zeros(len(y), np.int64)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        rows = rows[np.argsort(~disputed[rows], kind="stable")]
        turn[rows] = np.arange(len(rows))
    return np.lexsort((np.arange(len(y)), turn, ~disputed))[:most]


def raw_cells(preparation: object, x: Tensor) -> dict[str, list[str]]:
    """The cells of a table by column, as far as the preparation of x can be undone; x's own values without one.

    A missing number that has no column of its own shows as the number that replaced it; a category without a column
    as "other".
    """
    values = x.cpu().double().numpy()
    if not isinstance(preparation, Preprocessor):
        return {f"column {k + 1}": [f"{value:.4g}" for value in values[:, k]] for k in range(values.shape[1])}
    cells, first = {}, 0
    for column in preparation.columns:
        last = first + len(column.names())
        block = values[:, first:last]
        if isinstance(column, NumberEncoder):
            cells[column.column] = _number_cells(column, block)
        else:
            cells[column.column] = _category_cells(column, block)
        first = last
    return cells


def _number_cells(column: NumberEncoder, block: NDArray[np.float64]) -> list[str]:
    numbers = block[:, 0] * column.spread + column.mean if column.spread > 0 else np.full(len(block), column.mean)
    if column.date:
        cells = [str(np.datetime64(round(day), "D")) for day in numbers.tolist()]
    else:
        cells = [f"{number:.6g}" for number in numbers.tolist()]
    missing = block[:, -1] > 0.5 if column.missing else np.zeros(len(block), bool)
    return ["missing" if lost else cell for lost, cell in zip(missing.tolist(), cells, strict=True)]


def _category_cells(column: CategoryEncoder, block: NDArray[np.float64]) -> list[str]:
    kinds = [*column.kinds, *(["missing"] if column.missing else [])]
    rest = column.rest[0] if len(column.rest) == 1 else "other"
    return [kinds[int(row.argmax())] if row.any() else rest for row in block]


def _pictures(runs: Mapping[str, Run], samples: Samples, sample: Samples) -> dict[str, Pixels]:
    """The pictures, and for each run the same in gray with red where it looks; none if they have no colors to show."""
    if samples.x.shape[1] not in (1, 3):
        return {}
    pixels = picture_bytes(sample.x)
    gray = pixels.mean(3, keepdims=True)
    pictures = {"the pictures": pixels}
    for name, run in runs.items():
        share = attention(integrated_gradients(run, sample.x, mean_row(samples)))
        top = share.reshape(len(share), -1).max(1)[:, None, None]
        heat = np.divide(share, top, out=np.zeros_like(share), where=top > 0)[..., None]
        pictures[f"attention of {name}"] = np.rint((1 - heat) * 0.6 * gray + heat * RED).astype(np.uint8)
    return pictures


def _target_unit(dataset: Dataset) -> Unit:
    return dataset.preparation.target if isinstance(dataset, TableDataset) else UNIT


def _unit(kind: Classes | Number) -> Unit:
    return Unit(kind.middle, kind.size) if isinstance(kind, Number) else UNIT


def _label(kind: Classes | Number, value: Any, unit: Unit = UNIT) -> str:
    number = float(value)
    if isinstance(kind, Number):
        return "unknown" if np.isnan(number) else f"{number * unit.size + unit.middle:.6g}"
    if number < 0 or np.isnan(number):
        return "unknown"
    return kind.words[int(number)]
