"""A table of the paper as it is declared: rows of methods, columns of settings, the paper's numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from csad.errors import InputError, unknown
from csad.experiments.values import toml_names

FOLDER = resources.files("csad.experiments") / "tables"


@dataclass(frozen=True)
class Row:
    """One line of a table: a method with settings; a setting that is a list has one value per column."""

    name: str
    label: str
    method: str
    preset: str
    settings: dict[str, Any]
    paper: dict[str, tuple[float, ...]]  # by metric, a number for each column
    home: str  # the table in whose folder its runs are kept

    def given(self, table: Table, column: str, seed: int) -> dict[str, Any]:
        """The settings of this row's run in a column with a seed."""
        number = table.columns.index(column)
        both = table.settings | self.settings
        own = {key: value[number] if isinstance(value, list) else value for key, value in both.items()}
        moving = {table.column: column, table.seed_sets: seed}
        return {key: value for key, value in moving.items() if key} | own

    def trained_in(self, table: Table, column: str) -> str:
        """The column under whose name a column's runs are kept: the first that differs in no setting from it.

        Columns that only look at other splits of the same runs do not train them again.
        """
        own = self.given(table, column, 0)
        return next(other for other in table.columns if self.given(table, other, 0) == own)

    def paper_in(self, table: Table, column: str, metric: str) -> float | None:
        """The paper's number in a column, if it has one."""
        numbers = self.paper.get(metric)
        return numbers[table.columns.index(column)] if numbers else None


@dataclass(frozen=True)
class Table:
    """What a table holds, and how it is made."""

    name: str
    title: str
    task: str
    metrics: tuple[str, ...]
    split: str | tuple[str, ...]  # whose figures are shown: of every column, or one for each
    column_title: str
    columns: tuple[str, ...]
    seeds: tuple[int, ...]
    notes: tuple[str, ...]
    settings: dict[str, Any]  # of all rows, unless a row has its own; a list has one value per column
    rows: tuple[Row, ...]
    column: str = ""  # the setting that differs between columns, if there are several
    seed_sets: str = ""  # a setting that each run's seed is given to as well, such as the number of a split
    spread: str = "standard deviation"  # what is printed after ±, or "standard error"
    labels: dict[str, str] = field(default_factory=dict)  # how metrics are printed
    plot: dict[str, Any] = field(default_factory=dict)  # metrics drawn against one another: x, and y, a list
    compared: str = ""  # a row that is compared with all others, row by row of the data; then all have intervals
    gap: tuple[str, str] | tuple[()] = ()  # two rows: which share of the way between them the compared one has gone
    paper_rows: dict[str, int] = field(default_factory=dict)  # of splits: other data have none of the paper's figures
    otherwise: str = ""  # the title where other data than the paper's were read
    fewest: int = 0  # tested rows of the smallest cell target × bias: a column with fewer is said to tell nothing
    distribution: str = ""  # a fact of each row, such as the age, drawn for each target in training and in test

    def split_in(self, column: str) -> str:
        """The split that a column shows."""
        return self.split if isinstance(self.split, str) else self.split[self.columns.index(column)]

    def with_settings(self, given: Mapping[str, Any]) -> Table:
        """The table with these settings laid over every row's, and a note that says so."""
        if not given:
            return self
        by_column = [key for key, value in self.settings.items() if isinstance(value, list)]
        for setting, what in [(key, "columns") for key in (self.column, *by_column)] + [(self.seed_sets, "seeds")]:
            if taken := {setting, setting.rpartition(".")[2]} & given.keys():
                raise InputError(f"{taken.pop()} makes the {what} of {self.name}: choose among them with --{what}.")
        rows = tuple(replace(row, settings=row.settings | dict(given)) for row in self.rows)
        told = ", ".join(f"{key}={value}" for key, value in given.items())
        return replace(self, rows=rows, notes=(*self.notes, f"All rows with {told} in place of the table's settings."))

    def chosen_rows(self, names: Sequence[str]) -> tuple[Row, ...]:
        """The rows of these names; all where none is given."""
        named = {row.name: row for row in self.rows}
        for name in names:
            if name not in named:
                raise unknown(f"row of {self.name}", name, named)
        return tuple(named[name] for name in dict.fromkeys(names)) or self.rows

    def chosen_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of these names, .02 being as good as 0.020; all where none is given."""
        found = []
        for name in names:
            same = [column for column in self.columns if column == name or _number(column) == _number(name)]
            if not same:
                raise unknown(f"column of {self.name}", name, self.columns)
            found.append(same[0])
        return tuple(dict.fromkeys(found)) or self.columns

    def chosen_seeds(self, count: int | None) -> tuple[int, ...]:
        """As many seeds as are asked for: the table's own, then those that follow."""
        if count is None:
            return self.seeds
        if count < 1:
            raise InputError(f"--seeds must be 1 or more, not {count}.")
        return (*self.seeds, *range(max(self.seeds) + 1, max(self.seeds) + 1 + count))[:count]


def tables() -> list[str]:
    """The tables that can be reproduced."""
    return toml_names(FOLDER)


def read_table(name: str) -> Table:
    """The table of that name."""
    if name not in tables():
        raise unknown("table", name, tables())
    told = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    rows = [_row(name, row, about, told["metrics"]) for row, about in told.pop("rows").items()]
    settings = told.pop("set", {})
    lists = {key: tuple(value) for key, value in told.items() if isinstance(value, list)}
    return Table(name=name, settings=settings, rows=tuple(rows), **{**told, **lists})


def _row(table: str, name: str, about: Mapping[str, Any], metrics: Sequence[str]) -> Row:
    """A row as its section tells it; one that only names another table is that table's row, runs and all."""
    if "table" in about:
        other = read_table(about["table"])
        row = next(row for row in other.rows if row.name == name)
        asked = {metric: numbers for metric, numbers in row.paper.items() if metric in metrics}
        return replace(row, settings=other.settings | row.settings, paper=asked)
    paper: Any = about.get("paper", {})
    if isinstance(paper, list):  # a table of one metric needs not name it
        paper = {metrics[0]: paper}
    return Row(
        name=name,
        label=about.get("label", name),
        method=about.get("method", name),
        preset=about.get("preset", ""),
        settings=about.get("set", {}),
        paper={
            metric: tuple(numbers) if isinstance(numbers, list) else (numbers,) for metric, numbers in paper.items()
        },
        home=table,
    )


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
