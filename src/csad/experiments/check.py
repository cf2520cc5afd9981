"""A table that was committed, checked by fresh runs: do other seeds still give what it says?"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from csad.errors import InputError
from csad.experiments.many import Campaign, Means
from csad.experiments.reproduce import Entry, fill, write
from csad.experiments.table import Table, read_table
from csad.report.checks import Check, verdict_of
from csad.report.tables import Cell, ResultTable, from_json

COMMITTED = Path("docs") / "results"


class Checked(NamedTuple):
    """A check, where the table of its fresh runs was written (without an ending), and the runs that diverged."""

    check: Check
    path: Path
    lost: list[str]


def check(
    name: str,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    seeds: int | None = None,
    settings: Mapping[str, Any] | None = None,
    against: str | Path | None = None,
    out: str | Path | None = None,
    command: str = "",
    **means: Unpack[Means],
) -> Checked:
    """Whether fresh runs agree with a table's JSON, ``against``: docs/results/TABLE.json if not given.

    Their seeds follow the highest of the table and of that file, as many as the committed cell has unless ``seeds``
    says how many. They go to ``out``, runs/TABLE-check if not given; what is there already is not done again.
    """
    table = read_table(name).with_settings(settings or {})
    places = [(row, column) for row in table.chosen_rows(rows) for column in table.chosen_columns(columns)]
    count = None if seeds is None else len(table.chosen_seeds(seeds))
    source = Path(against) if against is not None else COMMITTED / f"{name}.json"
    committed = _read(source, name)
    asked = [[_cell(committed, source, row.name, column, metric) for metric in table.metrics] for row, column in places]
    first = _last_seed(table, committed) + 1
    entries = [
        Entry(row, column, range(first, first + (count or cells[0].n)))
        for (row, column), cells in zip(places, asked, strict=True)
    ]
    folder = Path(out) if out is not None else Path("runs") / f"{name}-check"
    campaign = Campaign.at(folder / "shared", **means)
    fresh, lost = fill(campaign, table, entries, folder, folder, command)
    path = folder / f"{name}-check"
    write(fresh, path)
    found = {_place(cell): cell for cell in fresh.cells}
    verdicts = [verdict_of(cell, found.get(_place(cell))) for cells in asked for cell in cells]
    numbers = sorted({seed for entry in entries for seed in entry.seeds})
    return Checked(Check(str(source), verdicts, fresh, numbers), path, lost)


def _read(source: Path, name: str) -> ResultTable:
    """The committed table."""
    try:
        found = from_json(json.loads(source.read_text(encoding="utf-8")))
        for cell in found.cells:
            if not all(map(math.isfinite, (cell.mean, cell.std or 0, cell.n, *map(int, cell.values)))):
                raise ValueError(f"{cell.metric} of {cell.method} is not a number")
    except OSError as error:
        raise InputError(
            f"{source} cannot be read ({error.strerror}): name the JSON of a table with --against."
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{source} is not the JSON of a table as csad reproduce writes it ({error}).") from error
    if found.table != name:
        raise InputError(f"{source} holds the table {found.table}, not {name}: name another file with --against.")
    return found


def _cell(table: ResultTable, source: Path, *place: str) -> Cell:
    """The committed cell of this method, column and metric."""
    method, column, metric = place
    cell = next((cell for cell in table.cells if _place(cell) == place), None)
    if cell is None:
        raise InputError(
            f"{source} has no {metric} of {method} for {column}: choose among its cells with --methods and --columns."
        )
    if cell.std is None or cell.n < 2:
        raise InputError(
            f"{source} has a single run of {method} for {column}, which does not tell how far others may lie from it."
        )
    return cell


def _last_seed(table: Table, committed: ResultTable) -> int:
    """The highest seed that is the table's own or that the committed runs have had."""
    used = {int(seed) for cell in committed.cells for seed in cell.values}
    return max(*table.seeds, *table.chosen_seeds(max(cell.n for cell in committed.cells)), *used)


def _place(cell: Cell) -> tuple[str, str, str]:
    return cell.method, cell.column, cell.metric
