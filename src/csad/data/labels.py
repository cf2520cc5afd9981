"""A column of words or whole numbers as class numbers 0 … k − 1, and back through the classes' names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.pairs import Related
from csad.data.samples import UNKNOWN, Classes, local
from csad.errors import InputError

# NumPy turns NaN and −1 into these words when a column mixes them with text.
UNKNOWN_WORDS = ("", "nan", "-1")


def target_classes(column: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class numbers (n,) and names of the targets; numbers in their order, words in the alphabet's."""
    values = [_plain(value, "y", row) for row, value in enumerate(column.tolist())]
    missing = [row for row, value in enumerate(values) if value in (None, "", "nan")]
    if missing:
        raise InputError("target-missing-in-rows", count=len(missing), row=missing[0])
    return _numbered(values)


def bias_classes(column: NDArray[Any], name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class numbers (n,) and names of a bias; −1, NaN, None and empty words are unknown and become −1."""
    return _numbered(_biases(column, name))


def bias_steps(column: NDArray[Any], name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class numbers (n,) and names of a bias whose distances count: whole numbers from 0 stay as they are."""
    values = _biases(column, name)
    if any(value is not None and (not isinstance(value, int) or value < 0) for value in values):
        raise InputError("near-bias-needs-numbers", bias=name)
    codes = np.array([UNKNOWN if value is None else int(value) for value in values], dtype=np.int64)
    return codes, tuple(str(value) for value in range(int(codes.max(initial=0)) + 1))


def encoded_biases(
    labels: NDArray[Any], names: Sequence[str], related: Related
) -> tuple[NDArray[np.int64], tuple[Classes, ...]]:
    """Class numbers (n, columns) of bias labels (n, columns), as Ω needs them, and their classes."""
    encode = bias_steps if related.rule == "near_bias" else bias_classes
    encoded = [encode(column, name) for column, name in zip(labels.T, names, strict=True)]
    kinds = tuple(Classes(max(1, len(words)), words) for _, words in encoded)
    return np.stack([codes for codes, _ in encoded], axis=1), kinds


def usual_names(columns: int) -> tuple[str, ...]:
    """The names of bias columns without a name."""
    return ("bias",) if columns == 1 else tuple(f"bias{k + 1}" for k in range(columns))


def _biases(column: NDArray[Any], name: str) -> list[int | str | None]:
    values = [_plain(value, f"bias '{name}'", row) for row, value in enumerate(column.tolist())]
    return [None if value in (UNKNOWN, *UNKNOWN_WORDS) else value for value in values]


def _plain(value: Any, what: str, row: int) -> int | str | None:
    """A whole number, a word, or None if there is neither."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if value is None or value != value:
        return None
    if isinstance(value, float):
        if not value.is_integer():
            raise InputError("labels-not-classes", labels=what, row=row, value=value)
        return int(value)
    return value if isinstance(value, int) else str(value)


def _numbered(values: list[int | str | None]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    present = {value for value in values if value is not None}
    numbers = all(isinstance(value, int) for value in present)
    ordered = sorted(present) if numbers else sorted({str(value) for value in present})
    names = tuple(str(value) for value in ordered)
    place = {name: code for code, name in enumerate(names)}
    codes = [UNKNOWN if value is None else place[str(value)] for value in values]
    return np.array(codes, dtype=np.int64), names


def bias_table(bias: Any, n: int) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The bias labels as objects (n, columns), and the names of the columns; without labels, all are unknown."""
    if bias is None:
        return np.full((n, 1), UNKNOWN, dtype=object), ("bias",)
    if hasattr(bias, "notna"):  # pandas has several values for a missing one
        bias = bias.astype(object).where(bias.notna(), None)
    table = np.asarray(local(bias), dtype=object)
    if table.ndim not in (1, 2) or len(table) != n or 0 in table.shape:
        raise InputError("bias-shape-mismatch", rows=n, shape=table.shape)
    table = table.reshape(n, -1)
    if any(isinstance(value, list | tuple) for value in table[:, 0]):
        raise InputError("ragged-bias-rows")
    return table, _column_names(bias, table.shape[1])


def _column_names(bias: Any, columns: int) -> tuple[str, ...]:
    """The names in a pandas Series or DataFrame; else bias, or bias1, bias2 …"""
    named = list(getattr(bias, "columns", [getattr(bias, "name", None)]))
    if len(named) == columns and None not in named:
        return tuple(map(str, named))
    return usual_names(columns)
