"""Looks at the runs that are tried, while they train: figures for the rule, and weights that it may come to take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor

from csad.experiments.choices.choice import Tried, candidates
from csad.experiments.folder import Folder
from csad.training import checkpoint
from csad.training.checkpoint import State
from csad.training.log import Log

EPOCHS = "epochs"  # a folder of weights, in that of a run that is tried
MOST_LOOKS = 10  # at a run, evenly over the epochs of its last stage; the last of them is at its end
SCORE, LEAKAGE = "score", "leakage"  # as a run's log calls them


def weights_after(folder: Path, epoch: int) -> Path:
    """Where the weights are kept with which a run would have ended after an epoch."""
    return folder / EPOCHS / f"{epoch}.safetensors"


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


class Looks:
    """Sees to it that of each look at a run that the rule may take, the weights are kept, and in the end of no others.

    What is looked at stands in the logs of the runs, which a training that was stopped takes up as they were.
    """

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

    def figures(self, out: Tensor) -> dict[str, float]:
        """Score and leakage; none of a run that no longer gives numbers."""
        if not bool(out.isfinite().all()):
            return {}
        score, leakage = self.scored(out)
        return {SCORE: score, LEAKAGE: leakage}

    def looked(self, epoch: int, logs: Sequence[Log], ended: Callable[[int], State]) -> None:
        """Keeps the weights of the runs that the rule may take as they are now."""
        folders = [log.path.parent for log in logs if log.path]
        for folder, log in zip(folders, logs, strict=True):
            self.seen[folder] = looks_in(log, self.weights[folder])
        alive = self._candidates()
        for number, folder in enumerate(folders):
            if any(look.epoch == epoch and look in alive for look in self.seen[folder]):
                checkpoint.save(weights_after(folder, epoch), ended(number))

    def saved(self) -> None:
        """Lets go of weights that the rule will not take: what speaks against them can no longer get lost."""
        alive = self._candidates()
        for folder, looks in self.seen.items():
            for look in looks:
                if look not in alive:
                    weights_after(folder, look.epoch or 0).unlink(missing_ok=True)

    def _candidates(self) -> list[Tried]:
        vanilla = self.vanilla()
        looks = [look for several in self.seen.values() for look in several]
        return candidates(vanilla, looks, self.cost) if vanilla else []
