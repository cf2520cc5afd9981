"""How one column of a table becomes columns of x: numbers and dates standardised, words one-hot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.columns import Column, Dates, Ids, Numbers, Table, Whole, Words, named, shown
from csad.data.tables.dates import spelled
from csad.errors import InputError

X = NDArray[np.float32]
FARTHEST = 1e30  # what is standardised stays within float32


@dataclass(frozen=True)
class Scaled:
    """A number, or the days of a date in the format ``date``: (value − mean) / spread.

    ``fill`` stands for a missing value; ``missing`` says that one more column is 1 where it does. A spread of 0 is that
    of a column whose one value, or none, is all there is to tell: it has only the column of missing values.
    """

    column: str
    mean: float
    spread: float
    fill: float
    missing: bool = False
    date: str = ""

    def names(self) -> tuple[str, ...]:
        """The columns of x that it becomes."""
        return (self.column,) * (self.spread > 0) + (f"{self.column} missing",) * self.missing

    def filled(self) -> str:
        """What becomes of missing values, in words."""
        median = "" if self.date else f" {self.fill:.6g}"
        return f"the median of training{median} stands there"

    def put(self, column: Column, table: Table, x: X) -> None:
        """Writes its columns of x."""
        values = self._values(column, table)
        missing = np.isnan(values)
        if self.spread > 0:
            scaled = (np.where(missing, self.fill, values) - self.mean) / self.spread
            x[:, 0] = np.clip(scaled, -FARTHEST, FARTHEST)
        if self.missing:
            x[:, -1] = missing

    def _values(self, column: Column, table: Table) -> NDArray[Any]:
        if isinstance(column, Numbers) and (not self.date or column.missing().all()):
            return column.values.astype(np.float64)
        if isinstance(column, Dates) and self.date in column.days:
            return column.days[self.date]
        raise InputError(self._complaint(column, table))

    def _complaint(self, column: Column, table: Table) -> str:
        wanted = f"dates written {spelled(self.date)}" if self.date else "numbers"
        found = "numbers" if isinstance(column, Numbers) else "other dates"
        if isinstance(column, Words | Ids):
            found = f"words, such as {column.odd[0]!r} in line {column.odd[1]}" if column.odd[0] else "something else"
        return f"Column '{self.column}' of {table.path} must hold {wanted}, as in training, but it holds {found}."


@dataclass(frozen=True)
class OneHot:
    """A word: one column for each of ``kinds``, 1 where the word is it, all 0 for any other and a missing one.

    ``rest`` are words that training knew and that have no column: the "no" of a yes or no. ``missing`` says that one
    more column is 1 where the word is missing.
    """

    column: str
    kinds: tuple[str, ...]
    rest: tuple[str, ...] = ()
    missing: bool = False

    def names(self) -> tuple[str, ...]:
        """The columns of x that it becomes."""
        return (*(f"{self.column}={kind}" for kind in self.kinds), *((f"{self.column} missing",) * self.missing))

    def filled(self) -> str:
        """What becomes of missing words, in words."""
        return "they count as missing, as in training" if self.missing else "they count as none of the words"

    def put(self, column: Column, table: Table, x: X) -> None:
        """Writes its columns of x."""
        codes, names = self._named(column, table)
        place = _spelled({kind: k for k, kind in enumerate(self.kinds)})
        homes = np.array([*(place.get(name, -1) for name in names), -1], np.int64)[codes]  # the last for −1
        rows = np.flatnonzero(homes >= 0)
        x[rows, homes[rows]] = 1
        if self.missing:
            x[:, -1] = codes < 0

    def strangers(self, column: Column, table: Table) -> dict[str, int]:
        """Words that training did not know, and in how many rows they are."""
        codes, names = self._named(column, table)
        counts = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        known = _spelled(dict.fromkeys((*self.kinds, *self.rest), 0))
        return {name: count for name, count in zip(names, counts, strict=True) if name not in known}

    def _named(self, column: Column, table: Table) -> tuple[Whole, tuple[str, ...]]:
        if isinstance(column, Numbers | Words):
            return named(column)
        kinds = shown((*self.kinds, *self.rest))
        found = "dates" if isinstance(column, Dates) else f"too many {column.what} to be those"
        raise InputError(
            f"Column '{self.column}' of {table.path} must hold {kinds}, as in training, but it holds {found}."
        )


def _spelled(places: dict[str, int]) -> dict[str, int]:
    """The same with true and false in every spelling: True in a CSV file is true in Parquet and True in Python."""
    truths = {word: place for word, place in places.items() if word.lower() in ("true", "false")}
    return {
        spell(word): place for word, place in truths.items() for spell in (str.lower, str.upper, str.title)
    } | places
