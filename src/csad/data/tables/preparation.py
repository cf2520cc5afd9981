"""How a row of a table becomes a row of x: fitted on training rows (``inputs.py``), kept with the run as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.columns import Table, Whole, shown
from csad.data.tables.prepared import OneHot, Scaled, X
from csad.errors import InputError

VERSION = 1


@contextmanager
def read_back(values: Mapping[str, Any], what: str) -> Iterator[None]:
    """While kept values become a preparation: another version, or values that are not whole, give one sentence."""
    try:
        if values["version"] != VERSION:
            raise ValueError(f"its version is {values['version']}, not {VERSION}")
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The preparation of the {what} is not whole ({error}): train the run again.") from error


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

    def told(self) -> str:
        """What x is, in words."""
        count = len(self.names())
        return f"{count:,} column{'s' * (count != 1)}"

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
        """Sentences on words of a table that training did not know, and on values that are missing."""
        found = []
        for column in self.columns:
            if isinstance(column, OneHot) and (strange := column.strangers(table[column.column], table)):
                rows = sum(strange.values())
                words = shown(tuple(repr(word) for word in strange), 3)
                found.append(
                    f"Column '{column.column}' of {table.path} holds words that training did not know, in {rows:,} "
                    f"row{'s' * (rows > 1)} ({words}): they count as none of those it knew."
                )
        for column in self.columns:
            if missing := int(table[column.column].missing().sum()):
                many = f"{missing:,} row{'s' * (missing > 1)}"
                found.append(f"Column '{column.column}' is missing in {many}: {column.filled()}.")
        return found

    def fills(self) -> dict[str, float]:
        """By column, the number that stands for a missing one."""
        return {column.column: column.fill for column in self.columns if isinstance(column, Scaled)}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        columns = [{"kind": _KINDS[type(column)], **asdict(column)} for column in self.columns]
        return {"version": VERSION, "columns": columns, "target": asdict(self.target)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preparation:
        """The preparation that ``to_dict`` gave, from JSON or as it is."""
        with read_back(values, "table"):
            target = Unit(**{name: _number(name, value) for name, value in values["target"].items()})
            columns = tuple(map(_column, values["columns"]))
        return cls(columns, target)


_KINDS = {Scaled: "number", OneHot: "words"}


def _column(values: Mapping[str, Any]) -> Scaled | OneHot:
    kind, rest = values["kind"], {name: value for name, value in values.items() if name != "kind"}
    if kind not in _KINDS.values():
        raise ValueError(f"the kind of '{rest['column']}' is {kind!r}")
    if kind == "number":
        return Scaled(**rest | {name: _number(name, rest[name]) for name in ("mean", "spread", "fill")})
    return OneHot(**rest | {name: tuple(map(str, rest[name])) for name in ("kinds", "rest")})


def _number(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"its {name} is {value!r}")
    return float(value)
