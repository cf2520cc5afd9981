"""Which weights are tried: a ladder of multiples of the default, which goes on upward as long as that may pay."""

from __future__ import annotations

from csad.auditing.verdicts import CHANCE
from csad.experiments.choices.choice import ALIKE, Choice

# Times the default of the method on data of this kind. The first five are always tried, as one program; each of the
# others only where those before have left something to gain.
LADDER = ((0.1, 0.3, 1.0, 3.0, 10.0), (30.0, 100.0), (300.0, 1000.0))


def weights_on(default: float, rungs: tuple[float, ...]) -> list[float]:
    """The weights of some rungs."""
    return [float(f"{rung * default:.6g}") for rung in rungs]


def why_higher(choice: Choice) -> str:
    """Why larger weights may be better than all that were tried, as a sentence begins; empty where they cannot be.

    The largest, trained to its end, is cheap still, so that a larger one may be too; and nothing that is cheap leaks as
    little as chance. Of a run that was stopped early this would tell little: nearly any weight is cheap at first.
    """
    largest = choice.looks[-1]
    diverged = choice.lost and choice.lost[-1] > (largest.debias_weight or 0.0)
    if diverged or largest.epoch not in (None, choice.epochs) or not choice.affords(largest):
        return ""
    least = min(one.leakage for one in choice.cheap)
    if least <= CHANCE + ALIKE:
        return ""
    return f"{largest.debias_weight:g} costs no more than {choice.cost:g} still, and all that do leak ({least:.3f})"
