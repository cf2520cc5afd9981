"""Figures for predictions against labels; every one is a fraction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

Labels = NDArray[np.integer]


def mean_squared_error(predicted: NDArray[Any], y: NDArray[Any]) -> float:
    """The mean of (predicted − y)² of a target that is a number."""
    return float(np.mean((predicted - y) ** 2))


def accuracy(predicted: Labels, y: Labels) -> float:
    """The share of rows that are right."""
    return float(np.mean(predicted == y))


def balanced_accuracy(predicted: Labels, y: Labels) -> float:
    """The mean over the classes present of the share that is right in each."""
    rows = np.bincount(y)
    right = np.bincount(y[predicted == y], minlength=len(rows))
    return float(np.mean(right[rows > 0] / rows[rows > 0]))


def f1(predicted: Labels, y: Labels, classes: int) -> float | None:
    """2 right / (rows + predicted): of class 1 where there are two classes, else the mean over the classes.

    The mean is over classes that are in y or predicted. None where two classes are told apart and y lacks class 1.
    """
    rows, said = (np.bincount(labels, minlength=max(2, classes)) for labels in (y, predicted))
    both = np.bincount(y[predicted == y], minlength=len(rows))
    if classes <= 2:
        return float(2 * both[1] / (rows[1] + said[1])) if rows[1] else None
    seen = rows + said > 0
    return float(np.mean(2 * both[seen] / (rows + said)[seen]))


def consistency(predictions: Sequence[Labels]) -> float:
    """The share of rows that are predicted alike in all copies, each given as its predictions row by row."""
    if not len(predictions) or len({len(copy) for copy in predictions}) > 1 or not len(predictions[0]):
        raise InputError("Copies that should be judged alike must have the same rows, at least one.")
    return float(np.mean(np.all(np.stack(predictions) == predictions[0], axis=0)))


def cell_accuracy(
    predicted: Labels, y: Labels, group: Labels, groups: int, classes: int
) -> Sequence[Sequence[float | None]]:
    """Accuracy in each cell of group (rows) against class (columns); None where a cell holds no row."""
    right = predicted == y
    cells = [[right[(group == g) & (y == c)] for c in range(classes)] for g in range(groups)]
    return [[float(cell.mean()) if len(cell) else None for cell in row] for row in cells]
