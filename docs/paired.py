"""Methods compared seed by seed: the interval of a difference, and a verdict on many differences together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev

from csad.auditing.metrics.intervals import holm, student
from csad.report.formatting import signed

HOLDS, FAILS, CANNOT_TELL, NOT_MEASURED = "holds", "fails", "cannot tell", "not measured"
TAIL = 0.025  # what a 95 % interval leaves out on each side


@dataclass(frozen=True)
class Comparison:
    """A difference, one figure per seed: it holds if its interval lies above one mark, fails if below another."""

    what: str
    where: str  # the column
    values: Sequence[float]
    holds_above: float = 0.0
    fails_below: float = 0.0

    @cached_property
    def mean(self) -> float:
        """The mean over seeds."""
        return fmean(self.values)

    @cached_property
    def error(self) -> float:
        """The standard error of the mean, of two seeds or more: a single one tells of no spread."""
        return stdev(self.values) / math.sqrt(len(self.values))

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The mean ± t(.975, n − 1) standard errors."""
        if len(self.values) < 2:
            return -math.inf, math.inf
        half = student(len(self.values)) * self.error
        return self.mean - half, self.mean + half

    @cached_property
    def p(self) -> float:
        """How often chance alone would give a mean so far below ``fails_below``."""
        from scipy.stats import t

        above = self.mean - self.fails_below
        if len(self.values) < 2:
            return 1.0
        if self.error == 0:
            return 0.0 if above < 0 else 1.0
        return float(t.cdf(above / self.error, len(self.values) - 1))

    @property
    def holds(self) -> bool:
        """Whether the whole interval lies above its mark."""
        return self.interval[0] > self.holds_above

    @property
    def is_below(self) -> bool:
        """Whether the interval, looked at by itself, lies wholly below its mark."""
        return self.interval[1] < self.fails_below and not self.holds

    def __str__(self) -> str:
        low, high = self.interval
        ends = f"[{signed(low)}, {signed(high)}]" if math.isfinite(low) else "(one seed, no interval)"
        return f"{_listed([self])}: {signed(self.mean)} {ends}"


@dataclass(frozen=True)
class Finding:
    """What became of a claim, and the figures in words."""

    state: str
    words: str


def judged(comparisons: Sequence[Comparison]) -> Finding:
    """The claim that all comparisons hold.

    That all hold needs no correction, since each has to by itself. That one fails does: of many that are looked at,
    some lie below 0 by chance.
    """
    corrected = holm([comparison.p for comparison in comparisons])
    failing = [
        comparison for comparison, p in zip(comparisons, corrected, strict=True) if p < TAIL and comparison.is_below
    ]
    all_hold = all(comparison.holds for comparison in comparisons)
    return Finding(FAILS if failing else HOLDS if all_hold else CANNOT_TELL, _in_words(comparisons, failing))


def _in_words(comparisons: Sequence[Comparison], failing: Sequence[Comparison]) -> str:
    """How many hold, which fail, how many are open, the smallest and the largest difference."""
    seeds = f"n = {', '.join(map(str, sorted({len(comparison.values) for comparison in comparisons})))}"
    if len(comparisons) == 1:
        return f"{comparisons[0]}; {seeds}."
    holding = sum(comparison.holds for comparison in comparisons)
    undecided = len(comparisons) - holding - len(failing)
    below = [comparison for comparison in comparisons if comparison.is_below and comparison not in failing]
    parts = [f"{holding} of {len(comparisons)} hold"]
    parts += [f"{len(failing)} fail{'s' if len(failing) == 1 else ''} ({_listed(failing)})"] if failing else []
    parts += [f"{undecided} cannot be told"] if undecided else []
    alone = f" Below only by themselves: {_listed(below)}." if below else ""
    smallest, largest = (pick(comparisons, key=lambda comparison: comparison.mean) for pick in (min, max))
    return f"{', '.join(parts)}.{alone} Smallest: {smallest}. Largest: {largest}; {seeds}."


def _listed(comparisons: Sequence[Comparison]) -> str:
    """Their names, the columns of one difference together."""
    columns: dict[str, list[str]] = {}
    for comparison in comparisons:
        columns.setdefault(comparison.what, []).append(comparison.where)
    return "; ".join(f"{what} at {', '.join(places)}" if any(places) else what for what, places in columns.items())
