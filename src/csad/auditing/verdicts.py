"""Verdicts on leakage: readings with their intervals and p-values in, one of three states in plain words out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from statistics import NormalDist
from typing import Literal

State = Literal["leaks", "no evidence of leakage", "cannot tell"]
CHANCE = 0.5
READ_AT_LEAST = 0.5  # of what a planted leak of twice the margin is above chance: else it could pass for none


@dataclass(frozen=True)
class Reading:
    """How well a fresh reader tells a bias from a layer: an AUC, its interval, and how likely chance does as well.

    The score is the mean of readers that learnt from one to four fifths of the rows; ``low`` and ``high`` each hold at
    the audit's level, so that at .95 nine in ten intervals hold the truth between them.
    """

    probe: str
    layer: str
    bias: str
    score: float
    chance: float
    low: float
    high: float
    p: float
    p_corrected: float
    rows: int

    @property
    def reach(self) -> float:
        """The upper end of the interval, were the reading not below chance: to read worse than chance is luck."""
        return max(self.score, self.chance) + self.high - self.score


@dataclass(frozen=True)
class Rule:
    """What a verdict takes: ``level`` holds for each end of an interval; ``tests`` p-values are corrected together."""

    margin: float = 0.05
    level: float = 0.95
    tests: int = 1


@dataclass(frozen=True)
class Verdict:
    """Whether a layer tells a bias; ``needed_rows`` only where that cannot be told for want of rows."""

    layer: str
    bias: str
    state: State
    words: str
    needed_rows: int | None
    readings: tuple[Reading, ...]
    planted: float | None = None  # how a leak of chance + 2 margins would have been read
    notes: tuple[str, ...] = ()


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for how many there are (Holm, 1979): the k-th least times those not less, never falling."""
    corrected, least = [0.0] * len(p), 0.0
    for k, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        least = corrected[place] = max(least, min(1.0, (len(p) - k) * p[place]))
    return corrected


def needed_rows(rows: int, half_width: float, rule: Rule) -> int:
    """Rows with which the verdict would not be "cannot tell", whatever the score: the interval narrows with √rows.

    With spread s, a score is significant from z_tests · s above chance, and no evidence up to margin − z_level · s: no
    gap is left once s = margin / (z_tests + z_level). For one test: half the interval is half the margin.
    """
    normal = NormalDist()
    z, z_tests = normal.inv_cdf(rule.level), normal.inv_cdf(1 - (1 - rule.level) / rule.tests)
    return _rounded(rows * (half_width / z * (z + z_tests) / rule.margin) ** 2)


def rows_to_read(rows: int, planted: float, rule: Rule) -> int:
    """Rows with which a leak of twice the margin would be read as one margin above chance.

    Of what is above chance, a linear reader keeps √(rows / (rows + c)) where c counts features: c is solved for.
    """
    kept = max(0.1, min(1.0, (planted - CHANCE) / (2 * rule.margin)))
    lacking = rows * (1 / kept**2 - 1)
    return _rounded(lacking * READ_AT_LEAST**2 / (1 - READ_AT_LEAST**2))


def judge(
    readings: Sequence[Reading],
    rule: Rule,
    *,
    planted: float | None = None,
    among: str = "",
    notes: tuple[str, ...] = (),
) -> Verdict:
    """The verdict on one layer and bias from the readings of all probes.

    "leaks": some reading has p_corrected < 1 − level and its interval wholly above chance. Else "no evidence of
    leakage": every interval, moved up to chance where the score is below, ends below chance + margin, and a planted
    leak of twice the margin is read as one margin at least (then it would pass for none in 1 − level of all cases at
    most; None: nothing varies, so nothing can be hidden). Else "cannot tell".
    """
    layer, bias, rows = readings[0].layer, readings[0].bias, readings[0].rows
    sure = [r for r in readings if r.p_corrected < 1 - rule.level and r.low > r.chance]
    if sure:
        best = _best(sure)
        words = f"A fresh reader tells {bias} from {layer}{among} with {told(best)}: it leaks{_slight(best, rule)}."
        return Verdict(layer, bias, "leaks", words, None, tuple(readings), planted, notes)
    narrow = all(r.reach < r.chance + rule.margin for r in readings)
    sighted = planted is None or planted >= CHANCE + 2 * rule.margin * READ_AT_LEAST
    best = _best(readings)
    if narrow and sighted:
        words = (
            f"No fresh reader tells {bias} from {layer}{among}: the best has {told(best)}, and none can be "
            f"{short(rule.margin)} above chance: no evidence of leakage."
        )
        return Verdict(layer, bias, "no evidence of leakage", words, None, tuple(readings), planted, notes)
    if best.low > best.chance + rule.margin:
        why = f"the best reader has {told(best)}, but so little is independent of one another (rows, or persons) that"
        words = f"{why} shuffled labels do as well too often (p {short(best.p_corrected)}, corrected): more are needed."
        words = f"Whether {layer} tells {bias}{among} cannot be told from {rows:,} rows: {words}"
        return Verdict(layer, bias, "cannot tell", words, None, tuple(readings), planted, notes)
    needed = _rounded(1.2 * rows)
    if not narrow:
        needed = max(needed, *(needed_rows(rows, (r.high - r.low) / 2, rule) for r in readings))
    why = f"the best reader has {told(best)}"
    if planted is not None and not sighted:
        needed = max(needed, rows_to_read(rows, planted, rule))
        why += f", but a leak of {short(CHANCE + 2 * rule.margin)} planted there is read as {short(planted)}"
    words = f"Whether {layer} tells {bias}{among} cannot be told from {rows:,} rows: {why}; about {needed:,} would do."
    return Verdict(layer, bias, "cannot tell", words, needed, tuple(readings), planted, notes)


def untold(layer: str, bias: str, why: str, among: str = "") -> Verdict:
    """The verdict where no reader has anything to learn from."""
    return Verdict(layer, bias, "cannot tell", f"Whether {layer} tells {bias}{among} cannot be told: {why}.", None, ())


def told(reading: Reading) -> str:
    """``AUC .71 (.68 … .74; chance .50)``."""
    interval = f"{short(reading.low)} … {short(reading.high)}"
    return f"AUC {short(reading.score)} ({interval}; chance {short(reading.chance)})"


def short(value: float) -> str:
    """``.71``: a fraction with two digits and no leading nought."""
    return f"{value:.2f}".removeprefix("0")


def _best(readings: Sequence[Reading]) -> Reading:
    return max(readings, key=lambda r: r.score)


def _slight(best: Reading, rule: Rule) -> str:
    return f", by less than the margin of {short(rule.margin)}" if best.high < best.chance + rule.margin else ""


def _rounded(rows: float) -> int:
    """Up to two digits: more would pretend to know."""
    step = int(10 ** max(0, floor(log10(max(rows, 1))) - 1))
    return ceil(round(rows / step, 6)) * step
