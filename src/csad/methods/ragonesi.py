"""Mutual information backpropagation (Ragonesi et al., CVPR workshops 2021)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from csad.data.pairs import known
from csad.data.samples import Task
from csad.information.bounds.masked import log_mean_exp, mean
from csad.methods.method import Course, Encoded, Method, Stage, Update
from csad.methods.pieces.terms import as_inputs, steps
from csad.nets.parts import Nets
from csad.registry import METHODS


def no_longer_than(task: Tensor, information: Tensor) -> Tensor:
    """The gradient of the information, cut to the length of the task's if it is longer."""
    length = torch.linalg.vector_norm(information)
    cut = torch.minimum(torch.linalg.vector_norm(task), length) / torch.where(length > 0, length, 1)
    return cut * information


@METHODS.register("ragonesi")
class Ragonesi(Method):
    """Mutual information backpropagation: MINE measures how much h_y tells of the bias labels; F and D_y undo it.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        debias_weight: λ, how fast the information is undone, relative to the target's rate.
        inner_steps: Steps of MINE, each on another mini-batch; the authors' 40.
    """

    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 1.0,
        inner_steps: int = 40,
    ) -> None:
        super().__init__(task, nets, course)
        self.M = nets.critic(sum(kind.outputs for kind in task.biases))
        self.inner_steps = steps(inner_steps)
        self.register_settings(debias_weight=debias_weight)

    def information(self, e: Encoded) -> Tensor:
        """I(h_y; b) as MINE estimates it: Donsker–Varadhan, with b moved on by one row instead of a shuffle.

        The rows of a mini-batch are in random order, so the next row's label is as random as a drawn one.
        """
        h_y, all_known = self.D_y(e.h), known(e.b).all(-1)
        labels = as_inputs(e.b, self.task.biases, h_y.dtype)
        joint = self.M(torch.cat([h_y, labels], -1))[:, 0]
        product = self.M(torch.cat([h_y, labels.roll(1, 0)], -1))[:, 0]
        return mean(joint, all_known) - log_mean_exp(product, all_known.roll(1, 0))

    def schedule(self) -> tuple[Stage, ...]:
        """Target, information (its own Adam, at λ times the rate), then MINE on other mini-batches."""
        undo = Update(
            "information",
            moves=("F", "D_y"),
            loss=lambda e: (self.target_loss(e), self.information(e)),
            join=no_longer_than,
            optimizer="information",
            pace="debias_weight",
        )
        learn = Update("estimator", moves=("M",), loss=lambda e: -self.information(e))
        often = replace(learn, repeat=self.inner_steps, batch="fresh")
        return (
            self.target_stage(),
            Stage("estimator", (learn,), self.course.estimator_epochs, self.course.rate),
            self.last_stage("debias", (self.target_update(), undo, often)),
        )
