"""Which epoch of its last stage a run takes: the last, or the best by a metric of its validation rows."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from csad.auditing.metrics.metric import METRICS
from csad.data.samples import Classes, Dataset
from csad.deploy.decision import HALF
from csad.errors import InputError, unknown
from csad.methods.method import Method
from csad.runs.evaluate import output_metrics
from csad.runs.threshold import classes_at
from csad.training import checkpoint
from csad.training.checkpoint import State
from csad.training.log import Log

EPOCHS = "epochs"  # a folder of weights, in that of a run
LAST = "last epoch"
KEY = "select_by"  # the metric's name in a run's log: by its own name it may be there for other stages, too

Epochs = set[tuple[Path, int]]  # each with the folder of its run


def weights_after(folder: Path, epoch: int) -> Path:
    """The file of the weights with which a run would have ended after an epoch."""
    return folder / EPOCHS / f"{epoch}.safetensors"


class EpochWeightsCallback(ABC):
    """Keeps the weights of each epoch that may be taken, and removes those of epochs that can no longer be.

    What it knows of the epochs is in the logs of the runs, so that a training that was stopped can be resumed.
    """

    @abstractmethod
    def read(self, folder: Path, log: Log) -> None:
        """Read the epochs of a run from its log."""

    @abstractmethod
    def known_epochs(self) -> Epochs:
        """All epochs that were read."""

    @abstractmethod
    def may_be_taken(self) -> Epochs:
        """Those of them that may be taken in the end."""

    def on_epoch(self, epoch: int, logs: Sequence[Log], final_state: Callable[[int], State]) -> None:
        """Save the present weights of the runs that may be taken with them."""
        folders = [log.path.parent for log in logs if log.path]
        for folder, log in zip(folders, logs, strict=True):
            self.read(folder, log)
        candidates = self.may_be_taken()
        for number, folder in enumerate(folders):
            if (folder, epoch) in candidates:
                checkpoint.save(weights_after(folder, epoch), final_state(number))

    def on_save(self) -> None:
        """Remove weights that will not be taken, once the logs that speak against them are safe."""
        for folder, epoch in self.known_epochs() - self.may_be_taken():
            weights_after(folder, epoch).unlink(missing_ok=True)


def rule_of(metric: str) -> str:
    """The rule in words; without a metric it is the last epoch."""
    return f"epoch with the {_best(metric)} {metric} on the validation split" if metric else LAST


def _best(metric: str) -> str:
    return "lowest" if METRICS.lower_is_better(metric) else "highest"


@dataclass(frozen=True)
class BestEpoch:
    """The epoch that a run takes by a metric."""

    metric: str
    epoch: int
    epochs: int  # of the last stage

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch} of {self.epochs}, with the {_best(self.metric)} {self.metric} on the validation split"
        )


def best_epoch(method: Method, log: Log) -> BestEpoch | None:
    """The best epoch by a run's log; None if the run takes the last epoch, or no epoch was measured yet."""
    metric, values = method.course.select_by, _values(log)
    if not metric or not values:
        return None
    best = min if METRICS.lower_is_better(metric) else max
    epoch = best(values, key=lambda epoch: values[epoch])  # of several the first
    return BestEpoch(metric, epoch, method.schedule()[-1].epochs)


def selection_of(method: Method, log: Log) -> str:
    """By which rule a run's weights were taken, in words."""
    if method.course.select_by and not _values(log):
        return f"{LAST}: no epoch gave a valid metric on the validation split"
    return str(best_epoch(method, log) or LAST)


def _values(log: Log) -> dict[int, float]:
    """The metric by epoch of the last stage, the first being 1."""
    return {line["epoch"] + 1: line["validation"][KEY] for line in log.lines if KEY in line.get("validation", {})}


def check_selectable(dataset: Dataset, method: Method) -> None:
    """Raise InputError if no epoch could be taken by the metric of ``train.select_by``."""
    metric = method.course.select_by
    if not metric:
        return
    if "validation" not in dataset.splits:
        raise InputError("select-by-without-validation", metric=metric)
    if not method.schedule()[-1].epochs:
        raise InputError("select-by-without-epochs", metric=metric)
    rows = dataset.splits["validation"]
    classes = dataset.task.target.count if isinstance(dataset.task.target, Classes) else 1
    available = output_metrics(torch.zeros(len(rows), classes), rows, dataset.task)  # the rows decide which there are
    if METRICS.canonical(metric) not in (allowed := {name for name in available if METRICS[name].selects}):
        raise unknown("validation metric for train.select_by", metric, allowed)


class BestEpochs(EpochWeightsCallback):
    """Measures runs after each epoch of their last stage, and keeps the weights of the best so far of each."""

    def __init__(
        self, methods: Sequence[Method], datasets: Sequence[Dataset], thresholds: Sequence[float | None]
    ) -> None:
        self.methods, self.datasets, self.thresholds = methods, datasets, thresholds
        self.logs: dict[Path, Log] = {}

    def due(self, epoch: int, epochs: int) -> bool:
        """True: after each epoch."""
        return True

    def metrics(self, number: int, out: Tensor) -> dict[str, float]:
        """The metric at the threshold that the run would have; none if the run no longer gives numbers."""
        if not bool(out.isfinite().all()):
            return {}
        out, dataset, threshold = out.detach().cpu(), self.datasets[number], self.thresholds[number]
        rows = dataset.splits["validation"]
        classes = None if threshold == HALF else classes_at(out.softmax(1).numpy(), rows.y.cpu().numpy(), threshold)
        metric = METRICS.canonical(self.methods[number].course.select_by)
        return {KEY: output_metrics(out, rows, dataset.task, classes, only=[metric])[metric]}

    def read(self, folder: Path, log: Log) -> None:
        """Remember the log of a run."""
        self.logs[folder] = log

    def known_epochs(self) -> Epochs:
        """All epochs of all runs."""
        return {(folder, epoch) for folder, log in self.logs.items() for epoch in _values(log)}

    def may_be_taken(self) -> Epochs:
        """The best epoch so far of each run."""
        best = {folder: best_epoch(self.methods[0], log) for folder, log in self.logs.items()}
        return {(folder, choice.epoch) for folder, choice in best.items() if choice}


def best_weights(method: Method, log: Log) -> dict[str, Tensor] | None:
    """The weights of the epoch that a run takes; None if it takes the last."""
    best = best_epoch(method, log)
    if best is None or log.path is None:
        return None
    return checkpoint.read_checkpoint(weights_after(log.path.parent, best.epoch)).weights


def best_state(method: Method, log: Log, end: State) -> State:
    """The state that is left of a run whose training came to its ``end``: that of the epoch that it takes.

    A state without optimizers, which only resuming needs, is that already. The place stays the end: nobody trains on
    from there, and the log keeps what came after the epoch.
    """
    weights = best_weights(method, log) if end.optimizers else None
    return State(end.place, weights, {}) if weights else end


def forget_epochs(folder: Path, method: Method) -> None:
    """Remove the weights of epochs among which a run chose, once it has its result."""
    if method.course.select_by:
        shutil.rmtree(folder / EPOCHS, ignore_errors=True)
