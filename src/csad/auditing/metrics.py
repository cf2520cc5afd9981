"""Figures for predictions against labels; every one is a fraction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.integer]


def accuracy(predicted: Labels, y: Labels) -> float:
    """The share of rows that are right."""
    return float(np.mean(predicted == y))


def balanced_accuracy(predicted: Labels, y: Labels) -> float:
    """The mean over the classes present of the share that is right in each."""
    return float(np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)]))


def figures(predicted: Labels, y: Labels) -> dict[str, float]:
    """All figures by name."""
    return {"accuracy": accuracy(predicted, y), "balanced_accuracy": balanced_accuracy(predicted, y)}


def cell_accuracy(
    predicted: Labels, y: Labels, group: Labels, groups: int, classes: int
) -> Sequence[Sequence[float | None]]:
    """Accuracy in each cell of group (rows) against class (columns); None where a cell holds no row."""
    right = predicted == y
    cells = [[right[(group == g) & (y == c)] for c in range(classes)] for g in range(groups)]
    return [[float(cell.mean()) if len(cell) else None for cell in row] for row in cells]
