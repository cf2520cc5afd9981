"""Learning from failure (Nam, Cha, Ahn, Lee and Shin, NeurIPS 2020): rows at which a biased net fails count more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from csad.data.samples import Batch, Classes, Samples, Task
from csad.errors import InputError
from csad.methods.method import TARGET_BRANCH, Assign, Course, Encoded, Features, Method, Stage
from csad.nets.parts import Nets
from csad.registry import METHODS

SMALL = 1e-8  # added to the sum of two losses, the authors'
NEVER = -1.0  # the mean loss of a row that was in no mini-batch yet


def generalized_cross_entropy(loss: Tensor, q: Tensor) -> Tensor:
    """The generalized cross-entropy (1 − p^q) / q from the cross-entropy −log p (n,): sure predictions count more.

    Its gradient is p^q times that of the cross-entropy. The authors' code computes that gradient, times q.
    """
    return -torch.expm1(-q * loss) / q


@METHODS.register("lff")
class LearningFromFailure(Method):
    """Learning from failure: rows on which a net that prefers what is easy fails count more. Needs no bias labels.

    That biased net is F_B, D_B, P_B. For each training row a table holds a moving average of its loss in either net.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        gce_power: q of the generalized cross-entropy; the authors' 0.7.
        memory: α, the share of a row's mean loss that remains at its next mini-batch; the authors' 0.7.
    """

    encoder = ("F", "F_B")
    needs_bias = False
    gce_power: Tensor
    memory: Tensor
    classes: Tensor  # of the training rows
    biased_losses: Tensor  # of the training rows in the biased net …
    kept_losses: Tensor  # … and in the target branch

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        gce_power: float = 0.7,
        memory: float = 0.7,
    ) -> None:
        super().__init__(task, nets, course)
        if not isinstance(task.target, Classes):
            raise InputError("lff-needs-class-target")
        if not 0 < gce_power <= 1:
            raise InputError("gce-power-out-of-range", gce_power=gce_power)
        if not 0 <= memory < 1:
            raise InputError("memory-out-of-range", memory=memory)
        self.count = task.target.count
        self.F_B, self.D_B, self.P_B = nets.extractor(), nets.branch(), nets.target_head()
        self.register_settings(gce_power=gce_power, memory=memory)
        # They get a row for each training row, whose number is not known yet.
        self.register_buffer("classes", torch.zeros(0, dtype=torch.long))
        self.register_buffer("biased_losses", torch.zeros(0))
        self.register_buffer("kept_losses", torch.zeros(0))

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Set the classes of the training rows; none of them was in a mini-batch yet."""
        # In place: the training already refers to these tensors.
        self.classes.resize_(len(train)).copy_(train.y)
        for losses in (self.biased_losses, self.kept_losses):
            losses.resize_(len(train)).fill_(NEVER)

    def encode(self, batch: Batch) -> Features:
        """h = F(x), and the h of the biased net."""
        x = self.mask_input(batch.x)
        return {"h": self.extract(self.F, x), "h_biased": self.extract(self.F_B, x)}

    def row_losses(self, e: Encoded) -> tuple[Tensor, Tensor]:
        """The cross-entropy of each row (n,), in the biased net and in the target branch."""
        outs = self.P_B(self.D_B(e.h["h_biased"])), self.P_y(self.D_y(e.h["h"]))
        biased, target = (cross_entropy(out, e.y.long(), reduction="none") for out in outs)
        return biased, target

    def remember(self, e: Encoded) -> Mapping[str, Tensor]:
        """The tables after this mini-batch: loss ← α · loss + (1 − α) · present loss, at first the present loss alone.

        A row that is in the mini-batch twice, to fill it up, counts once.
        """
        biased, target = self.row_losses(e)
        return {
            "biased_losses": self._updated(self.biased_losses, e.rows, biased),
            "kept_losses": self._updated(self.kept_losses, e.rows, target),
        }

    def _updated(self, table: Tensor, rows: Tensor, loss: Tensor) -> Tensor:
        before = table[rows]
        mean = torch.where(before < 0, loss, self.memory * before + (1 - self.memory) * loss)
        # The largest of values that are equal up to rounding: on a GPU, which one comes last is left to chance.
        return table.scatter_reduce(0, rows, mean, "amax", include_self=False)

    def difficulty(self, e: Encoded) -> Tensor:
        """W = L_B / (L_B + L) of each row (n,), each L its mean loss in a net, divided by the largest of its class."""
        biased, target = (self._over_largest(table, e) for table in (self.biased_losses, self.kept_losses))
        return biased / (biased + target + SMALL)

    def _over_largest(self, table: Tensor, e: Encoded) -> Tensor:
        of_class = self.classes[:, None] == torch.arange(self.count, device=table.device)
        largest = torch.where(of_class, table[:, None], 0).amax(0)[e.y.long()]
        return table[e.rows] / torch.where(largest > 0, largest, 1)

    def loss(self, e: Encoded) -> Tensor:
        """The biased net's generalized cross-entropy plus W times the other's cross-entropy; means over the rows."""
        biased, target = self.row_losses(e)
        return generalized_cross_entropy(biased, self.gce_power).mean() + (self.difficulty(e) * target).mean()

    def schedule(self) -> tuple[Stage, ...]:
        """Both nets from the first step on, as in the authors' code."""
        # The nets share no weight, so one step on the sum of their losses is a step of each, on one encoding.
        both = (*TARGET_BRANCH, "F_B", "D_B", "P_B")
        lines = (Assign("losses", self.remember), replace(self.target_update(), moves=both, loss=self.loss))
        first = self.target_stage()._replace(updates=lines)
        return first, self.last_stage("continued", lines, renew=both)
