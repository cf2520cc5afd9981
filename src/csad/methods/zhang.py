"""Adversarial debiasing (Zhang, Lemoine and Mitchell, AIES 2018), in its form for equalized odds."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from csad.data.samples import Classes, Number, Task
from csad.methods.method import TARGET_BRANCH, Course, Encoded, Method, Stage, Update
from csad.methods.pieces.terms import as_inputs, bias_columns, bias_loss
from csad.nets.layers import Heads, dense
from csad.nets.parts import Nets
from csad.registry import METHODS


def off_and_against(target: Tensor, against: Tensor) -> Tensor:
    """The target's gradient without its part along the adversary's, plus the adversary's, which is reversed already.

    If the adversary's gradient is 0, as for a debias_weight of 0, it is the target's alone, without projection.
    """
    length = torch.linalg.vector_norm(against)
    unit = against / torch.where(length > 0, length, 1)
    return target - (target * unit).sum() * unit + against


class Adversary(nn.Module):
    """A: predicts biases from a prediction and the true target, by one linear layer each on a sharpened softmax."""

    def __init__(self, target: Classes | Number, biases: Sequence[Classes | Number]) -> None:
        super().__init__()
        self.target = target
        size = target.outputs
        inputs = size + size * size if isinstance(target, Classes) else 2
        self.c = nn.Parameter(torch.ones(()))  # starts at 1, as in AIF360
        self.heads = Heads([dense((inputs, kind.outputs)) for kind in biases])

    def inputs(self, out: Tensor, y: Tensor) -> Tensor:
        """s = softmax((1 + |c|) · logits) and s ⊗ y, side by side: for two classes, the paper's s, s · y, s · (1 − y).

        For a target that is a number, the prediction and y.
        """
        labels = as_inputs(y[:, None], (self.target,), out.dtype)
        if isinstance(self.target, Number):
            return torch.cat([out, labels], -1)
        s = ((1 + self.c.abs()) * out).softmax(-1)
        return torch.cat([s, (s[:, :, None] * labels[:, None, :]).flatten(1)], -1)

    def forward(self, out: Tensor, y: Tensor) -> list[Tensor]:
        """One output per bias."""
        outs: list[Tensor] = self.heads(self.inputs(out, y))
        return outs


@METHODS.register("zhang")
class Zhang(Method):
    """Adversarial debiasing: the net never helps an adversary that predicts the bias from its predictions.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        debias_weight: α, the weight of the adversary's gradient; AIF360's 0.1.
        biases: The names of the biases to work against; none: all. (SenSR's code takes gender alone on Adult.)
    """

    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 0.1,
        biases: tuple[str, ...] = (),
    ) -> None:
        super().__init__(task, nets, course)
        self.columns = bias_columns(task, biases)
        self.kinds = [task.biases[k] for k in self.columns]
        self.A = Adversary(task.target, self.kinds)
        self.register_settings(debias_weight=debias_weight)

    def adversary_loss(self, e: Encoded) -> Tensor:
        """The loss of A's predictions of the bias labels, mean over the columns that it predicts."""
        outs = self.A(self.P_y(self.D_y(e.h)), e.y)
        return bias_loss(outs, torch.stack([e.b[:, k] for k in self.columns], 1), self.kinds)

    def schedule(self) -> tuple[Stage, ...]:
        """The net's step, then the adversary's, on the same mini-batch, as in AIF360."""
        predict = Update(
            "target",
            moves=TARGET_BRANCH,
            # The projection does not depend on the scale of the adversary's gradient, so α may be a factor here.
            loss=lambda e: (self.target_loss(e), -self.debias_weight * self.adversary_loss(e)),
            join=off_and_against,
        )
        read = Update("adversary", moves=("A",), loss=self.adversary_loss)
        return self.target_stage(), self.last_stage("debias", (predict, read))
