"""The covariance constrained loss, CoCL (Romanov et al., NAACL 2019), with the bias in place of their names."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from csad.data.samples import Number, Task
from csad.methods.method import Course, Encoded, Method, Stage
from csad.methods.pieces.terms import as_inputs, known_labels, known_mean
from csad.nets.parts import Nets
from csad.registry import METHODS


def covariances(p: Tensor, b: Tensor, known: Tensor, member: Tensor) -> Tensor:
    """Covariance (classes, columns) of p (n,) with each column of b (n, columns), over the known rows of each class.

    ``known`` (n, columns) and ``member`` (n, classes) are ones and zeros. The covariance of a class without rows is 0.
    """
    rows = (member.T @ known).clamp(min=1)
    mean = member.T @ (known * b) / rows
    apart = known * (b - member @ mean)  # p may keep its mean: these add up to 0
    return member.T @ (p[:, None] * apart) / rows


@METHODS.register("cocl")
class Cocl(Method):
    """Covariance constrained loss: within a class, its predicted probability must not vary with the bias.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        debias_weight: λ, the weight of the covariance.
    """

    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 1.0,
    ) -> None:
        super().__init__(task, nets, course)
        self.register_settings(debias_weight=debias_weight)

    def covariance(self, e: Encoded) -> Tensor:
        """The length of Cov(p of the true class, b) within a class, mean over the classes in the mini-batch.

        For a target that is a number: the length of Cov(squared error, b) over all rows.
        """
        out, kinds = self.P_y(self.D_y(e.h)), self.task.biases
        b = as_inputs(e.b, kinds, out.dtype)
        known = [known_labels(e.b[:, k], kind)[:, None].expand(-1, kind.outputs) for k, kind in enumerate(kinds)]
        if isinstance(self.task.target, Number):
            p, member = (out[:, 0] - e.y.to(out.dtype)).square(), torch.ones_like(out)
        else:
            member = as_inputs(e.y[:, None], (self.task.target,), out.dtype)
            p = (out.softmax(-1) * member).sum(-1)
        by_class = covariances(p, b, torch.cat(known, -1).to(out.dtype), member)
        return known_mean(torch.linalg.vector_norm(by_class, dim=-1), member.any(0))

    def constrained_loss(self, e: Encoded) -> Tensor:
        """The target's loss and λ times the covariance."""
        return self.target_loss(e) + self.debias_weight * self.covariance(e)

    def schedule(self) -> tuple[Stage, ...]:
        """One step per mini-batch, on the target and the covariance."""
        constrain = replace(self.target_update(), loss=self.constrained_loss)
        return self.target_stage(), self.last_stage("debias", (constrain,))
