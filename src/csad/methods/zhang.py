"""Adversarial debiasing (Zhang, Lemoine and Mitchell, AIES 2018), in its form for equalised odds."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from csad.data.samples import Classes, Number, Task
from csad.methods.method import TARGET_BRANCH, Course, Encoded, Method, Stage, Update
from csad.methods.terms import as_inputs, bias_columns, bias_loss, outputs
from csad.nets.layers import Heads, dense
from csad.nets.parts import Nets
from csad.registry import METHODS


def off_and_against(target: Tensor, against: Tensor) -> Tensor:
    """The target's gradient without its part along the adversary's, and the adversary's own, which comes turned round.

    With none of the adversary's, as for a debias_weight of 0, it is the target's: the projection goes with the rest.
    """
    length = torch.linalg.vector_norm(against)
    unit = against / torch.where(length > 0, length, 1)
    return target - (target * unit).sum() * unit + against


class Adversary(nn.Module):
    """A: reads biases from a prediction beside the true target, one linear layer for each, on a sharpened softmax."""

    def __init__(self, target: Classes | Number, biases: Sequence[Classes | Number]) -> None:
        super().__init__()
        self.target = target
        size = outputs(target)
        inputs = size + size * size if isinstance(target, Classes) else 2
        self.c = nn.Parameter(torch.ones(()))  # starts at 1, as in AIF360
        self.heads = Heads([dense((inputs, outputs(kind))) for kind in biases])

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
    """Adversarial debiasing: the net never helps an adversary that reads the bias from its predictions.

    ``biases`` names those that it works against, none: all of them.
    """

    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 0.1,  # α, AIF360's
        biases: tuple[str, ...] = (),  # SenSR's code, on Adult: gender alone
    ) -> None:
        super().__init__(task, nets, course)
        self.columns = bias_columns(task, biases)
        self.kinds = [task.biases[k] for k in self.columns]
        self.A = Adversary(task.target, self.kinds)
        self.hold(debias_weight=debias_weight)

    def adversary_loss(self, e: Encoded) -> Tensor:
        """The loss of the bias labels as A reads them, mean over the columns that it reads."""
        outs = self.A(self.P_y(self.D_y(e.h)), e.y)
        return bias_loss(outs, torch.stack([e.b[:, k] for k in self.columns], 1), self.kinds)

    def schedule(self) -> tuple[Stage, ...]:
        """The net's step, then the adversary's, on the same mini-batch, as in AIF360."""
        predict = Update(
            "target",
            moves=TARGET_BRANCH,
            # Whatever scale the adversary's gradient has, the projection is the same: α may stand here, as a buffer.
            loss=lambda e: (self.target_loss(e), -self.debias_weight * self.adversary_loss(e)),
            join=off_and_against,
        )
        read = Update("adversary", moves=("A",), loss=self.adversary_loss)
        return self.target_stage(), self.last_stage("debias", (predict, read))
