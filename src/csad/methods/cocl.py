"""The covariance constrained loss, CoCL (Romanov et al., NAACL 2019), with the bias in place of their names."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from csad.data.samples import Number, Task
from csad.methods.method import Course, Encoded, Method, Stage
from csad.methods.terms import as_inputs, known_labels, known_mean, outputs
from csad.nets.parts import Nets
from csad.registry import METHODS


def covariances(p: Tensor, b: Tensor, known: Tensor, member: Tensor) -> Tensor:
    """Covariance (classes, columns) of p (n,) with each column of b (n, columns), over the known rows of each class.

    ``known`` (n, columns) and ``member`` (n, classes) are ones and zeros; without a row, a covariance is 0.
    """
    rows = (member.T @ known).clamp(min=1)
    mean = member.T @ (known * b) / rows
    apart = known * (b - member @ mean)  # p may keep its mean: these add up to 0
    return member.T @ (p[:, None] * apart) / rows


@METHODS.register("cocl")
class Cocl(Method):
    """Covariance constrained loss: within a class, how probable it looks must not go with the bias."""

    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 1.0,  # λ
    ) -> None:
        super().__init__(task, nets, course)
        self.hold(debias_weight=debias_weight)

    def covariance(self, e: Encoded) -> Tensor:
        """The length of Cov(p of the true class, b) within a class, mean over the classes that the mini-batch holds.

        For a target that is a number, that of the squared error with b, over all rows.
        """
        out, kinds = self.P_y(self.D_y(e.h)), self.task.biases
        b = as_inputs(e.b, kinds, out.dtype)
        known = [known_labels(e.b[:, k], kind)[:, None].expand(-1, outputs(kind)) for k, kind in enumerate(kinds)]
        if isinstance(self.task.target, Number):
            p, member = (out[:, 0] - e.y.to(out.dtype)).square(), torch.ones_like(out)
        else:
            member = as_inputs(e.y[:, None], (self.task.target,), out.dtype)
            p = (out.softmax(-1) * member).sum(-1)
        found = covariances(p, b, torch.cat(known, -1).to(out.dtype), member)
        return known_mean(torch.linalg.vector_norm(found, dim=-1), member.any(0))

    def constrained_loss(self, e: Encoded) -> Tensor:
        """The target's loss and λ times the covariance."""
        return self.target_loss(e) + self.debias_weight * self.covariance(e)

    def schedule(self) -> tuple[Stage, ...]:
        """One step per mini-batch, on the target and the covariance."""
        constrain = replace(self.target_update(), loss=self.constrained_loss)
        return self.target_stage(), self.last_stage("debias", (constrain,))
