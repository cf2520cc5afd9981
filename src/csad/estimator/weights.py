"""Weights as repetitions: csad's losses know no weights, but a row may come as often as its weight says."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight

from csad.data.samples import local
from csad.errors import InputError
from csad.estimator.rows import Array, Whole

Weights = NDArray[np.float64]
MOST = 10  # weights make so many rows of one at most, on average


def row_weights(sample_weight: Any, class_weight: Any, y: Array) -> Weights:
    """One weight per row, none below 0, not all 0: the sample's own times its class's; 1 where neither is given."""
    weights = np.ones(len(y)) if sample_weight is None else _own(sample_weight, len(y))
    weights = weights * _of_classes(class_weight, y, weights)
    if (weights < 0).any():
        raise InputError("sample_weight and class_weight must not be negative.")
    if not weights.any():
        raise InputError("Every row has weight zero (sample_weight times class_weight): none is left to learn from.")
    return weights


def _own(sample_weight: Any, n: int) -> Weights:
    weights = check_array(local(sample_weight), ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise InputError(f"sample_weight must have shape ({n},), one weight per row of X, not {weights.shape}.")
    return np.asarray(weights)


def _of_classes(class_weight: Any, y: Array, weights: Weights) -> Weights:
    """The weight of each row's class; "balanced" makes the classes weigh the same, as their rows are weighted."""
    if class_weight is None:
        return np.ones(len(y))
    if isinstance(class_weight, Mapping):
        return np.asarray(compute_sample_weight(class_weight, y))
    if not isinstance(class_weight, str) or class_weight != "balanced":
        raise InputError(f"class_weight must be 'balanced' or a dict of weights by class, not {class_weight!r}.")
    _, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, weights)
    return np.asarray(1 / np.where(totals > 0, totals, 1)[codes])


def drawn(x: Array, y: Whole, b: Whole, weights: Weights) -> Whole:
    """Row numbers, each as often as its weight says, in an order that follows from what the rows hold.

    So a row of weight 2 is the same as two such rows, and the order in which rows were given does not matter.
    """
    rows = zip(x, np.column_stack([y, b]), strict=True)
    contents = [blake2b(row.tobytes() + labels.tobytes(), digest_size=16).digest() for row, labels in rows]
    order = np.argsort(np.array(contents, dtype="V16"))
    return np.repeat(order, times(weights[order]))


def times(weights: Weights) -> Whole:
    """How often each row is taken: whole weights as they are, others to the nearest, the lightest row once.

    All in all that is at most ten times the rows; beyond it only the proportions hold, and light rows may go.
    """
    if weights.sum() <= MOST * len(weights) and (weights == np.floor(weights)).all():
        return weights.astype(np.int64)
    weights = weights / weights.max()
    once = max(weights.min(), weights.sum() / (MOST * len(weights)))
    ends = np.floor(np.cumsum(weights) / once + 0.5).astype(np.int64)
    return np.asarray(np.diff(ends, prepend=0))
