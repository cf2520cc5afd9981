"""Accuracy where the bias misleads, and the recall of each class: what an accuracy over all rows hides."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from csad.auditing.cells import cells_of, dense, splitting
from csad.auditing.metrics import Labels


def conflicting_cells(y: Labels, biases: Mapping[str, Labels]) -> Labels:
    """The number of each row's cell target × all attributes where that is against the bias, −1 elsewhere.

    Such a cell has fewer rows than if target and attributes were independent: on CelebA blond men and women who are
    not blond, as in Nam et al., NeurIPS 2020. Attributes of which fewer than two groups are known do not count, nor do
    rows in which one of the others is unknown.
    """
    found = np.full(len(y), -1, np.int64)
    attributes = splitting(list(biases.values()))
    known = np.all([group >= 0 for group in attributes], axis=0) if attributes else np.zeros(len(y), bool)
    if not known.any():
        return found
    target, group = dense(y[known]), cells_of([attribute[known] for attribute in attributes])
    shape = int(target.max()) + 1, int(group.max()) + 1
    cell = target * shape[1] + group
    rows = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    independent = rows.sum(1, keepdims=True) * rows.sum(0)  # times all rows: whole numbers, so that equal is equal
    against = (rows * rows.sum() < independent).reshape(-1)
    found[known] = np.where(against[cell], cell, -1)
    return found


def conflict_figures(
    predicted: Labels, y: Labels, biases: Mapping[str, Labels], cells: Labels | None = None
) -> dict[str, float]:
    """``bias_conflicting``: the plain mean accuracy of the cells that are against the bias; nothing without such cells.

    Which cells are is a fact of a split, not of a draw of its rows: for a draw, give the ``cells`` of its rows as
    ``conflicting_cells`` told them for the split. A cell that the draw has no row of does not count.
    """
    if cells is None:
        cells = conflicting_cells(y, biases)
    held = cells >= 0
    if not held.any():
        return {}
    numbers = dense(cells[held])
    shares = np.bincount(numbers, weights=(predicted == y)[held]) / np.bincount(numbers)
    return {"bias_conflicting": float(shares.mean())}


def recalls(predicted: Labels, y: Labels) -> dict[str, float]:
    """``recall_0``, ``recall_1``, …: the share that is right of the rows of each class in y."""
    rows = np.bincount(y)
    right = np.bincount(y[predicted == y], minlength=len(rows))
    return {f"recall_{k}": float(right[k] / rows[k]) for k in np.flatnonzero(rows).tolist()}
