"""How a row of a table becomes a row of x. Fitted on training rows, kept with the run as JSON."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import TOLERATED
from csad.data.tables.table import (
    CategoryColumn,
    Column,
    ColumnTable,
    DateColumn,
    HighCardinalityColumn,
    NumberColumn,
    Whole,
    date_words,
    named,
    named_few,
)
from csad.errors import InputError
from csad.messages import message

X = NDArray[np.float32]
FARTHEST = 1e30  # standardised numbers stay within float32


@dataclass(frozen=True)
class NumberEncoder:
    """A number, or the days of a date in the format ``date``: (value − mean) / spread.

    ``fill`` replaces a missing value; with ``missing``, one more column is 1 in those rows. A column with at most one
    value has a spread of 0: it gives only the column of missing values.
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

    def fill_words(self) -> str:
        """What becomes of missing values, in words."""
        median = "" if self.date else f" {self.fill:.6g}"
        return f"csad uses the training median{median} instead"

    def write(self, column: Column, table: ColumnTable, x: X) -> None:
        """Write its columns of x."""
        values = self._values(column, table)
        missing = np.isnan(values)
        if self.spread > 0:
            scaled = (np.where(missing, self.fill, values) - self.mean) / self.spread
            x[:, 0] = np.clip(scaled, -FARTHEST, FARTHEST)
        if self.missing:
            x[:, -1] = missing

    def _values(self, column: Column, table: ColumnTable) -> NDArray[Any]:
        if isinstance(column, NumberColumn) and (not self.date or column.missing().all()):
            return column.values.astype(np.float64)
        if isinstance(column, DateColumn) and self.date in column.days:
            return column.days[self.date]
        raise self._misfit(column, table)

    def _misfit(self, column: Column, table: ColumnTable) -> InputError:
        expected = f"dates written {date_words(self.date)}" if self.date else "numbers"
        present = "numbers" if isinstance(column, NumberColumn) else "other dates"
        if isinstance(column, CategoryColumn | HighCardinalityColumn):
            present = f"text, such as {column.odd[0]!r} in line {column.odd[1]}" if column.odd[0] else "something else"
        return InputError("column-kind-changed", column=self.column, file=table.path, expected=expected, found=present)


@dataclass(frozen=True)
class CategoryEncoder:
    """A word: one column for each of ``kinds``, 1 for that word; all are 0 for any other word and a missing one.

    ``rest`` are words of training without a column, such as the "no" of a yes or no. With ``missing``, one more
    column is 1 if the word is missing.
    """

    column: str
    kinds: tuple[str, ...]
    rest: tuple[str, ...] = ()
    missing: bool = False

    def names(self) -> tuple[str, ...]:
        """The columns of x that it becomes."""
        return (*(f"{self.column}={kind}" for kind in self.kinds), *((f"{self.column} missing",) * self.missing))

    def fill_words(self) -> str:
        """What becomes of missing words, in words."""
        return (
            "csad treats these values as missing, as in training"
            if self.missing
            else "csad treats them as none of the known values"
        )

    def write(self, column: Column, table: ColumnTable, x: X) -> None:
        """Write its columns of x."""
        codes, names = self._named(column, table)
        place = _all_spellings({kind: k for k, kind in enumerate(self.kinds)})
        homes = np.array([*(place.get(name, -1) for name in names), -1], np.int64)[codes]  # the last for −1
        rows = np.flatnonzero(homes >= 0)
        x[rows, homes[rows]] = 1
        if self.missing:
            x[:, -1] = codes < 0

    def unknown_categories(self, column: Column, table: ColumnTable) -> dict[str, int]:
        """Words that training did not know, with the number of their rows."""
        codes, names = self._named(column, table)
        counts = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        known = _all_spellings(dict.fromkeys((*self.kinds, *self.rest), 0))
        return {name: count for name, count in zip(names, counts, strict=True) if name not in known}

    def _named(self, column: Column, table: ColumnTable) -> tuple[Whole, tuple[str, ...]]:
        if isinstance(column, NumberColumn | CategoryColumn):
            return named(column)
        kinds = named_few((*self.kinds, *self.rest))
        present = "dates" if isinstance(column, DateColumn) else f"too many different {column.what}"
        raise InputError("column-kind-changed", column=self.column, file=table.path, expected=kinds, found=present)


def _all_spellings(places: dict[str, int]) -> dict[str, int]:
    """The same with true and false in every spelling, which differs between CSV, Parquet and Python."""
    truths = {word: place for word, place in places.items() if word.lower() in ("true", "false")}
    return {
        spell(word): place for word, place in truths.items() for spell in (str.lower, str.upper, str.title)
    } | places


VERSION = 1


