"""Which debias_weight (λ) to take: what was tried, the rule that decides, and why, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from csad.auditing.verdicts import CHANCE

ALIKE = 0.01  # of an AUC: less is noise in any validation split
RULE = (
    "Of the weights that cost at most so much of the score, measured on the validation split below vanilla's, the one "
    f"with the least leakage; of those within {ALIKE:g} of it the one with the highest score. If all cost more, the "
    "one that costs least."
)


@dataclass(frozen=True)
class Tried:
    """What one training came to on the validation split."""

    debias_weight: float | None  # None: vanilla, which has none
    score: float  # balanced accuracy; of a number the share of its variance that is explained
    leakage: float  # AUC of a linear reader that looks for the bias in the prediction, among rows of the same target


@dataclass(frozen=True)
class Choice:
    """The weight that was taken, why, and all that was tried; ``within``: whether it costs no more than it may."""

    debias_weight: float
    why: str
    within: bool
    cost: float  # that was allowed
    score: str  # what the score is
    rows: int  # of the validation split
    vanilla: Tried
    tried: tuple[Tried, ...]
    lost: tuple[float, ...]  # weights whose training diverged

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and words, for JSON."""
        return {"rule": RULE} | asdict(self) | {"tried": [asdict(one) for one in self.tried], "lost": list(self.lost)}


def decide(
    vanilla: Tried, tried: Sequence[Tried], *, cost: float, score: str, rows: int, lost: Sequence[float] = ()
) -> Choice:
    """The choice by the rule; ``tried`` has one weight at least."""
    by_weight = sorted(tried, key=lambda one: one.debias_weight or 0.0)
    cheap = [one for one in by_weight if vanilla.score - one.score <= cost + 1e-9]
    least = min((one.leakage for one in cheap), default=CHANCE)
    if cheap:
        taken = max((one for one in cheap if one.leakage <= least + ALIKE), key=lambda one: one.score)
    else:
        taken = max(by_weight, key=lambda one: one.score)
    assert taken.debias_weight is not None
    why = _why(taken, vanilla, least, len(cheap), len(tried), cost, score)
    return Choice(
        taken.debias_weight, why, bool(cheap), cost, score, rows, vanilla, tuple(by_weight), tuple(sorted(lost))
    )


def _why(taken: Tried, vanilla: Tried, least: float, cheap: int, tried: int, cost: float, score: str) -> str:
    scores = f"{score} {taken.score:.3f}, vanilla {vanilla.score:.3f}"
    leaks = f"leakage {taken.leakage:.3f}, vanilla {vanilla.leakage:.3f}, chance .500"
    if not cheap:
        return (
            f"None of the {tried} weights tried costs at most {cost:g} on the validation split: "
            f"{taken.debias_weight:g} is taken, which costs least ({scores}; {leaks})."
        )
    of = f"of the {cheap} out of {tried} weights that cost at most {cost:g} on the validation split"
    if taken.leakage >= vanilla.leakage - ALIKE:
        return (
            f"{taken.debias_weight:g} is taken, {of}, but none of these leaks clearly less than vanilla "
            f"({leaks}; {scores})."
        )
    how = "leaks least" if taken.leakage == least else f"has the highest {score} of those that leak least, by {ALIKE:g}"
    return f"{taken.debias_weight:g} is taken: {of}, it {how} ({leaks}; {scores})."
