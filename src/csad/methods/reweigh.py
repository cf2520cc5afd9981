"""Reweighing (Kamiran and Calders, Knowledge and Information Systems 2012)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from csad.data.samples import Samples, Task
from csad.methods.method import Course, Encoded, Method, Stage
from csad.methods.pieces.cells import Cells
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("reweigh")
class Reweigh(Method):
    """Reweighing: rows are weighted as if target and bias were independent, by P(y) P(b) / P(y, b).

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
    """

    weights: Tensor  # of the cells (y, b), by number

    def __init__(self, task: Task, nets: Nets, course: Course) -> None:
        super().__init__(task, nets, course)
        self.cells = Cells(task, "reweigh")
        self.register_buffer("weights", torch.ones(self.cells.count))

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Count the rows whose labels are all known; a cell without rows keeps a weight of 1."""
        counts = self.cells.counts(train).reshape(self.cells.sizes[0], -1)
        expected = counts.sum(1, keepdim=True) * counts.sum(0) / counts.sum().clamp(min=1)
        self.weights.copy_(torch.where(counts > 0, expected / counts.clamp(min=1), 1).flatten())

    def weighted_loss(self, e: Encoded) -> Tensor:
        """The target's loss, each row times its weight; rows with an unknown bias have a weight of 1."""
        cell = self.cells.of(e.y, e.b)
        weight = torch.where(cell >= 0, self.weights[cell.clamp(min=0)], 1)
        return (weight * cross_entropy(self.P_y(self.D_y(e.h)), e.y.long(), reduction="none")).mean()

    def schedule(self) -> tuple[Stage, ...]:
        """Vanilla's on weighted rows, from the first stage on, which no other run can share."""
        weighted = replace(self.target_update(), loss=self.weighted_loss)
        pretraining = self.target_stage()._replace(updates=(weighted,), common=False)
        return pretraining, self.last_stage("continued", (weighted,))
