"""How well runs do on the validation split while they train: one figure per epoch, of what would be kept by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

from csad.data.samples import Classes, Dataset
from csad.methods.method import Method
from csad.training.batches import Batches
from csad.training.stack import Runs, in_mode


def held_out(datasets: Sequence[Dataset]) -> list[Dataset]:
    """The data sets with the validation rows in place of the training rows; none where one has no such split."""
    if any("validation" not in dataset.splits for dataset in datasets):
        return []
    # The same object for the same data set: a stack holds it once.
    found = {id(d): replace(d, splits={"train": d.splits["validation"]}) for d in datasets}
    return [found[id(dataset)] for dataset in datasets]


@torch.no_grad()
def figures(runs: Runs, batches: Batches) -> dict[str, list[float]]:
    """Accuracy, or the mean squared error of numbers, of each run on these rows."""
    classes = isinstance(runs.method.task.target, Classes)
    total, axis = torch.zeros(()), batches.rows.ndim - 1
    with in_mode(runs.method, training=False):
        for rows in torch.split(batches.rows, batches.chunk, dim=axis):
            batch = batches.take(rows)
            out = runs.call(_kept_prediction(runs.method), batch.x)
            value = (out.argmax(-1) == batch.y) if classes else (out[..., 0] - batch.y).square()
            total = total.to(out.device) + value.to(torch.float64).sum(-1)
    name = "accuracy" if classes else "mean_squared_error"
    return {name: runs.each(total / batches.rows.shape[axis])}


def _kept_prediction(method: Method) -> Any:
    """What the method would predict if its training ended here."""

    def predict(x: Tensor) -> Any:
        if not (settled := method.settled()):
            return method.predict(x)
        state = {**dict(method.named_parameters()), **dict(method.named_buffers()), **settled}
        return functional_call(method, state, (method.predict, x))

    return predict
