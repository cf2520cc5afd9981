"""The rule by which debias_weight (λ) and the epoch are chosen among trials, and the weights that are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from csad.auditing.leakage.verdicts import CHANCE

ALIKE = 0.01  # of an AUC: less is noise in any validation split
RULE = (
    "Each weight is measured on the validation split after some epochs of the last stage. Among those whose "
    "score is at most the allowed cost below the score of vanilla, take the one with the least leakage; among "
    f"those within {ALIKE:g} of the least leakage, take the one with the highest score. If all cost more, take "
    "the one that costs least."
)


@dataclass(frozen=True)
class Trial:
    """Score and leakage of one training on the validation split, after so many epochs of its last stage."""

    debias_weight: float | None  # None: vanilla, which has none
    score: float  # balanced accuracy; of a number the share of its variance that is explained
    leakage: float  # AUC of a linear probe for the bias in the prediction, among rows of the same target
    epoch: int | None = None  # None: vanilla, which is trained to its end

    @property
    def order(self) -> tuple[float, int]:
        """Of equally good trials the one with the smallest weight is taken, then the one with the fewest epochs."""
        return self.debias_weight or 0.0, self.epoch or 0


@dataclass(frozen=True)
class Choice:
    """The chosen weight and epoch, and all trials.

    ``tried`` holds for each weight the trial that the rule would take if there were no other weight; ``looks`` all.
    """

    debias_weight: float
    epoch: int
    epochs: int  # of the last stage, had it not been stopped
    cost: float  # that was allowed
    score: str  # the name of the score
    rows: int  # of the validation split
    vanilla: Trial
    tried: tuple[Trial, ...]
    looks: tuple[Trial, ...]
    lost: tuple[float, ...]  # weights whose training diverged before anything could be measured

    @property
    def stopped(self) -> str:
        """When the chosen run was stopped; empty if it came to its end."""
        return f"stopped after epoch {self.epoch} of {self.epochs}" if self.epoch < self.epochs else ""

    def affords(self, trial: Trial) -> bool:
        """Whether a trial costs no more than it may."""
        return _is_cheap(trial, self.vanilla, self.cost)

    @property
    def cheap(self) -> list[Trial]:
        """The trials that cost no more than they may."""
        return [trial for trial in self.looks if self.affords(trial)]

    @property
    def within(self) -> bool:
        """Whether the chosen trial costs no more than it may."""
        return bool(self.cheap)

    @property
    def why(self) -> str:
        """A sentence on why this weight and this epoch were chosen."""
        best = next(trial for trial in self.tried if trial.debias_weight == self.debias_weight)
        scores = f"{self.score} {best.score:.3f}, vanilla {self.vanilla.score:.3f}"
        leaks = f"leakage AUC {best.leakage:.3f}, vanilla {self.vanilla.leakage:.3f}, chance .500"
        when, what, cheap = "", f"{len(self.tried)} weight{'s' * (len(self.tried) > 1)}", self.cheap
        if len(self.looks) > len(self.tried):
            when = f", {self.stopped or f'after all {self.epochs} epochs'}"
            what = f"{len(self.looks)} looks at {what}"
        if not cheap:
            return (
                f"None of the {what} tried costs at most {self.cost:g} on the validation split. "
                f"{best.debias_weight:g} is chosen{when}, because it costs least ({scores}; {leaks})."
            )
        of = f"among the {len(cheap)} out of {what} with a cost of at most {self.cost:g} on the validation split"
        if best.leakage >= self.vanilla.leakage - ALIKE:
            return (
                f"{best.debias_weight:g} is chosen{when}, {of}, but none of these leaks clearly less than vanilla "
                f"({leaks}; {scores})."
            )
        least = best.leakage == min(trial.leakage for trial in cheap)
        how = (
            "leaks least"
            if least
            else f"has the highest {self.score} of all whose leakage is within {ALIKE:g} of the least,"
        )
        return f"{best.debias_weight:g} is chosen{when}: it {how} {of} ({leaks}; {scores})."

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and words, for JSON."""
        trials = {name: [asdict(trial) for trial in getattr(self, name)] for name in ("tried", "looks")}
        derived = {"why": self.why, "within": self.within}
        return {"rule": RULE} | asdict(self) | derived | trials | {"lost": list(self.lost)}


