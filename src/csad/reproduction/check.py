"""A committed table checked by fresh runs: do other seeds still give what it says?"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from csad.auditing.metrics.intervals import student
from csad.errors import InputError
from csad.report.formatting import MISSING
from csad.reproduction.reproduce import Entry, fill, write
from csad.reproduction.result_table import Cell, ResultTable, from_json, metric_label
from csad.reproduction.spec import TableSpec, read_spec
from csad.sweeps.campaign import Campaign, RunOptions

COMMITTED = Path("docs") / "results"
LEVEL = 0.95
# Three seeds can lie together by chance, and would then let nothing pass: a gap this small is not worth a fail.
LEAST_STD = 0.002


@dataclass(frozen=True)
class CellCheck:
    """A committed cell and the fresh one, None if all its runs were lost; the fresh mean should lie low … high."""

    committed: Cell
    fresh: Cell | None
    low: float
    high: float

    @property
    def side(self) -> str:
        """Where the fresh mean lies: within, below or above the interval; or "lost"."""
        if self.fresh is None:
            return "lost"
        return "below" if self.fresh.mean < self.low else "above" if self.fresh.mean > self.high else "within"

    @property
    def passed(self) -> bool:
        """Two-sided: a figure that has grown is not the committed one either."""
        return self.side == "within"


@dataclass(frozen=True)
class Check:
    """All checked cells, the name of the committed file, the table of the fresh runs and their seeds."""

    against: str
    verdicts: Sequence[CellCheck]
    fresh: ResultTable
    seeds: Sequence[int]

    @property
    def passed(self) -> bool:
        """Whether every cell passed."""
        return all(cell.passed for cell in self.verdicts)


class Checked(NamedTuple):
    """A check, the path of the table of its fresh runs (without an ending), and the runs that diverged."""

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
    **options: Unpack[RunOptions],
) -> Checked:
    """Check whether fresh runs agree with a committed table.

    Seeds follow the highest of the table and of the committed file. Runs that are there already are not repeated.

    Args:
        name: the table, such as "adult".
        rows: the names of some of its rows; by default all.
        columns: the names of some of its columns; by default all.
        seeds: how many runs a cell has; by default as many as the committed cell.
        settings: settings that replace those of every row.
        against: the committed table's JSON; by default docs/results/NAME.json.
        out: the folder of runs and table; by default runs/NAME-check.
        command: the command line, for the table's caption.
        **options: how runs are carried out (``device``, ``data_root``, ``listener``, …), as for ``csad.sweep``.
    """
    table = read_spec(name).with_settings(settings or {})
    places = [(row, column) for row in table.chosen_rows(rows) for column in table.chosen_columns(columns)]
    count = None if seeds is None else len(table.chosen_seeds(seeds))
    source = Path(against) if against is not None else COMMITTED / f"{name}.json"
    committed = _read(source, name)
    cells = [
        [_committed_cell(committed, source, row.name, column, metric) for metric in table.metrics]
        for row, column in places
    ]
    first = _last_seed(table, committed) + 1
    entries = [
        Entry(row, column, range(first, first + (count or of_entry[0].n)))
        for (row, column), of_entry in zip(places, cells, strict=True)
    ]
    folder = Path(out) if out is not None else Path("runs") / f"{name}-check"
    campaign = Campaign.at(folder / "shared", **options)
    fresh, lost = fill(campaign, table, entries, folder, folder, command)
    path = folder / f"{name}-check"
    write(fresh, path)
    fresh_cells = {_place(cell): cell for cell in fresh.cells}
    checks = [check_cell(cell, fresh_cells.get(_place(cell))) for of_entry in cells for cell in of_entry]
    numbers = sorted({seed for entry in entries for seed in entry.seeds})
    return Checked(Check(str(source), checks, fresh, numbers), path, lost)


def _read(source: Path, name: str) -> ResultTable:
    """The committed table."""
    try:
        table = from_json(json.loads(source.read_text(encoding="utf-8")))
        for cell in table.cells:
            if not all(map(math.isfinite, (cell.mean, cell.std or 0, cell.n, *map(int, cell.values)))):
                raise ValueError(f"{cell.metric} of {cell.method} is not a number")
    except OSError as error:
        raise InputError("reference-file-unreadable", file=source, reason=error.strerror) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError("reference-file-invalid", file=source, reason=error) from error
    if table.table != name:
        raise InputError("wrong-reference-table", file=source, found=table.table, expected=name)
    return table


def _committed_cell(table: ResultTable, source: Path, *place: str) -> Cell:
    """The committed cell of this method, column and metric."""
    method, column, metric = place
    cell = next((cell for cell in table.cells if _place(cell) == place), None)
    if cell is None:
        raise InputError("reference-cell-missing", file=source, metric=metric, method=method, column=column)
    if cell.std is None or cell.n < 2:
        raise InputError("reference-single-run", file=source, method=method, column=column)
    return cell


def _last_seed(table: TableSpec, committed: ResultTable) -> int:
    """The highest seed that the table has by itself or that the committed runs have had."""
    used = {int(seed) for cell in committed.cells for seed in cell.values}
    return max(*table.seeds, *table.chosen_seeds(max(cell.n for cell in committed.cells)), *used)


def _place(cell: Cell) -> tuple[str, str, str]:
    return cell.method, cell.column, cell.metric


def check_cell(committed: Cell, fresh: Cell | None) -> CellCheck:
    """Whether the fresh cell is what the committed one, of two runs or more, makes likely."""
    if committed.std is None:
        raise ValueError(f"{committed.method} for {committed.column} has a single run, and so no interval")
    runs = fresh.n if fresh else committed.n
    return CellCheck(committed, fresh, *prediction_interval(committed.mean, committed.std, committed.n, runs))


def prediction_interval(mean: float, std: float, n: int, m: int) -> tuple[float, float]:
    """Where the mean of m further runs lies, 95 times in 100, after n runs of this mean and standard deviation.

    mean ± t · s · √(1/n + 1/m), t being Student's for n − 1 degrees of freedom.
    """
    half = student(n, LEVEL) * max(std, LEAST_STD) * math.sqrt(1 / n + 1 / m)
    return mean - half, mean + half


def check_as_json(check: Check) -> dict[str, Any]:
    """The check as a JSON object."""
    cells = [
        {
            **{part: getattr(cell.committed, part) for part in ("method", "column", "metric")},
            "committed": _figures(cell.committed),
            "fresh": _figures(cell.fresh) if cell.fresh else None,
            **{"low": cell.low, "high": cell.high, "side": cell.side, "passed": cell.passed},
        }
        for cell in check.verdicts
    ]
    return {
        "table": check.fresh.table,
        "against": check.against,
        "passed": check.passed,
        "cells": cells,
        "seeds": list(check.seeds),
        "notes": list(check.fresh.notes),
        "command": check.fresh.command,
        "environment": dict(check.fresh.environment),
    }


def check_as_rows(check: Check) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of text, one for each cell."""
    labels, rows = check.fresh.labels, []
    for cell in check.verdicts:
        committed, interval = cell.committed, f"{cell.low:.4f} … {cell.high:.4f}"
        metric = metric_label(check.fresh, committed.metric)
        names = [labels.get(committed.method, committed.method), committed.column, metric]
        verdict = "pass" if cell.passed else f"fail: {cell.side}"
        rows.append([*names, _cell_text(committed), _cell_text(cell.fresh), interval, verdict])
    column = check.fresh.column_title or "Column"
    return ["Method", column, "Figure", "Committed", "Fresh", "95 % interval", "Verdict"], rows


def check_captions(check: Check) -> list[str]:
    """The lines below the table: what was checked against what, by which rule, and the result."""
    passed, seeds = sum(cell.passed for cell in check.verdicts), ", ".join(map(str, check.seeds))
    return [
        (f"Committed: {check.against}. Fresh: new runs with seeds that the committed table does not contain: {seeds}."),
        (
            "A cell passes if the mean of its m fresh runs is within mean ± t · s · √(1/n + 1/m) of its n committed "
            f"runs, with s at least {LEAST_STD}. If nothing has changed, about one cell in {1 / (1 - LEVEL):.0f} "
            "fails by chance."
        ),
        *check.fresh.notes,
        f"{passed} of {len(check.verdicts)} cells pass.",
    ]


def _figures(cell: Cell) -> dict[str, Any]:
    return {"mean": cell.mean, "std": cell.std, "n": cell.n, "values": dict(cell.values)}


def _cell_text(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    return f"{cell.mean:.4f}" + ("" if cell.std is None else f" ± {cell.std:.4f}") + f" (n = {cell.n})"
