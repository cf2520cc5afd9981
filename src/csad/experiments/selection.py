"""Which epoch of its last stage a run takes: the last, or the best by a figure of its validation rows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from csad.data.samples import Classes, Dataset
from csad.errors import InputError, unknown
from csad.experiments.epochs import EPOCHS, Epochs, Keeper, weights_after
from csad.experiments.run import figures_of
from csad.methods.method import Method
from csad.training import checkpoint
from csad.training.checkpoint import Place, State
from csad.training.device import Way
from csad.training.fit import fit
from csad.training.log import Log
from csad.training.stack import Alone
from csad.training.stages import Listener

LAST = "last epoch"  # the rule where train.select_by names no figure
HIGH = ("accuracy", "balanced_accuracy", "worst_group", "unbiased", "bias_conflicting", "auc", "auc_within", "ap", "f1")
LOW = ("mean_squared_error",)


@dataclass(frozen=True)
class Taken:
    """The epoch that is taken, and the figure that it has."""

    figure: str
    epoch: int
    value: float
    epochs: int  # of the last stage

    def __str__(self) -> str:
        best = "lowest" if self.figure in LOW else "highest"
        return f"epoch {self.epoch} of {self.epochs}, with the {best} {self.figure} on the validation split"


def taken_in(method: Method, log: Log) -> Taken | None:
    """What a run takes by its log; None where it is the last epoch, or nothing was seen yet."""
    figure, last = method.course.select_by, method.schedule()[-1]
    seen = _seen(log, figure, last.name) if figure else {}
    if not seen:
        return None
    epoch = (min if figure in LOW else max)(seen, key=lambda epoch: seen[epoch])  # of several the first
    return Taken(figure, epoch, seen[epoch], last.epochs)


def selection_of(method: Method, log: Log) -> str:
    """The rule by which a run's weights were taken, in words."""
    return str(taken_in(method, log) or LAST)


def _seen(log: Log, figure: str, stage: str) -> dict[int, float]:
    """The figure by epoch, the first being 1."""
    lines = [line for line in log.lines if line["stage"] == stage and figure in line.get("validation", {})]
    return {line["epoch"] + 1: line["validation"][figure] for line in lines}


def check_selectable(dataset: Dataset, method: Method) -> None:
    """Nothing, or an error where no epoch could be taken by the figure that is asked for."""
    figure = method.course.select_by
    if not figure:
        return
    by = f"train.select_by={figure} takes an epoch of the last stage by rows that are not trained on, but"
    if "validation" not in dataset.splits:
        raise InputError(f"{by} there is no validation split: hold some rows out, or leave it out for the last epoch.")
    if not method.schedule()[-1].epochs:
        raise InputError(f"{by} that stage has no epoch: set train.epochs to 1 or more.")
    rows = dataset.splits["validation"]
    classes = dataset.task.target.count if isinstance(dataset.task.target, Classes) else 1
    there = figures_of(torch.zeros(len(rows), classes), rows, dataset.task)  # which there are is told by the rows
    if figure not in (allowed := there.keys() & {*HIGH, *LOW}):
        raise unknown("figure of the validation split by which an epoch can be taken", figure, allowed)


class BestEpochs(Keeper):
    """Looks at runs after each epoch of their last stage, and keeps the weights of the best so far of each."""

    def __init__(self, methods: Sequence[Method], datasets: Sequence[Dataset]) -> None:
        self.methods, self.datasets = methods, datasets
        self.figure, self.stage = methods[0].course.select_by, methods[0].schedule()[-1].name
        self.logs: dict[Path, Log] = {}

    def due(self, epoch: int, epochs: int) -> bool:
        """After each epoch."""
        return True

    def figures(self, number: int, out: Tensor) -> dict[str, float]:
        """The figure; none of a run that no longer gives numbers."""
        if not bool(out.isfinite().all()):
            return {}
        dataset = self.datasets[number]
        found = figures_of(out.detach().cpu(), dataset.splits["validation"], dataset.task)
        return {self.figure: found[self.figure]}

    def read(self, folder: Path, log: Log) -> None:
        """Takes in the log of a run."""
        self.logs[folder] = log

    def seen_epochs(self) -> Epochs:
        """All epochs of all runs."""
        return {(folder, epoch) for folder, log in self.logs.items() for epoch in _seen(log, self.figure, self.stage)}

    def may_be_taken(self) -> Epochs:
        """The best epoch so far of each run."""
        found = {folder: taken_in(self.methods[0], log) for folder, log in self.logs.items()}
        return {(folder, taken.epoch) for folder, taken in found.items() if taken}


def best_epochs(methods: Sequence[Method], datasets: Sequence[Dataset]) -> BestEpochs | None:
    """Who looks at runs that are one program, if they are to take their best epoch."""
    return BestEpochs(methods, datasets) if methods[0].course.select_by else None


def state_taken(method: Method, log: Log, otherwise: State) -> State:
    """The state with which a run ends whose training is over: that of the epoch that it takes."""
    taken = taken_in(method, log)
    if taken is None or log.path is None:
        return otherwise
    # The place stays the end: from there no one trains on, and the log keeps what came after that epoch.
    return replace(checkpoint.load(weights_after(log.path.parent, taken.epoch)), place=otherwise.place)


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
) -> None:
    """Trains a run by itself; the method then has the weights of the epoch that is taken, and so has ``keep``."""
    best = best_epochs([method], [dataset])
    with tempfile.TemporaryDirectory() if best and not log.path else nullcontext() as scratch:
        own = Log(Path(scratch) / "log.jsonl") if scratch else log  # weights of epochs lie beside a log
        fit(method, dataset, listener, way, seed=seed, log=own, keep=keep, resume=resume, onlooker=best)
        log.lines = own.lines
        if best:
            ended = State(checkpoint.place_in(keep) if keep else Place(), Alone(method).state, {})
            taken = state_taken(method, own, ended)
            checkpoint.put(taken.weights, ended.weights)
            if keep:
                checkpoint.save(keep, taken)


def forget_epochs(folder: Path) -> None:
    """Removes the weights that were kept of epochs, once the run has its result."""
    shutil.rmtree(folder / EPOCHS, ignore_errors=True)
