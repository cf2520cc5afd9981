"""Which epoch of its last stage a run takes: the last, or the best by a figure of its validation rows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from csad.data.samples import Classes, Dataset
from csad.deploy.decision import HALF
from csad.errors import InputError, unknown
from csad.experiments.epochs import EPOCHS, Epochs, Keeper, weights_after
from csad.experiments.run import figures_of
from csad.experiments.threshold import said_by
from csad.methods.method import Method
from csad.training import checkpoint
from csad.training.checkpoint import State
from csad.training.device import Way
from csad.training.fit import fit
from csad.training.log import Log
from csad.training.stack import Alone
from csad.training.stages import Listener
from csad.training.watch import Onlooker

LAST = "last epoch"
HIGH = ("accuracy", "balanced_accuracy", "worst_group", "unbiased", "bias_conflicting", "auc", "auc_within", "ap", "f1")
LOW = ("mean_squared_error",)
KEY = "select_by"  # as a run's log calls the figure: by its own name it may stand there for other stages, too


def rule_of(figure: str) -> str:
    """The rule in words; no figure stands for the last epoch."""
    return f"epoch with the {_best(figure)} {figure} on the validation split" if figure else LAST


def _best(figure: str) -> str:
    return "lowest" if figure in LOW else "highest"


@dataclass(frozen=True)
class Taken:
    """The epoch that is taken, by the figure that it has."""

    figure: str
    epoch: int
    epochs: int  # of the last stage

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch} of {self.epochs}, with the {_best(self.figure)} {self.figure} on the validation split"
        )


def taken_in(method: Method, log: Log) -> Taken | None:
    """What a run takes by its log; None where it is the last epoch, or nothing was seen yet."""
    figure, seen = method.course.select_by, _seen(log)
    if not figure or not seen:
        return None
    epoch = (min if figure in LOW else max)(seen, key=lambda epoch: seen[epoch])  # of several the first
    return Taken(figure, epoch, method.schedule()[-1].epochs)


def selection_of(method: Method, log: Log) -> str:
    """By what a run's weights were taken, in words."""
    if method.course.select_by and not _seen(log):
        return f"{LAST}: after none did it give numbers for the validation split"
    return str(taken_in(method, log) or LAST)


def _seen(log: Log) -> dict[int, float]:
    """The figure by epoch of the last stage, the first being 1."""
    return {line["epoch"] + 1: line["validation"][KEY] for line in log.lines if KEY in line.get("validation", {})}


def check_selectable(dataset: Dataset, method: Method) -> None:
    """Nothing, or an error where no epoch could be taken by the figure that is asked for."""
    figure = method.course.select_by
    if not figure:
        return
    by = f"train.select_by={figure} takes an epoch of the last stage by rows that are not trained on, but"
    if "validation" not in dataset.splits:
        raise InputError(
            f"{by} there is no validation split: hold rows out (data.validation, --split), or leave it out for "
            "the last epoch."
        )
    if not method.schedule()[-1].epochs:
        raise InputError(f"{by} that stage has no epoch: set train.epochs to 1 or more.")
    rows = dataset.splits["validation"]
    classes = dataset.task.target.count if isinstance(dataset.task.target, Classes) else 1
    there = figures_of(torch.zeros(len(rows), classes), rows, dataset.task)  # which there are is told by the rows
    if figure not in (allowed := there.keys() & {*HIGH, *LOW}):
        raise unknown("figure of the validation split by which an epoch can be taken", figure, allowed)


class BestEpochs(Keeper):
    """Looks at runs after each epoch of their last stage, and keeps the weights of the best so far of each."""

    def __init__(
        self, methods: Sequence[Method], datasets: Sequence[Dataset], thresholds: Sequence[float | None]
    ) -> None:
        self.methods, self.datasets, self.thresholds = methods, datasets, thresholds
        self.logs: dict[Path, Log] = {}

    def due(self, epoch: int, epochs: int) -> bool:
        """After each epoch."""
        return True

    def figures(self, number: int, out: Tensor) -> dict[str, float]:
        """The figure, with the threshold that the run would have; none of a run that no longer gives numbers."""
        if not bool(out.isfinite().all()):
            return {}
        out, dataset, threshold = out.detach().cpu(), self.datasets[number], self.thresholds[number]
        rows = dataset.splits["validation"]
        said = None if threshold == HALF else said_by(out.softmax(1).numpy(), rows.y.cpu().numpy(), threshold)
        figure = self.methods[number].course.select_by
        return {KEY: figures_of(out, rows, dataset.task, said, wanted=[figure])[figure]}

    def read(self, folder: Path, log: Log) -> None:
        """Takes in the log of a run."""
        self.logs[folder] = log

    def seen_epochs(self) -> Epochs:
        """All epochs of all runs."""
        return {(folder, epoch) for folder, log in self.logs.items() for epoch in _seen(log)}

    def may_be_taken(self) -> Epochs:
        """The best epoch so far of each run."""
        found = {folder: taken_in(self.methods[0], log) for folder, log in self.logs.items()}
        return {(folder, taken.epoch) for folder, taken in found.items() if taken}


def best_epochs(
    methods: Sequence[Method], datasets: Sequence[Dataset], thresholds: Sequence[float | None]
) -> BestEpochs | None:
    """Who looks at runs that are one program, if they are to take their best epoch."""
    return BestEpochs(methods, datasets, thresholds) if methods[0].course.select_by else None


def state_taken(method: Method, log: Log, ended: State) -> State:
    """The state that is left of a run whose training has ``ended``: that of the epoch that it takes.

    A state without optimisers, which only going on needs, is already that. The place stays the end: no one trains on
    from there, and the log keeps what came after the epoch.
    """
    weights = _weights_taken(method, log) if ended.optimisers else None
    return State(ended.place, weights, {}) if weights else ended


def _weights_taken(method: Method, log: Log) -> dict[str, Tensor] | None:
    """The weights of the epoch that a run takes; None where it is the last."""
    taken = taken_in(method, log)
    if taken is None or log.path is None:
        return None
    return checkpoint.load(weights_after(log.path.parent, taken.epoch)).weights


def fit_selecting(
    method: Method,
    dataset: Dataset,
    listener: Listener,
    way: Way,
    *,
    seed: int,
    log: Log,
    keep: Path | None,
    resume: bool,
    onlooker: Onlooker | None,
) -> None:
    """Trains a run by itself; the method then has the weights of the epoch that is taken, and so has ``keep``."""
    selects = bool(method.course.select_by)
    with tempfile.TemporaryDirectory() if selects and not log.path else nullcontext() as scratch:
        own = Log(Path(scratch) / "log.jsonl") if scratch else log  # weights of epochs lie beside a log
        fit(method, dataset, listener, way, seed=seed, log=own, keep=keep, resume=resume, onlooker=onlooker)
        log.lines = own.lines
        if not selects:
            return
        if keep:
            state = state_taken(method, own, checkpoint.load(keep))
            checkpoint.save(keep, state)
            weights: dict[str, Tensor] | None = state.weights
        else:
            weights = _weights_taken(method, own)
        if weights:
            checkpoint.put(weights, Alone(method).state)


def forget_epochs(folder: Path, method: Method) -> None:
    """Removes the weights that were kept of epochs by which a run takes one, once it has its result."""
    if method.course.select_by:
        shutil.rmtree(folder / EPOCHS, ignore_errors=True)
