"""Learning from failure (Nam, Cha, Ahn, Lee and Shin, NeurIPS 2020): what a biased net fails at is learned the more."""

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

SMALL = 1e-8  # beside the sum of two losses, the authors'
NEVER = -1.0  # the mean loss of a row that was in no mini-batch yet


def generalised(loss: Tensor, q: Tensor) -> Tensor:
    """The generalised cross-entropy (1 − p^q) / q, of the cross-entropy −log p (n,): what is sure counts more.

    Its gradient is p^q times that of the cross-entropy. The authors' code writes down that gradient, times q.
    """
    return -torch.expm1(-q * loss) / q


@METHODS.register("lff")
class LearningFromFailure(Method):
    """Learning from failure: rows on which a net that prefers what is easy fails count more. Needs no bias labels.

    That net is F_B, D_B, P_B. A table keeps each training row's own moving average of its loss in either net.
    """

    encoder = ("F", "F_B")
    needs_bias = False
    gce_power: Tensor
    memory: Tensor
    classes: Tensor  # of the training rows
    biased_losses: Tensor  # of the training rows in the biased net …
    kept_losses: Tensor  # … and in the one that is kept

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        gce_power: float = 0.7,  # q of the generalised cross-entropy, the authors', as is the next
        memory: float = 0.7,  # α, how much of a row's mean loss is left when it is met again
    ) -> None:
        super().__init__(task, nets, course)
        if not isinstance(task.target, Classes):
            raise InputError("lff learns classes, and the target here holds numbers: put it into bins.")
        if not 0 < gce_power <= 1:
            raise InputError(f"gce_power must lie above 0 and at most at 1, not {gce_power}.")
        if not 0 <= memory < 1:
            raise InputError(f"memory must lie in 0 … 1, and below 1, not {memory}.")
        self.count = task.target.count
        self.F_B, self.D_B, self.P_B = nets.extractor(), nets.branch(), nets.target_head()
        self.hold(gce_power=gce_power, memory=memory)
        # As long as there are training rows, which the task does not tell.
        self.register_buffer("classes", torch.zeros(0, dtype=torch.long))
        self.register_buffer("biased_losses", torch.zeros(0))
        self.register_buffer("kept_losses", torch.zeros(0))

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """The classes of the training rows, none of which was met yet."""
        # In place: whoever trains holds these very tensors already.
        self.classes.resize_(len(train)).copy_(train.y)
        for losses in (self.biased_losses, self.kept_losses):
            losses.resize_(len(train)).fill_(NEVER)

    def encode(self, batch: Batch) -> Features:
        """h = F(x), and that of the biased net."""
        x = self.seen(batch.x)
        return {"h": self.extract(self.F, x), "h_biased": self.extract(self.F_B, x)}

    def each_loss(self, e: Encoded) -> tuple[Tensor, Tensor]:
        """The cross-entropy of each row (n,), in the biased net and in the one that is kept."""
        outs = self.P_B(self.D_B(e.h["h_biased"])), self.P_y(self.D_y(e.h["h"]))
        biased, kept = (cross_entropy(out, e.y.long(), reduction="none") for out in outs)
        return biased, kept

    def remember(self, e: Encoded) -> Mapping[str, Tensor]:
        """The tables after this mini-batch: loss ← α · loss + (1 − α) · the present one, which is taken whole at first.

        A row that is in it twice, as one may be that fills it up, counts once.
        """
        biased, kept = self.each_loss(e)
        return {
            "biased_losses": self._moved(self.biased_losses, e.rows, biased),
            "kept_losses": self._moved(self.kept_losses, e.rows, kept),
        }

    def _moved(self, table: Tensor, rows: Tensor, loss: Tensor) -> Tensor:
        before = table[rows]
        mean = torch.where(before < 0, loss, self.memory * before + (1 - self.memory) * loss)
        # The largest of those that are alike up to rounding: whichever comes last would be left to chance on a GPU.
        return table.scatter_reduce(0, rows, mean, "amax", include_self=False)

    def difficulty(self, e: Encoded) -> Tensor:
        """W = L_B / (L_B + L) of each row (n,), each L its mean loss in a net, divided by the largest of its class."""
        biased, kept = (self._beside_largest(table, e) for table in (self.biased_losses, self.kept_losses))
        return biased / (biased + kept + SMALL)

    def _beside_largest(self, table: Tensor, e: Encoded) -> Tensor:
        of_class = self.classes[:, None] == torch.arange(self.count, device=table.device)
        largest = torch.where(of_class, table[:, None], 0).amax(0)[e.y.long()]
        return table[e.rows] / torch.where(largest > 0, largest, 1)

    def loss(self, e: Encoded) -> Tensor:
        """The biased net's generalised cross-entropy, and W times the other's cross-entropy; means over the rows."""
        biased, kept = self.each_loss(e)
        return generalised(biased, self.gce_power).mean() + (self.difficulty(e) * kept).mean()

    def schedule(self) -> tuple[Stage, ...]:
        """Both nets from the first step on, as in the authors' code."""
        # The nets share no weight, so one step on the sum of their losses is a step of each, on one encoding.
        both = (*TARGET_BRANCH, "F_B", "D_B", "P_B")
        lines = (Assign("losses", self.remember), replace(self.target_update(), moves=both, loss=self.loss))
        first = self.target_stage()._replace(updates=lines)
        return first, self.last_stage("continued", lines, renew=both)
