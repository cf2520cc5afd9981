"""Raw values that are given from Python as the table they would be in a file: columns by name, or dicts as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from csad.data.tables.columns import Table
from csad.data.tables.words import grown
from csad.errors import InputError

PLACE = Path("the given rows")  # what messages call them


def is_raw(values: Any) -> bool:
    """Whether these are raw values with the names of their columns, and not an array."""
    return isinstance(values, Mapping) or _is_frame(values) or _is_rows(values)


def given_table(values: Any) -> Table:
    """The table of raw values: a dict of columns (of single values: one row), a data frame, or dicts as rows.

    None and NaN are missing. Everything is looked at as if it stood in a CSV file.
    """
    columns = _columns(values)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InputError(f"The given columns must be of one length, not {min(lengths)} and {max(lengths)}.")
    if lengths <= {0}:
        raise InputError("The given rows are none: give at least one.")
    words = [[_word(value) for value in column] for column in columns.values()]

    def blocks() -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        yield range(1, 1 + len(words[0])), words

    return Table(PLACE, dict(zip(columns, grown(blocks, len(words)), strict=True)), len(words[0]))


def _columns(values: Any) -> dict[str, list[Any]]:
    if _is_rows(values):
        names = {name for row in values for name in row}
        ordered = [name for name in values[0] if name in names] + sorted(names - set(values[0]), key=str)
        return {str(name): [row.get(name) for row in values] for name in ordered}
    names = values.columns if _is_frame(values) else values
    return {str(name): _cells(values[name]) for name in names}


def _cells(column: Any) -> list[Any]:
    return [column] if isinstance(column, str | bytes) or not hasattr(column, "__iter__") else list(column)


def _is_rows(values: Any) -> bool:
    return isinstance(values, list | tuple) and bool(values) and all(isinstance(row, Mapping) for row in values)


def _is_frame(values: Any) -> bool:
    """Whether this is a data frame, whosever."""
    return hasattr(values, "columns") and hasattr(values, "__getitem__")


def _word(value: Any) -> str:
    if value is None:
        return ""
    word = value.isoformat() if isinstance(value, date) else str(value)
    return "" if word == "NaT" else word  # NaN is a blank among words already
