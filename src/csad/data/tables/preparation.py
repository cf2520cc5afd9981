"""How a row of a table becomes a row of x: fitted on training rows (``table_inputs.py``), kept with the run as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.columns import Column, Dates, Ids, Numbers, Table, Whole, Words, named, shown
from csad.data.tables.dates import spelled
from csad.errors import InputError

X = NDArray[np.float32]
VERSION = 1
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

    def put(self, column: Column, table: Table, x: X) -> None:
        """Writes its columns of x."""
        codes, names = self._named(column, table)
        place = {kind: k for k, kind in enumerate(self.kinds)}
        homes = np.array([*(place.get(name, -1) for name in names), -1], np.int64)[codes]  # the last for −1
        rows = np.flatnonzero(homes >= 0)
        x[rows, homes[rows]] = 1
        if self.missing:
            x[:, -1] = codes < 0

    def strangers(self, column: Column, table: Table) -> dict[str, int]:
        """Words that training did not know, and in how many rows they are."""
        codes, names = self._named(column, table)
        counts = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        known = {*self.kinds, *self.rest}
        return {name: count for name, count in zip(names, counts, strict=True) if name not in known}

    def _named(self, column: Column, table: Table) -> tuple[Whole, tuple[str, ...]]:
        if isinstance(column, Numbers | Words):
            return named(column)
        kinds = shown((*self.kinds, *self.rest))
        found = "dates" if isinstance(column, Dates) else f"too many {column.what} to be those"
        raise InputError(
            f"Column '{self.column}' of {table.path} must hold {kinds}, as in training, but it holds {found}."
        )


@dataclass(frozen=True)
class Unit:
    """What 0 and 1 stand for where a number is learned: (value − middle) / size."""

    middle: float = 0.0
    size: float = 1.0

    def scaled(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values as they are learned."""
        return (values - self.middle) / self.size

    def restored(self, values: NDArray[Any]) -> NDArray[Any]:
        """What is predicted, as it would stand in the table."""
        return values * self.size + self.middle


@dataclass(frozen=True)
class Preparation:
    """What becomes of each column that is an input, in the order of x; ``target`` is the unit of one that is a number.

    A table it is applied to may have its columns in any order, and others too.
    """

    columns: tuple[Scaled | OneHot, ...]
    target: Unit = Unit()

    def names(self) -> tuple[str, ...]:
        """The columns of x."""
        return tuple(name for column in self.columns for name in column.names())

    def apply(self, table: Table, rows: Whole | None = None) -> X:
        """x (n, columns) of the table, or of these rows of it."""
        x = np.zeros((table.rows if rows is None else len(rows), len(self.names())), np.float32)
        first = 0
        for column in self.columns:
            last = first + len(column.names())
            values = table[column.column]
            column.put(values if rows is None else values.take(rows), table, x[:, first:last])
            first = last
        return x

    def notices(self, table: Table) -> list[str]:
        """A sentence on each column of a table that holds words which training did not know."""
        found = []
        for column in self.columns:
            if isinstance(column, OneHot) and (strange := column.strangers(table[column.column], table)):
                rows = sum(strange.values())
                words = shown(tuple(repr(word) for word in strange), 3)
                found.append(
                    f"Column '{column.column}' of {table.path} holds words that training did not know, in {rows:,} "
                    f"row{'s' * (rows > 1)} ({words}): they count as none of those it knew."
                )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        columns = [{"kind": _KINDS[type(column)], **asdict(column)} for column in self.columns]
        return {"version": VERSION, "columns": columns, "target": asdict(self.target)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preparation:
        """The preparation that ``to_dict`` gave, from JSON or as it is."""
        try:
            if values["version"] != VERSION:
                raise ValueError(f"its version is {values['version']}, not {VERSION}")
            return cls(tuple(map(_column, values["columns"])), Unit(**values["target"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"The preparation of the table is not whole ({error}): train the run again.") from error


_KINDS = {Scaled: "number", OneHot: "words"}


def _column(values: Mapping[str, Any]) -> Scaled | OneHot:
    kind, rest = values["kind"], {name: value for name, value in values.items() if name != "kind"}
    if kind == "number":
        return Scaled(**rest)
    return OneHot(**rest | {name: tuple(rest[name]) for name in ("kinds", "rest")})
