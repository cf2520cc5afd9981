"""A table of results held against fresh runs: cells come in pairs, and go out with a verdict each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from csad.report.digits import MISSING
from csad.report.paired import TAIL, student
from csad.report.tables import Cell, ResultTable, metric_label

# Three seeds can lie together by chance, and would then let nothing pass: a gap this small is not worth a fail.
LEAST_STD = 0.002


def prediction_interval(mean: float, std: float, n: int, m: int) -> tuple[float, float]:
    """Where the mean of m further runs lies, 95 times in 100, after n runs of this mean and standard deviation.

    mean ± t · s · √(1/n + 1/m), t being Student's for n − 1 degrees of freedom.
    """
    half = student(n) * max(std, LEAST_STD) * math.sqrt(1 / n + 1 / m)
    return mean - half, mean + half


@dataclass(frozen=True)
class Verdict:
    """A committed cell and the fresh one, None where all its runs were lost; the fresh mean should lie low … high."""

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
    """All verdicts, the name of the committed file, the table of the fresh runs and their seeds."""

    against: str
    verdicts: Sequence[Verdict]
    fresh: ResultTable
    seeds: Sequence[int]

    @property
    def passed(self) -> bool:
        """Whether every cell passed."""
        return all(verdict.passed for verdict in self.verdicts)


def verdict_of(committed: Cell, fresh: Cell | None) -> Verdict:
    """Whether the fresh cell is what the committed one, of two runs or more, lets one expect."""
    if committed.std is None:
        raise ValueError(f"{committed.method} for {committed.column} has a single run, and so no interval")
    runs = fresh.n if fresh else committed.n
    return Verdict(committed, fresh, *prediction_interval(committed.mean, committed.std, committed.n, runs))


def as_json(check: Check) -> dict[str, Any]:
    """The check as a JSON object."""
    cells = [
        {
            **{part: getattr(one.committed, part) for part in ("method", "column", "metric")},
            "committed": _figures(one.committed),
            "fresh": _figures(one.fresh) if one.fresh else None,
            **{"low": one.low, "high": one.high, "side": one.side, "passed": one.passed},
        }
        for one in check.verdicts
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


def as_rows(check: Check) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of text, one for each cell."""
    labels, rows = check.fresh.labels, []
    for one in check.verdicts:
        was, interval = one.committed, f"{one.low:.4f} … {one.high:.4f}"
        names = [labels.get(was.method, was.method), was.column, metric_label(check.fresh, was.metric)]
        rows.append([*names, _shown(was), _shown(one.fresh), interval, "pass" if one.passed else f"fail: {one.side}"])
    column = check.fresh.column_title or "Column"
    return ["Method", column, "Figure", "Committed", "Fresh", "95 % interval", "Verdict"], rows


def captions(check: Check) -> list[str]:
    """The lines below: what was held against what, by which rule, and what came of it."""
    passed, seeds = sum(verdict.passed for verdict in check.verdicts), ", ".join(map(str, check.seeds))
    return [
        f"Committed: {check.against}. Fresh: new runs, with seeds that it does not hold: {seeds}.",
        "A cell passes if the mean of its m fresh runs lies within mean ± t · s · √(1/n + 1/m) of its n committed "
        f"ones, s being at least {LEAST_STD}. "
        f"Where nothing has changed, about one cell in {1 / (2 * TAIL):.0f} fails by chance.",
        *check.fresh.notes,
        f"{passed} of {len(check.verdicts)} cells pass.",
    ]


def _figures(cell: Cell) -> dict[str, Any]:
    return {"mean": cell.mean, "std": cell.std, "n": cell.n, "values": dict(cell.values)}


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    return f"{cell.mean:.4f}" + ("" if cell.std is None else f" ± {cell.std:.4f}") + f" (n = {cell.n})"
