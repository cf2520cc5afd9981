"""Methods compared seed by seed: the interval of a difference, and what many differences say together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist, fmean, stdev, variance

from csad.report.digits import signed

HOLDS, FAILS, CANNOT_TELL, NOT_MEASURED = "holds", "fails", "cannot tell", "not measured"
TAIL = 0.025  # what a 95 % interval leaves out on each side


def student(n: int) -> float:
    """How many standard errors the 95 % interval of n runs reaches to either side: t(.975, n − 1)."""
    from scipy.stats import t

    return float(t.ppf(1 - TAIL, n - 1))


def widened(ends: tuple[float, float], middle: float, values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of runs and rows that were drawn anew, widened to what so few runs can tell of all others.

    n runs drawn with replacement spread by (n − 1) / n of the variance s² / n of their mean, and the interval reaches
    1.96 of such spreads where t(.975, n − 1) are due. ``values`` are the runs' own figures; of one run there is no s.
    """
    n = len(values)
    if n < 2:
        return ends
    due, drawn = student(n) ** 2, NormalDist().inv_cdf(1 - TAIL) ** 2 * (n - 1) / n
    more = (due - drawn) * variance(values) / n
    low, high = (math.sqrt((end - middle) ** 2 + more) for end in ends)
    return middle - low, middle + high


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
    corrected = holm([one.p for one in comparisons])
    failing = [one for one, p in zip(comparisons, corrected, strict=True) if p < TAIL and one.is_below]
    all_hold = all(one.holds for one in comparisons)
    return Finding(FAILS if failing else HOLDS if all_hold else CANNOT_TELL, _told(comparisons, failing))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's corrected p-values: the smallest times their number, the next times one less, never falling."""
    corrected, largest = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        corrected[place] = largest
    return corrected


def _told(comparisons: Sequence[Comparison], failing: Sequence[Comparison]) -> str:
    """How many hold, which fail, how many are open, the smallest and the largest difference."""
    seeds = f"n = {', '.join(map(str, sorted({len(one.values) for one in comparisons})))}"
    if len(comparisons) == 1:
        return f"{comparisons[0]}; {seeds}."
    holding = sum(one.holds for one in comparisons)
    open_ones = len(comparisons) - holding - len(failing)
    below = [one for one in comparisons if one.is_below and one not in failing]
    parts = [f"{holding} of {len(comparisons)} hold"]
    parts += [f"{len(failing)} fail{'s' if len(failing) == 1 else ''} ({_listed(failing)})"] if failing else []
    parts += [f"{open_ones} cannot be told"] if open_ones else []
    beside = f" Below only by themselves: {_listed(below)}." if below else ""
    smallest, largest = (pick(comparisons, key=lambda one: one.mean) for pick in (min, max))
    return f"{', '.join(parts)}.{beside} Smallest: {smallest}. Largest: {largest}; {seeds}."


def _listed(comparisons: Sequence[Comparison]) -> str:
    """Their names, the columns of one difference together."""
    columns: dict[str, list[str]] = {}
    for one in comparisons:
        columns.setdefault(one.what, []).append(one.where)
    return "; ".join(f"{what} at {', '.join(places)}" if any(places) else what for what, places in columns.items())
