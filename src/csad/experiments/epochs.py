"""Weights of epochs of runs that are looked at while they train: kept as long as one of them may be taken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from csad.training import checkpoint
from csad.training.checkpoint import State
from csad.training.log import Log

EPOCHS = "epochs"  # a folder of weights, in that of a run

Epochs = set[tuple[Path, int]]  # each with the folder of its run


def weights_after(folder: Path, epoch: int) -> Path:
    """Where the weights are kept with which a run would have ended after an epoch."""
    return folder / EPOCHS / f"{epoch}.safetensors"


class Keeper(ABC):
    """Sees to it that of each epoch that may be taken the weights are kept, and in the end of no others.

    What is looked at stands in the logs of the runs, which a training that was stopped takes up as they were.
    """

    @abstractmethod
    def read(self, folder: Path, log: Log) -> None:
        """Takes in what the log of a run now tells."""

    @abstractmethod
    def seen_epochs(self) -> Epochs:
        """All epochs that were taken in."""

    @abstractmethod
    def may_be_taken(self) -> Epochs:
        """Those of them that may be taken in the end."""

    def looked(self, epoch: int, logs: Sequence[Log], ended: Callable[[int], State]) -> None:
        """Keeps the weights of the runs that may be taken as they are now."""
        folders = [log.path.parent for log in logs if log.path]
        for folder, log in zip(folders, logs, strict=True):
            self.read(folder, log)
        wanted = self.may_be_taken()
        for number, folder in enumerate(folders):
            if (folder, epoch) in wanted:
                checkpoint.save(weights_after(folder, epoch), ended(number))

    def saved(self) -> None:
        """Lets go of weights that will not be taken: what speaks against them can no longer get lost."""
        for folder, epoch in self.seen_epochs() - self.may_be_taken():
            weights_after(folder, epoch).unlink(missing_ok=True)
