"""Reweighing (Kamiran and Calders, Knowledge and Information Systems 2012)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from csad.data.pairs import known
from csad.data.samples import Classes, Samples, Task
from csad.errors import InputError
from csad.methods.method import TARGET_BRANCH, Course, Encoded, Method, Stage
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("reweigh")
class Reweigh(Method):
    """Reweighing: rows are weighed as if target and bias were independent, P(y) P(b) / P(y, b)."""

    weights: Tensor  # of the cells (y, b), by number

    def __init__(self, task: Task, nets: Nets, course: Course) -> None:
        super().__init__(task, nets, course)
        sizes = [kind.count for kind in (task.target, *task.biases) if isinstance(kind, Classes)]
        if len(sizes) <= len(task.biases):
            what = "a bias column" if isinstance(task.target, Classes) else "the target"
            raise InputError(f"reweigh counts cells of classes, and {what} here holds numbers: put it into bins.")
        self.sizes = tuple(sizes)
        self.register_buffer("weights", torch.ones(prod(sizes)))

    def cells(self, y: Tensor, b: Tensor) -> Tensor:
        """The number of each row's cell, y and all columns of b together; 0 for what is unknown."""
        cell = y.long()
        for k, size in enumerate(self.sizes[1:]):
            cell = cell * size + torch.nan_to_num(b[:, k]).long().clamp(min=0)
        return cell

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Counts the rows whose labels are all known; a cell without rows keeps a weight of 1."""
        whole = known(train.b).all(-1)
        cell = self.cells(train.y[whole], train.b[whole]).cpu()
        counts = torch.bincount(cell, minlength=prod(self.sizes)).double().reshape(self.sizes[0], -1)
        expected = counts.sum(1, keepdim=True) * counts.sum(0) / counts.sum().clamp(min=1)
        self.weights.copy_(torch.where(counts > 0, expected / counts.clamp(min=1), 1).flatten())

    def weighed_loss(self, e: Encoded) -> Tensor:
        """The target's loss, each row times its weight; rows with an unknown bias have a weight of 1."""
        weight = torch.where(known(e.b).all(-1), self.weights[self.cells(e.y, e.b)], 1)
        return (weight * cross_entropy(self.P_y(self.D_y(e.h)), e.y.long(), reduction="none")).mean()

    def schedule(self) -> tuple[Stage, ...]:
        """Vanilla's on weighed rows, from the first stage on, which is shared with nobody."""
        weigh = replace(self.target_update(), loss=self.weighed_loss)
        pretraining = self.target_stage()._replace(updates=(weigh,), common=False)
        return pretraining, self.last_stage("continued", (weigh,), renew=TARGET_BRANCH)
