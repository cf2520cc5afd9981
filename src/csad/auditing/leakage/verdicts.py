"""Verdicts on leakage: readings with their intervals and p-values in, one of three states in plain words out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from statistics import NormalDist
from typing import Final, Literal

from csad.serialize import Serializable

VerdictState = Literal["leaks", "cannot tell", "no evidence of leakage"]
LEAKS: Final = "leaks"
CANNOT_TELL: Final = "cannot tell"
NO_EVIDENCE: Final = "no evidence of leakage"
STATES: tuple[VerdictState, ...] = (LEAKS, CANNOT_TELL, NO_EVIDENCE)  # the gravest first
CHANCE = 0.5
READ_AT_LEAST = 0.5  # of what a planted leak of twice the margin has above chance: else it could pass for none


RENAMED_PROBES = {"neighbours": "neighbors"}  # names that earlier versions wrote


def probe_name(name: str) -> str:
    """The present name of a probe that an earlier version may have written under another one."""
    return RENAMED_PROBES.get(name, name)


@dataclass(frozen=True)
class Reading(Serializable):
    """How well a fresh probe tells a bias from a layer: an AUC, its interval, and how likely chance does as well.

    The score is the mean of probes that learned from one to four fifths of the rows; ``low`` and ``high`` each hold at
    the audit's level, so that at .95 nine in ten intervals hold the truth between them.
    """

    probe: str = field(metadata={"rename": probe_name})
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
class Verdict(Serializable):
    """Whether a layer tells a bias; ``needed_rows`` only if there are too few rows to tell."""

    layer: str
    bias: str
    state: VerdictState
    words: str
    needed_rows: int | None
    readings: tuple[Reading, ...]
    planted: float | None = None  # how a leak of chance + 2 margins would have been read
    notes: tuple[str, ...] = ()


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

    A linear probe reads a share √(rows / (rows + c)) of what is above chance; c, which grows with the features, is
    solved for.
    """
    share = max(0.1, min(1.0, (planted - CHANCE) / (2 * rule.margin)))
    lacking = rows * (1 / share**2 - 1)
    return _rounded(lacking * READ_AT_LEAST**2 / (1 - READ_AT_LEAST**2))


def verdict_for(
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
    significant = [r for r in readings if r.p_corrected < 1 - rule.level and r.low > r.chance]
    best = max(significant or readings, key=lambda reading: reading.score)
    text = reading_text(best)

    def verdict(state: VerdictState, words: str, needed: int | None = None) -> Verdict:
        return Verdict(layer, bias, state, words, needed, tuple(readings), planted, notes)

    if significant:
        slight = (
            f", but by less than the margin of {short(rule.margin)}" if best.high < best.chance + rule.margin else ""
        )
        return verdict(
            LEAKS, f"A probe predicts {bias} from {layer} with {text}{among}, so {layer} leaks {bias}{slight}."
        )
    narrow = all(r.reach < r.chance + rule.margin for r in readings)
    sighted = planted is None or planted >= CHANCE + 2 * rule.margin * READ_AT_LEAST
    if narrow and sighted:
        return verdict(
            NO_EVIDENCE,
            f"No probe predicts {bias} from {layer} significantly better than chance{among}. The best probe has "
            f"{text}, and every interval ends less than {short(rule.margin)} above chance, so there is no evidence of "
            "leakage.",
        )
    unclear = f"{rows:,} rows are too few to say whether {layer} leaks {bias}{among}. The best probe has {text}"
    if best.low > best.chance + rule.margin:
        few = "with so few independent rows or persons shuffled labels often score as well"
        p = short(best.p_corrected)
        return verdict(CANNOT_TELL, f"{unclear}, but {few} (corrected p = {p}). More data are needed.")
    needed = _rounded(1.2 * rows)
    if not narrow:
        needed = max(needed, *(needed_rows(rows, (r.high - r.low) / 2, rule) for r in readings))
    if planted is not None and not sighted:
        needed = max(needed, rows_to_read(rows, planted, rule))
        unclear += (
            f", but a probe scores only {short(planted)} on a planted leak of AUC {short(CHANCE + 2 * rule.margin)}"
        )
    return verdict(CANNOT_TELL, f"{unclear}. About {needed:,} rows are needed.", needed)


def undecided(layer: str, bias: str, why: str, among: str = "") -> Verdict:
    """The verdict if no probe has anything to learn from."""
    return Verdict(layer, bias, CANNOT_TELL, f"It is unclear whether {layer} leaks {bias}{among}: {why}.", None, ())


def reading_text(reading: Reading) -> str:
    """``AUC .71 (.68 … .74; chance .50)``."""
    interval = f"{short(reading.low)} … {short(reading.high)}"
    return f"AUC {short(reading.score)} ({interval}; chance {short(reading.chance)})"


def short(value: float) -> str:
    """``.71``: a fraction with two digits and no leading nought."""
    return f"{value:.2f}".removeprefix("0")


def _rounded(rows: float) -> int:
    """Up to two digits: more would pretend to know."""
    step = int(10 ** max(0, floor(log10(max(rows, 1))) - 1))
    return ceil(round(rows / step, 6)) * step
