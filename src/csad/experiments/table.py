"""A table of the paper as it is declared: rows of methods, columns of settings, the paper's numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from csad.errors import InputError, unknown

FOLDER = resources.files("csad.experiments") / "tables"


@dataclass(frozen=True)
class Row:
    """One line of a table: a method with settings; a setting that is a list has one value per column."""

    name: str
    label: str
    method: str
    preset: str
    settings: dict[str, Any]
    paper: tuple[float | None, ...]

    def given(self, table: Table, column: str) -> dict[str, Any]:
        """The settings of this row's runs in a column."""
        number = table.columns.index(column)
        own = {key: value[number] if isinstance(value, list) else value for key, value in self.settings.items()}
        return {table.column: column, **table.settings, **own}

    def paper_in(self, table: Table, column: str) -> float | None:
        """The paper's number in a column, if it has one."""
        return self.paper[table.columns.index(column)] if self.paper else None


@dataclass(frozen=True)
class Table:
    """What a table holds, and how it is made."""

    name: str
    title: str
    task: str
    metrics: tuple[str, ...]  # the paper's numbers are of the first
    split: str
    column: str  # the setting that differs between columns
    column_title: str
    columns: tuple[str, ...]
    seeds: tuple[int, ...]
    selection: str
    notes: tuple[str, ...]
    settings: dict[str, Any]  # of all rows, unless a row has its own
    rows: tuple[Row, ...]

    def with_settings(self, given: Mapping[str, Any]) -> Table:
        """The table with these settings laid over every row's, and a note that says so."""
        if not given:
            return self
        if taken := {self.column, self.column.rpartition(".")[2]} & given.keys():
            raise InputError(f"{taken.pop()} makes the columns of {self.name}: choose among them with --columns.")
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
    return sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir() if file.name.endswith(".toml"))


def read_table(name: str) -> Table:
    """The table of that name."""
    if name not in tables():
        raise unknown("table", name, tables())
    told = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    rows = [
        Row(
            name=row,
            label=about.get("label", row),
            method=about.get("method", row),
            preset=about.get("preset", ""),
            settings=about.get("set", {}),
            paper=tuple(about.get("paper", ())),
        )
        for row, about in told.pop("rows").items()
    ]
    settings = told.pop("set", {})
    lists = {key: tuple(value) for key, value in told.items() if isinstance(value, list)}
    return Table(name=name, settings=settings, rows=tuple(rows), **{**told, **lists})


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
