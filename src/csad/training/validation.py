"""The validation split after each epoch: how well runs would do if their training ended there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.func import functional_call

from csad.data.samples import Classes, Dataset
from csad.methods.method import Method
from csad.training.batches import Batches
from csad.training.checkpoint import State
from csad.training.log import Log
from csad.training.stacking import Runs, in_mode


class EpochCallback(Protocol):
    """Called after some epochs of the last stage; it may keep the weights that runs would have if they ended there."""

    def due(self, epoch: int, epochs: int) -> bool:
        """Whether to be called after this epoch; the first is 1."""

    def metrics(self, number: int, out: Tensor) -> dict[str, float]:
        """Metrics for a run's log, by its number, from its outputs (n, classes) for its validation rows."""

    def on_epoch(self, epoch: int, logs: Sequence[Log], final_state: Callable[[int], State]) -> None:
        """Called once the logs of these runs hold the metrics.

        Args:
            epoch: The epoch that has ended; the first is 1.
            logs: The logs of the runs that have not diverged.
            final_state: Gives the state with which a run would end here, by its place in ``logs``.
        """

    def on_save(self) -> None:
        """Called whenever the training has been saved: whatever happens now, earlier epochs stay as they are."""


@dataclass(frozen=True)
class ValidationMonitor:
    """The validation rows of runs, and the callback that reads the runs' outputs for them."""

    batches: Batches
    callback: EpochCallback | None = None

    def metrics(self, runs: Runs, living: Sequence[int], *, due: bool) -> dict[int, dict[str, float]]:
        """The metrics of each run that has not diverged, with those of the callback if it is ``due``."""
        out = outputs(runs, self.batches)
        values = metrics(runs, self.batches, out)
        by_run = {k: {name: value[k] for name, value in values.items()} for k in living}
        if self.callback and due:
            for k, of_run in by_run.items():
                of_run |= self.callback.metrics(k, out[k] if len(runs.methods) > 1 else out)
        return by_run


def held_out(datasets: Sequence[Dataset]) -> list[Dataset]:
    """The data sets with their validation rows as training rows; none if one of them has no such split."""
    if any("validation" not in dataset.splits for dataset in datasets):
        return []
    # The same object for the same data set: a stack stores it once.
    distinct = {id(d): replace(d, splits={"train": d.splits["validation"]}) for d in datasets}
    return [distinct[id(dataset)] for dataset in datasets]


@torch.no_grad()
def outputs(runs: Runs, batches: Batches) -> Tensor:
    """The outputs of each run for these rows if its training ended here: (n, classes), for many (R, n, classes)."""
    axis = batches.rows.ndim - 1
    predict = _final_prediction(runs.method)
    with in_mode(runs.method, training=False):
        chunks = torch.split(batches.rows, batches.chunk, dim=axis)
        return torch.cat([runs.call(predict, batches.take(rows).x) for rows in chunks], dim=axis)


def metrics(runs: Runs, batches: Batches, out: Tensor) -> dict[str, list[float]]:
    """Accuracy, or the mean squared error of numbers, of each run from its outputs for these rows."""
    y = batches.labels(batches.rows)[0]
    if isinstance(runs.method.task.target, Classes):
        return {"accuracy": runs.each((out.argmax(-1) == y).double().mean(-1))}
    return {"mean_squared_error": runs.each((out[..., 0] - y).square().double().mean(-1))}


def _final_prediction(method: Method) -> Any:
    """The method's predict with the weights that it would have if its training ended here."""

    def predict(x: Tensor) -> Any:
        if not (final := method.final_weights()):
            return method.predict(x)
        return functional_call(method, {**method.named_tensors(), **final}, (method.predict, x))

    return predict
