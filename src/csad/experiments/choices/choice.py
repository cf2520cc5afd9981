"""Which debias_weight (λ) to take, and after which epoch to stop: what was tried, the rule, and why, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

ALIKE = 0.01  # of an AUC: less is noise in any validation split
RULE = (
    "Of the weights, each after some epochs of the last stage, that cost at most so much of the score, measured on the "
    f"validation split below vanilla's, the one with the least leakage; of those within {ALIKE:g} of it the one with "
    "the highest score. If all cost more, the one that costs least."
)


@dataclass(frozen=True)
class Tried:
    """What one training came to on the validation split, after so many epochs of its last stage."""

    debias_weight: float | None  # None: vanilla, which has none
    score: float  # balanced accuracy; of a number the share of its variance that is explained
    leakage: float  # AUC of a linear reader that looks for the bias in the prediction, among rows of the same target
    epoch: int | None = None  # None: vanilla, which is trained to its end

    @property
    def order(self) -> tuple[float, int]:
        """Of two that are as good, the one with the smaller weight is taken, and then the one with fewer epochs."""
        return self.debias_weight or 0.0, self.epoch or 0


@dataclass(frozen=True)
class Choice:
    """The weight and the epoch that were taken, and all that was tried.

    ``tried`` has for each weight the epoch that the rule would take if there were no other weight; ``looks`` has all.
    """

    debias_weight: float
    epoch: int
    epochs: int  # of the last stage, had it not been stopped
    cost: float  # that was allowed
    score: str  # what the score is
    rows: int  # of the validation split
    vanilla: Tried
    tried: tuple[Tried, ...]
    looks: tuple[Tried, ...]
    lost: tuple[float, ...]  # weights whose training diverged before anything could be measured

    @property
    def stopped(self) -> str:
        """When the run that is kept was stopped; empty where it came to its end."""
        return f"stopped after epoch {self.epoch} of {self.epochs}" if self.epoch < self.epochs else ""

    def affords(self, one: Tried) -> bool:
        """Whether it costs no more than it may."""
        return _cheap(one, self.vanilla, self.cost)

    @property
    def cheap(self) -> list[Tried]:
        """The looks that cost no more than they may."""
        return [one for one in self.looks if self.affords(one)]

    @property
    def within(self) -> bool:
        """Whether the one that was taken costs no more than it may."""
        return bool(self.cheap)

    @property
    def why(self) -> str:
        """A sentence on why this weight was taken, and stopped where it was."""
        taken = next(one for one in self.tried if one.debias_weight == self.debias_weight)
        scores = f"{self.score} {taken.score:.3f}, vanilla {self.vanilla.score:.3f}"
        leaks = f"leakage {taken.leakage:.3f}, vanilla {self.vanilla.leakage:.3f}, chance .500"
        when, what, cheap = "", f"{len(self.tried)} weights", self.cheap
        if len(self.looks) > len(self.tried):
            when = f", {self.stopped or f'after all {self.epochs} epochs'}"
            what = f"{len(self.looks)} looks at {what}"
        if not cheap:
            return (
                f"None of the {what} tried costs at most {self.cost:g} on the validation split: "
                f"{taken.debias_weight:g} is taken{when}, which costs least ({scores}; {leaks})."
            )
        of = f"of the {len(cheap)} out of {what} that cost at most {self.cost:g} on the validation split"
        if taken.leakage >= self.vanilla.leakage - ALIKE:
            return (
                f"{taken.debias_weight:g} is taken{when}, {of}, but none of these leaks clearly less than vanilla "
                f"({leaks}; {scores})."
            )
        least = taken.leakage == min(one.leakage for one in cheap)
        how = "leaks least" if least else f"has the highest {self.score} of those that leak least, by {ALIKE:g}"
        return f"{taken.debias_weight:g} is taken{when}: {of}, it {how} ({leaks}; {scores})."

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and words, for JSON."""
        several = {name: [asdict(one) for one in getattr(self, name)] for name in ("tried", "looks")}
        derived = {"why": self.why, "within": self.within}
        return {"rule": RULE} | asdict(self) | derived | several | {"lost": list(self.lost)}


def decide(
    vanilla: Tried,
    looks: Sequence[Tried],
    *,
    cost: float,
    score: str,
    rows: int,
    epochs: int = 1,
    lost: Sequence[float] = (),
) -> Choice:
    """The choice by the rule; ``looks`` has one at least."""
    taken = _taken(vanilla, looks, cost)
    assert taken.debias_weight is not None
    by_weight: dict[float, list[Tried]] = {}
    for one in sorted(looks, key=lambda one: one.order):
        by_weight.setdefault(one.order[0], []).append(one)
    tried = [
        taken if weight == taken.debias_weight else _taken(vanilla, several, cost)
        for weight, several in by_weight.items()
    ]
    return Choice(
        debias_weight=taken.debias_weight,
        epoch=epochs if taken.epoch is None else taken.epoch,
        epochs=epochs,
        cost=cost,
        score=score,
        rows=rows,
        vanilla=vanilla,
        tried=tuple(tried),
        looks=tuple(one for several in by_weight.values() for one in several),
        lost=tuple(sorted(lost)),
    )


def candidates(vanilla: Tried, looks: Sequence[Tried], cost: float) -> list[Tried]:
    """Those of the looks that the rule may still take, whatever is looked at later."""
    cheap = [one for one in looks if _cheap(one, vanilla, cost)]
    if not cheap:
        return [_taken(vanilla, looks, cost)] if looks else []
    least = min(one.leakage for one in cheap)
    near = [one for one in cheap if one.leakage <= least + ALIKE]
    return [one for one in near if not any(_always_before(other, one) for other in near)]


def _always_before(one: Tried, other: Tried) -> bool:
    """Whether the rule never takes the other, as it would rather take this one."""
    better = one.score > other.score or (one.score == other.score and one.order < other.order)
    return one.leakage <= other.leakage and better


def _taken(vanilla: Tried, looks: Sequence[Tried], cost: float) -> Tried:
    """The rule."""
    ordered = sorted(looks, key=lambda one: one.order)
    if not (cheap := [one for one in ordered if _cheap(one, vanilla, cost)]):
        return max(ordered, key=lambda one: one.score)
    least = min(one.leakage for one in cheap)
    return max((one for one in cheap if one.leakage <= least + ALIKE), key=lambda one: one.score)


def _cheap(one: Tried, vanilla: Tried, cost: float) -> bool:
    return vanilla.score - one.score <= cost + 1e-9
