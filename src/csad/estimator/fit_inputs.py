"""The arguments of ``fit`` as csad's rows: bias labels as class numbers, weights as repetitions of rows."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight

from csad.data.labels import encoded_biases
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task, local
from csad.data.validate import class_proxies
from csad.errors import InputError

Array = NDArray[Any]
Whole = NDArray[np.int64]


def dataset_of(
    x: Array, y: Whole, labels: Array, classes: Array, names: tuple[str, ...], related: Related | None
) -> Dataset:
    """The rows as a data set with its task; bias labels become class numbers."""
    rule = Related() if related is None else related
    if not isinstance(rule, Related):
        raise InputError("related-wrong-type", value=related)
    biases, kinds = encoded_biases(labels, names, rule)
    task = Task(
        name="estimator",
        shape=x.shape[1:],
        target=Classes(len(classes), tuple(map(str, classes))),
        biases=kinds,
        bias_names=names,
        related=rule,
    )
    return Dataset(task, {"train": Samples(x, y, biases)})


def proxy_columns(x: Array, b: Whole) -> list[tuple[int, int]]:
    """(column of x, column of b) for columns of x that vary, but not among rows of the same bias: copies of it."""
    if x.ndim != 2:
        return []
    return [(int(column), k) for k, labels in enumerate(b.T) for column in np.flatnonzero(class_proxies(x, labels))]


Weights = NDArray[np.float64]
MOST = 10  # rows that weights make of one at most, on average


def row_weights(sample_weight: Any, class_weight: Any, y: Array) -> Weights:
    """One weight per row, none below 0, not all 0: the sample's times its class's; 1 if neither is given."""
    weights = np.ones(len(y)) if sample_weight is None else _checked_weights(sample_weight, len(y))
    weights = weights * _class_weights(class_weight, y, weights)
    if (weights < 0).any():
        raise InputError("negative-weights")
    if not weights.any():
        raise InputError("all-weights-zero")
    return weights


def _checked_weights(sample_weight: Any, n: int) -> Weights:
    weights = check_array(local(sample_weight), ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise InputError("sample-weight-shape", rows=n, shape=weights.shape)
    return np.asarray(weights)


def _class_weights(class_weight: Any, y: Array, weights: Weights) -> Weights:
    """The weight of each row's class; with "balanced" all classes weigh the same, sample weights included."""
    if class_weight is None:
        return np.ones(len(y))
    if isinstance(class_weight, Mapping):
        return np.asarray(compute_sample_weight(class_weight, y))
    if not isinstance(class_weight, str) or class_weight != "balanced":
        raise InputError("class-weight-invalid", value=class_weight)
    _, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, weights)
    return np.asarray(1 / np.where(totals > 0, totals, 1)[codes])


def drawn(x: Array, y: Whole, b: Whole, weights: Weights) -> Whole:
    """Row numbers, each as often as its weight says, in an order that depends on the contents of the rows alone.

    So a row of weight 2 is the same as two such rows, and the order of the given rows does not matter.
    """
    rows = zip(x, np.column_stack([y, b]), strict=True)
    contents = [blake2b(row.tobytes() + labels.tobytes(), digest_size=16).digest() for row, labels in rows]
    order = np.argsort(np.array(contents, dtype="V16"))
    return np.repeat(order, times(weights[order]))


def times(weights: Weights) -> Whole:
    """How often each row is drawn: whole weights as they are, others rounded so that the lightest row is drawn once.

    The total is at most ten times the rows; beyond it only the proportions hold, and light rows may be left out.
    """
    if weights.sum() <= MOST * len(weights) and (weights == np.floor(weights)).all():
        return weights.astype(np.int64)
    weights = weights / weights.max()
    once = max(weights.min(), weights.sum() / (MOST * len(weights)))
    ends = np.floor(np.cumsum(weights) / once + 0.5).astype(np.int64)
    return np.asarray(np.diff(ends, prepend=0))
