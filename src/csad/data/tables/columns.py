"""A table in memory, column by column: numbers as floats, words as codes, dates as days; nothing is decided yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.cells import number_of
from csad.errors import InputError

Floats = NDArray[Any]  # float32 where that loses nothing, else float64
Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]
FEW_NUMBERS = 20  # up to here different numbers may be classes; above they measure something


@dataclass(frozen=True)
class Numbers:
    """Numbers, NaN where one is missing; ``blanks`` are the words that were read as missing.

    ``doubtful`` is one of which the file does not tell whether its comma stands for a point or between thousands.
    """

    values: Floats
    blanks: tuple[str, ...] = ()
    doubtful: str = ""

    def missing(self) -> Mask:
        """Where no value is known."""
        return np.isnan(self.values)

    def take(self, rows: Whole) -> Numbers:
        """The same column of these rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True)
class Words:
    """Words as their places in ``words``, −1 where one is missing.

    ``numbers`` of the words read like numbers; ``odd`` is the first that does not, and the line it stands in. Where
    nearly all are dates in one ``date_format``, it is the first that is none.
    """

    codes: NDArray[np.int32]
    words: tuple[str, ...]
    numbers: int = 0
    odd: tuple[str, int] = ("", 0)
    blanks: tuple[str, ...] = ()
    date_format: str = ""

    def missing(self) -> Mask:
        """Where no value is known."""
        return self.codes < 0

    def take(self, rows: Whole) -> Words:
        """The same column of these rows."""
        return replace(self, codes=self.codes[rows])

    @property
    def mostly_numbers(self) -> bool:
        """Whether these are numbers with some words among them, such as 'unknown' for an age."""
        return self.numbers > max(FEW_NUMBERS, len(self.words) / 2)


@dataclass(frozen=True)
class Ids:
    """Words too many to keep: all that is left is which rows are alike. 0 where a word is missing."""

    keys: Whole
    numbers: int = 0  # of the first ``MOST_WORDS`` words, and the first that is none
    odd: tuple[str, int] = ("", 0)
    what: str = "words"  # or the type of a Parquet column that holds neither numbers nor words nor dates
    blanks: tuple[str, ...] = ()
    first: tuple[str, ...] = ()  # some words, to see what it holds

    def missing(self) -> Mask:
        """Where no value is known."""
        return np.equal(self.keys, 0)

    def take(self, rows: Whole) -> Ids:
        """The same column of these rows."""
        return replace(self, keys=self.keys[rows])

    @property
    def mostly_numbers(self) -> bool:
        """Whether these are numbers with some words among them."""
        return self.numbers > MOST_WORDS / 2


@dataclass(frozen=True)
class Dates:
    """Days since 1970, NaN where a date is missing, by each format that fits all cells; the first is the usual one."""

    days: Mapping[str, NDArray[np.float64]]
    blanks: tuple[str, ...] = ()

    def missing(self) -> Mask:
        """Where no value is known."""
        return np.isnan(self.days[self.format])

    def take(self, rows: Whole) -> Dates:
        """The same column of these rows."""
        return Dates({form: days[rows] for form, days in self.days.items()}, self.blanks)

    @property
    def format(self) -> str:
        """The format that is taken where nothing says which."""
        return next(iter(self.days))


Column = Numbers | Words | Ids | Dates
LOOKED_AT = 1000  # words of a column, to see what it holds
MOST_WORDS = 10_000  # different words of a column that are kept; a column with more is an id or free text


@dataclass(frozen=True)
class Table:
    """Columns by name, all of ``rows`` rows, and the file they come from."""

    path: Path
    columns: Mapping[str, Column]
    rows: int

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise InputError(f"Column '{name}' is not in {self.path}. {self._advice(name)}")
        return self.columns[name]

    def _advice(self, name: str) -> str:
        small = {known.lower(): known for known in self.columns}
        near = self.with_part(name) or "".join(small[n] for n in get_close_matches(name.lower(), small, 1, cutoff=0.7))
        return f"Nearest: {near}." if near else f"It has {shown(tuple(self.columns))}."

    def with_part(self, name: str) -> str:
        """A column of whose name, which has a comma, this is a part; empty where there is none."""
        return next((known for known in self.columns if "," in known and name in map(str.strip, known.split(","))), "")


def named(column: Numbers | Words) -> tuple[Whole, tuple[str, ...]]:
    """Codes (n,) and names of the different values, numbers in their order, then words; −1 where one is missing.

    A number has one name, however it is written: a column that holds words here may hold only numbers elsewhere.
    """
    codes = np.full(len(column.missing()), -1, np.int64)
    known = ~column.missing()
    if isinstance(column, Numbers):
        values, codes[known] = np.unique(column.values[known], return_inverse=True)
        return codes, tuple(number_name(value) for value in values.tolist())
    present, place = np.unique(column.codes[known], return_inverse=True)
    names = [_name(column.words[code]) for code in present.tolist()]
    ordered = sorted(set(names), key=_order)
    home = {name: code for code, name in enumerate(ordered)}
    codes[known] = np.array([home[name] for name in names], np.int64)[place]
    return codes, tuple(ordered)


def number_name(value: float) -> str:
    """The number as one would write it: 3, not 3.0."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def values_of(column: Column) -> NDArray[Any]:
    """A value for each row, equal where the cells are; where one is missing it says nothing."""
    if isinstance(column, Numbers):
        return column.values
    if isinstance(column, Dates):
        return column.days[column.format]
    return column.codes if isinstance(column, Words) else column.keys


def keys_of(column: Column) -> Whole:
    """A number for each row, equal where the values are, counted in the order in which they first come."""
    _, first, place = np.unique(values_of(column), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place.reshape(-1)].astype(np.int64)


def shown(names: tuple[str, ...], most: int = 8) -> str:
    """The first few names, with commas between, in one line."""
    return ", ".join(" ".join(name.split()) for name in names[:most]) + (", …" if len(names) > most else "")


def _name(word: str) -> str:
    value = number_of(word)
    return word if value is None else number_name(value)


def _order(name: str) -> tuple[bool, float, str]:
    value = number_of(name)
    return value is None, value or 0.0, name
