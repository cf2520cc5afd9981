"""What runs would be if their training ended after an epoch: how well they do on the validation split by then."""

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
from csad.training.stack import Runs, in_mode


class Onlooker(Protocol):
    """Looks at runs after some epochs of their last stage, and may keep what they would be if they ended there."""

    def due(self, epoch: int, epochs: int) -> bool:
        """Whether to look after this epoch, the first being 1."""

    def figures(self, number: int, out: Tensor) -> dict[str, float]:
        """Figures of a run by its number, which gives ``out`` (n, classes) for its validation rows, for its log."""

    def looked(self, epoch: int, logs: Sequence[Log], ended: Callable[[int], State]) -> None:
        """Called once these runs' logs have the figures; ``ended`` gives the state with which a run would end here."""

    def saved(self) -> None:
        """Called once the training has been saved, if it is: what was looked at stays as it is, whatever happens."""


@dataclass(frozen=True)
class Watch:
    """The validation rows of runs, and who looks at the runs' outputs for them."""

    batches: Batches
    onlooker: Onlooker | None = None

    def figures(self, runs: Runs, living: Sequence[int], *, looks: bool) -> dict[int, dict[str, float]]:
        """The figures of each run that is not lost; those of the onlooker too where it ``looks``."""
        out = outputs(runs, self.batches)
        values = figures(runs, self.batches, out)
        found = {k: {name: value[k] for name, value in values.items()} for k in living}
        if self.onlooker and looks:
            for k, own in found.items():
                own |= self.onlooker.figures(k, out[k] if len(runs.methods) > 1 else out)
        return found


def held_out(datasets: Sequence[Dataset]) -> list[Dataset]:
    """The data sets with the validation rows in place of the training rows; none where one has no such split."""
    if any("validation" not in dataset.splits for dataset in datasets):
        return []
    # The same object for the same data set: a stack holds it once.
    found = {id(d): replace(d, splits={"train": d.splits["validation"]}) for d in datasets}
    return [found[id(dataset)] for dataset in datasets]


@torch.no_grad()
def outputs(runs: Runs, batches: Batches) -> Tensor:
    """What each run would say of these rows if its training ended here: (n, classes), of many (R, n, classes)."""
    axis = batches.rows.ndim - 1
    piece = _kept_prediction(runs.method)
    with in_mode(runs.method, training=False):
        chunks = torch.split(batches.rows, batches.chunk, dim=axis)
        return torch.cat([runs.call(piece, batches.take(rows).x) for rows in chunks], dim=axis)


def figures(runs: Runs, batches: Batches, out: Tensor) -> dict[str, list[float]]:
    """Accuracy, or the mean squared error of numbers, of each run by what it says of these rows."""
    y = batches.labels(batches.rows)[0]
    if isinstance(runs.method.task.target, Classes):
        return {"accuracy": runs.each((out.argmax(-1) == y).double().mean(-1))}
    return {"mean_squared_error": runs.each((out[..., 0] - y).square().double().mean(-1))}


def _kept_prediction(method: Method) -> Any:
    """What the method would predict if its training ended here."""

    def predict(x: Tensor) -> Any:
        if not (settled := method.settled()):
            return method.predict(x)
        state = {**dict(method.named_parameters()), **dict(method.named_buffers()), **settled}
        return functional_call(method, state, (method.predict, x))

    return predict
