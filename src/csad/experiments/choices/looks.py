"""Looks at the runs that are tried, while they train: figures for the rule, and weights that it may come to take."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from csad.experiments.choices.choice import Tried, candidates
from csad.experiments.epochs import Epochs, Keeper
from csad.experiments.folder import Folder
from csad.training.log import Log

MOST_LOOKS = 10  # at a run, evenly over the epochs of its last stage; the last of them is at its end
SCORE, LEAKAGE = "score", "leakage"  # as a run's log calls them


def looks_in(log: Log, weight: float) -> list[Tried]:
    """What was seen of a run with that weight, by its log."""
    lines = [line for line in log.lines if LEAKAGE in line.get("validation", {})]
    figures = [line["validation"] for line in lines]
    return [
        Tried(weight, own[SCORE], own[LEAKAGE], line["epoch"] + 1) for line, own in zip(lines, figures, strict=True)
    ]


def until(log: Log, epoch: int, epochs: int) -> Log:
    """The log, in memory, of a run that is stopped after an epoch of its last stage; the file stays as it is."""
    found = Log(log.path)
    found.path = None
    seen = [line for line in found.lines if LEAKAGE in line.get("validation", {}) and line["epoch"] + 1 == epoch]
    if seen and epoch < epochs:
        found.cut(seen[-1]["step"] + 1)
        place = {name: seen[-1][name] for name in ("stage", "epoch", "step")}
        found.write({**place, "stopped": f"after epoch {epoch} of {epochs}, as chosen on the validation split"})
    return found


class Looks(Keeper):
    """Looks at the runs that are tried for a choice, and keeps the weights that its rule may take."""

    def __init__(
        self, scored: Callable[[Tensor], tuple[float, float]], cost: float, vanilla: Callable[[], Tried | None]
    ) -> None:
        self.scored, self.cost, self.vanilla = scored, cost, vanilla
        self.weights: dict[Path, float] = {}  # by the folder of the run
        self.seen: dict[Path, list[Tried]] = {}

    def add(self, folder: Folder, weight: float, *, over: bool) -> None:
        """A run that will be looked at; one whose training is ``over`` has been."""
        self.weights[folder.path] = weight
        self.seen[folder.path] = looks_in(Log(folder.log), weight) if over else []

    def due(self, epoch: int, epochs: int) -> bool:
        """After each epoch, or after so many as may be."""
        count = min(epochs, MOST_LOOKS)
        return epoch in {math.ceil(epochs * number / count) for number in range(1, count + 1)}

    def figures(self, number: int, out: Tensor) -> dict[str, float]:
        """Score and leakage, the same for all runs; none of a run that no longer gives numbers."""
        if not bool(out.isfinite().all()):
            return {}
        score, leakage = self.scored(out)
        return {SCORE: score, LEAKAGE: leakage}

    def read(self, folder: Path, log: Log) -> None:
        """Takes in what was seen of a run."""
        self.seen[folder] = looks_in(log, self.weights[folder])

    def seen_epochs(self) -> Epochs:
        """All looks."""
        return {(folder, look.epoch or 0) for folder, own in self.seen.items() for look in own}

    def may_be_taken(self) -> Epochs:
        """The looks that the rule may take, whatever is seen later."""
        vanilla = self.vanilla()
        looks = [look for several in self.seen.values() for look in several]
        alive = candidates(vanilla, looks, self.cost) if vanilla else []
        return {(folder, look.epoch or 0) for folder, own in self.seen.items() for look in own if look in alive}
