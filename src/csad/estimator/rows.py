"""What ``fit`` is given as csad's own rows: bias labels of any kind as columns of class numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.copies import copies_of_classes
from csad.data.labels import encoded_biases, usual_names
from csad.data.pairs import Related
from csad.data.samples import UNKNOWN, Classes, Dataset, Samples, Task, local
from csad.errors import InputError

Array = NDArray[Any]
Whole = NDArray[np.int64]


def bias_columns(bias: Any, n: int) -> tuple[Array, tuple[str, ...]]:
    """The bias labels as objects (n, columns), and the columns' names; all unknown where there are none."""
    if bias is None:
        return np.full((n, 1), UNKNOWN, dtype=object), ("bias",)
    if hasattr(bias, "notna"):  # pandas has several words for what is missing
        bias = bias.astype(object).where(bias.notna(), None)
    table = np.asarray(local(bias), dtype=object)
    if table.ndim not in (1, 2) or len(table) != n or 0 in table.shape:
        raise InputError(f"bias must have shape ({n},) or ({n}, columns), one row per row of X, not {table.shape}.")
    table = table.reshape(n, -1)
    if any(isinstance(value, list | tuple) for value in table[:, 0]):
        raise InputError("bias must have rows that are all of one length.")
    return table, _names(bias, table.shape[1])


def _names(bias: Any, columns: int) -> tuple[str, ...]:
    """Those of a pandas Series or DataFrame; else bias, or bias1, bias2 …"""
    named = list(getattr(bias, "columns", [getattr(bias, "name", None)]))
    if len(named) == columns and None not in named:
        return tuple(map(str, named))
    return usual_names(columns)


def dataset_of(
    x: Array, y: Whole, labels: Array, classes: Array, names: tuple[str, ...], related: Related | None
) -> Dataset:
    """The rows as csad knows them, bias labels as class numbers, and the task that they pose."""
    rule = Related() if related is None else related
    if not isinstance(rule, Related):
        raise InputError(f"related must be a csad.Related, not {related!r}.")
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


def told_by_bias(x: Array, b: Whole) -> list[tuple[int, int]]:
    """(column of x, column of b) wherever x varies, yet never among rows of the same bias: x tells nothing else."""
    if x.ndim != 2:
        return []
    return [(int(column), k) for k, labels in enumerate(b.T) for column in np.flatnonzero(copies_of_classes(x, labels))]
