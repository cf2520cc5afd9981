"""Targets and bias labels of any kind, as a user has them, as the labels that an audit knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.audited import Labels
from csad.data.labels import bias_classes, target_classes
from csad.data.samples import local
from csad.errors import InputError
from csad.estimator.rows import bias_columns

Table = NDArray[Any]
MOST_CLASSES = 20  # real numbers of more values than this are a number, even where all are whole


def column_of(values: Any, name: str) -> Table:
    """One label for each row, as an array."""
    column = np.asarray(local(values))
    column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    if column.ndim != 1 or not len(column):
        raise InputError(f"{name} must have one label for each row, one row at least, not the shape {column.shape}.")
    return column


def is_number(column: Table) -> bool:
    """Whether labels are real numbers: some are no whole numbers, or there are too many for classes."""
    values = [value for value in column.tolist() if value is not None and value == value]
    if not any(isinstance(value, float) for value in values) or any(isinstance(value, str) for value in values):
        return False
    return any(float(value) % 1 for value in values) or len(set(values)) > MOST_CLASSES


def target_of(column: Table, kinds: Sequence[str] | None, *, by_number: bool = False) -> Labels:
    """The target as class numbers in the order of ``kinds``, the model's own classes; others come after these.

    ``by_number``: labels that are none of the kinds may be their numbers.
    """
    codes, names = target_classes(column.astype(object))
    if kinds is None:
        return Labels("target", codes, names)
    if by_number and not set(names) <= set(kinds):
        known = {str(number) for number in range(len(kinds))}
        if set(names) <= known:
            return Labels("target", np.array([int(name) for name in names])[codes], tuple(kinds))
    if not set(names) & set(kinds):
        raise InputError(f"y holds {_few(names)}, but the classes that the model tells are {_few(kinds)}.")
    every = (*kinds, *(name for name in names if name not in kinds))
    return Labels("target", np.array([every.index(name) for name in names])[codes], every)


def kinds_of(classes: Any) -> tuple[str, ...]:
    """The names of a model's classes, in its own order."""
    codes, names = target_classes(np.asarray(classes).astype(object))
    return tuple(names[code] for code in codes)


def biases_of(
    b: Any, rows: int, names: Sequence[str] | None, numbers: Sequence[str], trained: Any = None
) -> tuple[tuple[Labels, ...], tuple[Labels, ...]]:
    """The bias columns of the rows, and of the rows trained on where these are given; classes are numbered alike.

    b is one column, several, a data frame, or a mapping from name to column.
    """
    table, found = _columns(b, rows, names)
    for number in numbers:
        if number not in found:
            raise InputError(f"numbers names '{number}', but the bias columns are {', '.join(found)}.")
    before = table[:0]
    if trained is not None:
        before, theirs = _columns(trained, None, names)
        if before.shape[1] != table.shape[1] or (names is None and set(theirs) != set(found)):
            raise InputError(f"The biases trained on are {', '.join(theirs)}, but b has {', '.join(found)}.")
        before = before[:, [theirs.index(name) for name in found]]
    every = [_labels(np.concatenate([t[:, k] for t in (table, before)]), n, n in numbers) for k, n in enumerate(found)]
    parts = [
        [Labels(one.name, one.values[part], one.names) for one in every] for part in (slice(rows), slice(rows, None))
    ]
    return tuple(parts[0]), tuple(parts[1])


def _columns(b: Any, rows: int | None, names: Sequence[str] | None) -> tuple[Table, tuple[str, ...]]:
    if isinstance(b, Mapping):
        names, b = tuple(map(str, b)), _side_by_side(b)
    table, found = bias_columns(b, len(b) if rows is None else rows)
    if names is None:
        return table, found
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(names) != table.shape[1] or len(set(names)) < len(names):
        raise InputError(f"b has {table.shape[1]} columns, so that as many names are wanted, not {', '.join(names)}.")
    return table, names


def _side_by_side(columns: Mapping[Any, Any]) -> Table:
    arrays = [column_of(values, f"The bias {name}").astype(object) for name, values in columns.items()]
    if not arrays or len({len(array) for array in arrays}) > 1:
        raise InputError("b must have one bias column or more, all of the same rows.")
    return np.stack(arrays, axis=1)


def _labels(column: Table, name: str, number: bool) -> Labels:
    if not number and not is_number(column):
        return Labels(name, *bias_classes(column, name))
    try:
        values = np.array([np.nan if value is None or value == "" else float(value) for value in column])
    except ValueError as error:
        raise InputError(f"The bias {name} must hold numbers ({error}): leave it out of numbers.") from error
    return Labels(name, np.where(np.isfinite(values), values, np.nan))


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
