"""The declaration of a table of the paper: rows of methods, columns of settings, the paper's numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from csad.auditing.metrics.metric import METRICS
from csad.errors import InputError, unknown
from csad.messages import message
from csad.runs.parse import toml_names

FOLDER = resources.files("csad.reproduction") / "tables"


@dataclass(frozen=True)
class SpecRow:
    """One line of a table: a method with settings; a setting that is a list has one value per column."""

    name: str
    label: str
    method: str
    preset: str
    settings: dict[str, Any]
    paper: dict[str, tuple[float, ...]]  # by metric, a number for each column
    home: str  # the table in whose folder its runs are kept

    def settings_for(self, table: TableSpec, column: str, seed: int) -> dict[str, Any]:
        """The settings of this row's run in a column with a seed."""
        number = table.columns.index(column)
        both = table.settings | self.settings
        settings = {key: value[number] if isinstance(value, list) else value for key, value in both.items()}
        moving = {table.column: column, table.seed_sets: seed}
        return {key: value for key, value in moving.items() if key} | settings

    def trained_in(self, table: TableSpec, column: str) -> str:
        """The column under whose name a column's runs are kept: the first that differs in no setting from it.

        Columns that only look at other splits of the same runs do not train them again.
        """
        settings = self.settings_for(table, column, 0)
        return next(other for other in table.columns if self.settings_for(table, other, 0) == settings)

    def paper_in(self, table: TableSpec, column: str, metric: str) -> float | None:
        """The paper's number in a column, if it has one."""
        numbers = self.paper.get(metric)
        return numbers[table.columns.index(column)] if numbers else None


@dataclass(frozen=True)
class TableSpec:
    """What a table holds, and how it is made."""

    name: str
    title: str
    task: str
    metrics: tuple[str, ...]
    split: str | tuple[str, ...]  # whose figures are shown, for all columns or one for each
    column_title: str
    columns: tuple[str, ...]
    seeds: tuple[int, ...]
    notes: tuple[str, ...]
    settings: dict[str, Any]  # of all rows, unless a row has its own; a list has one value per column
    rows: tuple[SpecRow, ...]
    column: str = ""  # the setting that differs between columns, if there are several
    seed_sets: str = ""  # a setting that takes each run's seed too, such as the number of a split
    spread: str = "standard deviation"  # what is printed after ±, or "standard error"
    labels: dict[str, str] = field(default_factory=dict)  # how metrics are printed
    plot: dict[str, Any] = field(default_factory=dict)  # metrics drawn against one another: x, and y, a list
    compared: str = ""  # a row that is compared with all others, row by row of the data; then all have intervals
    gap: tuple[str, str] | tuple[()] = ()  # two rows, low and high: how much of the gap the compared row closes
    paper_rows: dict[str, int] = field(
        default_factory=dict
    )  # rows of each split; with other data the paper's figures are not shown
    otherwise: str = ""  # the title if other data than the paper's were read
    fewest: int = 0  # tested rows of the smallest cell target × bias: of a column with fewer the notes say so
    distribution: str = ""  # a fact of each row, such as the age, drawn for each target in training and in test

    def split_in(self, column: str) -> str:
        """The split that a column shows."""
        return self.split if isinstance(self.split, str) else self.split[self.columns.index(column)]

    def with_settings(self, settings: Mapping[str, Any]) -> TableSpec:
        """The table with these settings laid over every row's, and a note that says so."""
        if not settings:
            return self
        by_column = [key for key, value in self.settings.items() if isinstance(value, list)]
        for setting, what in [(key, "columns") for key in (self.column, *by_column)] + [(self.seed_sets, "seeds")]:
            if fixed := {setting, setting.rpartition(".")[2]} & settings.keys():
                raise InputError("setting-fixed-by-table", setting=fixed.pop(), parts=what, table=self.name)
        rows = tuple(replace(row, settings=row.settings | dict(settings)) for row in self.rows)
        values = ", ".join(f"{key}={value}" for key, value in settings.items())
        return replace(self, rows=rows, notes=(*self.notes, message("table-settings-replaced", settings=values)))

    def chosen_rows(self, names: Sequence[str]) -> tuple[SpecRow, ...]:
        """The rows of these names; all if there is no name."""
        named = {row.name: row for row in self.rows}
        for name in names:
            if name not in named:
                raise unknown(f"row of {self.name}", name, named)
        return tuple(named[name] for name in dict.fromkeys(names)) or self.rows

    def chosen_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of these names, .02 for 0.020; all if there is no name."""
        chosen = []
        for name in names:
            same = [column for column in self.columns if column == name or _number(column) == _number(name)]
            if not same:
                raise unknown(f"column of {self.name}", name, self.columns)
            chosen.append(same[0])
        return tuple(dict.fromkeys(chosen)) or self.columns

    def chosen_seeds(self, count: int | None) -> tuple[int, ...]:
        """So many seeds: the table's first, then those that follow; by default the table's."""
        if count is None:
            return self.seeds
        if count < 1:
            raise InputError("seed-count-below-one", count=count)
        return (*self.seeds, *range(max(self.seeds) + 1, max(self.seeds) + 1 + count))[:count]


def tables() -> list[str]:
    """The tables that can be reproduced."""
    return toml_names(FOLDER)


def read_spec(name: str) -> TableSpec:
    """The table of that name."""
    if name not in tables():
        raise unknown("table", name, tables())
    values = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    values["metrics"] = list(map(METRICS.canonical, values["metrics"]))
    values["labels"] = {METRICS.canonical(metric): label for metric, label in values.get("labels", {}).items()}
    rows = [_row(name, row, about, values["metrics"]) for row, about in values.pop("rows").items()]
    settings = values.pop("set", {})
    lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    return TableSpec(name=name, settings=settings, rows=tuple(rows), **{**values, **lists})


def _row(table: str, name: str, about: Mapping[str, Any], metrics: Sequence[str]) -> SpecRow:
    """A row from its section; one that only names another table is that table's row with its runs."""
    if "table" in about:
        other = read_spec(about["table"])
        row = next(row for row in other.rows if row.name == name)
        paper_of_metrics = {metric: numbers for metric, numbers in row.paper.items() if metric in metrics}
        return replace(row, settings=other.settings | row.settings, paper=paper_of_metrics)
    paper: Any = about.get("paper", {})
    if isinstance(paper, list):  # a table of one metric needs not name it
        paper = {metrics[0]: paper}
    return SpecRow(
        name=name,
        label=about.get("label", name),
        method=about.get("method", name),
        preset=about.get("preset", ""),
        settings=about.get("set", {}),
        paper={
            METRICS.canonical(metric): tuple(numbers) if isinstance(numbers, list) else (numbers,)
            for metric, numbers in paper.items()
        },
        home=table,
    )


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