@contextmanager
def read_back(values: Mapping[str, Any], what: str) -> Iterator[None]:
    """Raise InputError in one sentence if the values in the block have another version, or are not whole."""
    try:
        if values["version"] != VERSION:
            raise ValueError(f"its version is {values['version']}, not {VERSION}")
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError("preparation-damaged", inputs=what, reason=error) from error


@dataclass(frozen=True)
class Unit:
    """The unit in which a number is learned: (value − middle) / size."""

    middle: float = 0.0
    size: float = 1.0

    def scaled(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values as they are learned."""
        return (values - self.middle) / self.size

    def restored(self, values: NDArray[Any]) -> NDArray[Any]:
        """Predictions in the unit of the table."""
        return values * self.size + self.middle


@dataclass(frozen=True)
class Preprocessor:
    """What becomes of each input column, in the order of x; ``target`` is the unit of a target that is a number.

    A table that it is applied to may have the columns in any order, and more of them.
    """

    is_series: ClassVar[bool] = False  # whether the columns are the steps of one series
    columns: tuple[NumberEncoder | CategoryEncoder, ...]
    target: Unit = Unit()

    def names(self) -> tuple[str, ...]:
        """The columns of x."""
        return tuple(name for column in self.columns for name in column.names())

    def describe(self) -> str:
        """What x is, in words."""
        count = len(self.names())
        return f"{count:,} column{'s' * (count != 1)}"

    def apply(self, table: ColumnTable, rows: Whole | None = None) -> X:
        """x (n, columns) of the table, or of these of its rows."""
        x = np.zeros((table.rows if rows is None else len(rows), len(self.names())), np.float32)
        first = 0
        for column in self.columns:
            last = first + len(column.names())
            values = table[column.column]
            column.write(values if rows is None else values.take(rows), table, x[:, first:last])
            first = last
        return x

    def notices(self, table: ColumnTable) -> list[str]:
        """Sentences on words of a table that training did not know, and on missing values."""
        notices: list[str] = []
        for column in self.columns:
            if isinstance(column, CategoryEncoder) and (new := column.unknown_categories(table[column.column], table)):
                rows = sum(new.values())
                words = named_few(tuple(repr(word) for word in new), 3)
                notices.append(
                    message("values-unknown-to-model", column=column.column, file=table.path, rows=rows, values=words)
                )
        for column in self.columns:
            if missing := int(table[column.column].missing().sum()):
                outcome = column.fill_words()
                notices.append(
                    message("input-column-missing-values", column=column.column, rows=missing, outcome=outcome)
                )
        return notices

    def fills(self) -> dict[str, float]:
        """By column, the number that replaces a missing one."""
        return {column.column: column.fill for column in self.columns if isinstance(column, NumberEncoder)}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        columns = [{"kind": _KINDS[type(column)], **asdict(column)} for column in self.columns]
        return {"version": VERSION, "columns": columns, "target": asdict(self.target)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessor:
        """The preprocessor of the values that ``to_dict`` gave."""
        with read_back(values, "table"):
            target = Unit(**{name: _number(name, value) for name, value in values["target"].items()})
            columns = tuple(map(_column, values["columns"]))
        return cls(columns, target)


_KINDS = {NumberEncoder: "number", CategoryEncoder: "words"}


def _column(values: Mapping[str, Any]) -> NumberEncoder | CategoryEncoder:
    kind, rest = values["kind"], {name: value for name, value in values.items() if name != "kind"}
    if kind not in _KINDS.values():
        raise ValueError(f"the kind of '{rest['column']}' is {kind!r}")
    if kind == "number":
        return NumberEncoder(**rest | {name: _number(name, rest[name]) for name in ("mean", "spread", "fill")})
    return CategoryEncoder(**rest | {name: tuple(map(str, rest[name])) for name in ("kinds", "rest")})


def _number(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"its {name} is {value!r}")
    return float(value)


class FileRows(NamedTuple):
    """x of the files that could be read, and which of the listed names they are."""

    x: NDArray[Any]
    places: NDArray[np.int64]  # ascending: positions in the list of names
    broken: tuple[str, ...]  # names that are left out


class FilePreprocessor(ABC):
    """How the files that a ``column`` names become x; ``target`` is the unit of a target that is a number."""

    what: ClassVar[str]  # the kind of file, in one word
    column: str
    target: Unit

    @abstractmethod
    def describe(self) -> str:
        """What x is, in words."""

    @abstractmethod
    def names(self, table: ColumnTable) -> list[str]:
        """The path of each row's file, empty if the row names none."""

    @abstractmethod
    def read(
        self, place: Path, parts: Mapping[str, Sequence[str]], tolerated: float = TOLERATED
    ) -> tuple[dict[str, FileRows], list[str]]:
        """The files of several lists of paths inside a folder or archive, and sentences on broken files.

        A path that leads outside, one that does not exist, and more than the share ``tolerated`` of broken files are
        input errors.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""


AnyPreprocessor: TypeAlias = Preprocessor | FilePreprocessor