def decide(
    vanilla: Trial,
    looks: Sequence[Trial],
    *,
    cost: float,
    score: str,
    rows: int,
    epochs: int = 1,
    lost: Sequence[float] = (),
) -> Choice:
    """Choose among the trials by the rule; ``looks`` holds one at least."""
    best = _best(vanilla, looks, cost)
    assert best.debias_weight is not None
    by_weight: dict[float, list[Trial]] = {}
    for trial in sorted(looks, key=lambda trial: trial.order):
        by_weight.setdefault(trial.order[0], []).append(trial)
    tried = [
        best if weight == best.debias_weight else _best(vanilla, trials, cost) for weight, trials in by_weight.items()
    ]
    return Choice(
        debias_weight=best.debias_weight,
        epoch=epochs if best.epoch is None else best.epoch,
        epochs=epochs,
        cost=cost,
        score=score,
        rows=rows,
        vanilla=vanilla,
        tried=tuple(tried),
        looks=tuple(trial for trials in by_weight.values() for trial in trials),
        lost=tuple(sorted(lost)),
    )


def candidates(vanilla: Trial, trials: Sequence[Trial], cost: float) -> list[Trial]:
    """The trials that the rule may still choose, whatever trials come later."""
    cheap = [trial for trial in trials if _is_cheap(trial, vanilla, cost)]
    if not cheap:
        return [_best(vanilla, trials, cost)] if trials else []
    least = min(trial.leakage for trial in cheap)
    near = [trial for trial in cheap if trial.leakage <= least + ALIKE]
    return [trial for trial in near if not any(_always_before(other, trial) for other in near)]


def _always_before(trial: Trial, other: Trial) -> bool:
    """Whether the rule never chooses the other, since it prefers this trial."""
    better = trial.score > other.score or (trial.score == other.score and trial.order < other.order)
    return trial.leakage <= other.leakage and better


def _best(vanilla: Trial, trials: Sequence[Trial], cost: float) -> Trial:
    """The trial that the rule chooses."""
    ordered = sorted(trials, key=lambda trial: trial.order)
    if not (cheap := [trial for trial in ordered if _is_cheap(trial, vanilla, cost)]):
        return max(ordered, key=lambda trial: trial.score)
    least = min(trial.leakage for trial in cheap)
    return max((trial for trial in cheap if trial.leakage <= least + ALIKE), key=lambda trial: trial.score)


def _is_cheap(trial: Trial, vanilla: Trial, cost: float) -> bool:
    return vanilla.score - trial.score <= cost + 1e-9


# Times the default of the method on data of this kind. The first five are always tried, as one program; each of the
# others only if those before have left something to gain.
MULTIPLIERS = ((0.1, 0.3, 1.0, 3.0, 10.0), (30.0, 100.0), (300.0, 1000.0))


def weights_on(default: float, multipliers: tuple[float, ...]) -> list[float]:
    """The weights at these multiples of the default."""
    return [float(f"{multiplier * default:.6g}") for multiplier in multipliers]


def why_higher(choice: Choice) -> str:
    """Why larger weights may be better than all that were tried, as the beginning of a sentence; empty if they are not.

    The largest, trained to its end, is still cheap, so that a larger one may be too; and no cheap trial leaks as
    little as chance. A run that was stopped early says little: nearly any weight is cheap at first.
    """
    largest = choice.looks[-1]
    diverged = choice.lost and choice.lost[-1] > (largest.debias_weight or 0.0)
    if diverged or largest.epoch not in (None, choice.epochs) or not choice.affords(largest):
        return ""
    least = min(trial.leakage for trial in choice.cheap)
    if least <= CHANCE + ALIKE:
        return ""
    return (
        f"Even the largest weight, {largest.debias_weight:g}, costs at most {choice.cost:g}, but every weight at this "
        f"cost still leaks (AUC {least:.3f} or more)"
    )
