"""The data set that a user's own file becomes, and who hears of it before anything is trained on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from csad.data.samples import Classes, Dataset, Number
from csad.data.tables.columns import shown
from csad.data.tables.preparation import Preparation
from csad.data.tables.preparations import AnyPreparation
from csad.data.tables.told import ColumnLine
from csad.data.tables.wide_series import WideSeries

NOTHING = Preparation(())  # a subclass of Dataset, whose last fields have defaults, must have some too
MOST_LINES = 40  # columns that have a line each; of more, neighbours that are alike share one


@dataclass(frozen=True)
class OwnTable(Dataset):
    """A data set that knows how its x was made: ``preparation`` does the same to other tables.

    ``notices`` are sentences on what the user may not expect; ``columns`` has a line for each column of the file.
    """

    preparation: AnyPreparation = NOTHING
    notices: tuple[str, ...] = ()
    columns: tuple[ColumnLine, ...] = ()

    def describe(self) -> list[str]:
        """Lines for people: each column, what it holds and what becomes of it; then the splits."""
        many = len(self.columns) > MOST_LINES or isinstance(self.preparation, WideSeries)
        told = _joined(self.columns) if many else self.columns
        wide, kind = (max(len(line[k]) for line in told) for k in (0, 1))
        lines = [f"{line.column:<{wide}}  {line.kind:<{kind}}  {line.becomes}" for line in told]
        splits = ", ".join(f"{name} {len(rows):,}" for name, rows in self.splits.items())
        return [*lines, f"Rows: {splits}. Inputs: {self.preparation.told()}."]

    def about(self) -> dict[str, Any]:
        """The same as plain values; ``fills`` are the numbers that stand for missing ones.

        A target that is a number is learned in units of its ``target_spread`` in the training rows.
        """
        fills = self.preparation.fills() if isinstance(self.preparation, Preparation) else {}
        return {
            "rows": {name: len(rows) for name, rows in self.splits.items()},
            "target": _kind(self.task.target),
            "target_spread": self.preparation.target.size if isinstance(self.task.target, Number) else None,
            "biases": dict(zip(self.task.bias_names, map(_kind, self.task.biases), strict=True)),
            "columns": [line._asdict() for line in self.columns],
            "inputs": self.preparation.told(),
            "fills": fills,
            "notices": list(self.notices),
        }


def preparation_of(dataset: Dataset) -> AnyPreparation | None:
    """How x was made of a table of one's own; None of other data."""
    return dataset.preparation if isinstance(dataset, OwnTable) else None


_hearer: ContextVar[Callable[[OwnTable], None] | None] = ContextVar("hearer", default=None)


@contextmanager
def hearing(hear: Callable[[OwnTable], None]) -> Iterator[None]:
    """While this lasts, ``hear`` is called with each table that was read, before anything is done with it."""
    token = _hearer.set(hear)
    try:
        yield
    finally:
        _hearer.reset(token)


def heard(table: OwnTable) -> OwnTable:
    """The table itself, once it has been told of."""
    hear = _hearer.get()
    if hear is not None:
        hear(table)
    return table


def _joined(lines: tuple[ColumnLine, ...]) -> list[ColumnLine]:
    """One line for neighbours that hold the same and become the same."""
    found = []
    for (kind, becomes), alike in groupby(lines, key=lambda line: (line.kind, line.becomes)):
        names = tuple(line.column for line in alike)
        many = f"{shown(names, 2)} ({len(names)} columns)" if len(names) > 2 else shown(names)
        found.append(ColumnLine(many, kind, becomes if len(names) == 1 else f"each {becomes}"))
    return found


def _kind(label: Classes | Number) -> str | list[str]:
    return list(label.names) if isinstance(label, Classes) else "number"
