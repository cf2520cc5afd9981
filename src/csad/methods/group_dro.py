"""Group DRO: distributionally robust optimization over groups (Sagawa, Koh, Hashimoto and Liang, ICLR 2020)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from csad.data.samples import Samples, Task
from csad.messages import message
from csad.methods.method import Assign, Course, Encoded, Method, Stage
from csad.methods.pieces.cells import Cells
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("group-dro")
class GroupDro(Method):
    """Group DRO: groups, the cells (y, b), get more weight step by step the higher their loss is.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        group_rate: η, how fast the weights of groups change; the authors' 0.01.
        adjustment: C, the adjustment for small groups, which are easily overfitted; 0: none, the authors' default.
    """

    at_chance = message("groups-at-chance")
    q: Tensor  # the weights of the groups, by number; their sum is 1
    rarity: Tensor  # 1 / √n_g for n_g training rows of each group; 0 if it has none
    group_rate: Tensor
    adjustment: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        group_rate: float = 0.01,
        adjustment: float = 0.0,
    ) -> None:
        super().__init__(task, nets, course)
        self.cells = Cells(task, "group-dro")
        self.register_settings(group_rate=group_rate, adjustment=adjustment)
        count = self.cells.count
        self.register_buffer("q", torch.full((count,), 1 / count))
        self.register_buffer("rarity", torch.zeros(count))

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Give all groups with training rows the same weight; the others never get any."""
        counts = self.cells.counts(train)
        present = counts > 0
        self.q.copy_(present / present.sum().clamp(min=1))
        self.rarity.copy_(present / counts.clamp(min=1).sqrt())

    def group_losses(self, e: Encoded) -> tuple[Tensor, Tensor]:
        """The mean loss of each group in the mini-batch, 0 if it has no row there; and whether it has one."""
        losses = cross_entropy(self.P_y(self.D_y(e.h)), e.y.long(), reduction="none")
        member = self.cells.of(e.y, e.b)[:, None] == torch.arange(self.cells.count, device=e.y.device)
        count = member.sum(0)
        return torch.where(member, losses[:, None], 0).sum(0) / count.clamp(min=1), count > 0

    def weigh(self, e: Encoded) -> Mapping[str, Tensor]:
        """q_g ← q_g exp(η (loss_g + C / √n_g)) for the groups in the mini-batch, then divided by the sum of all."""
        losses, present = self.group_losses(e)
        growth = self.group_rate * torch.where(present & (self.q > 0), losses + self.adjustment * self.rarity, 0)
        # Minus the largest, which cancels in the quotient: exp stays finite, and no group's weight becomes 0.
        q = self.q * (growth - growth.max()).exp()
        total = q.sum()
        return {"q": q / torch.where(total > 0, total, 1)}

    def robust_loss(self, e: Encoded) -> Tensor:
        """Σ q_g loss_g; rows with an unknown bias are in no group, and without any group it is 0."""
        return (self.q * self.group_losses(e)[0]).sum()

    def schedule(self) -> tuple[Stage, ...]:
        """q first, as in the authors' code: its own mini-batch has changed q before the step."""
        descend = replace(self.target_update(), loss=self.robust_loss)
        return self.target_stage(), self.last_stage("debias", (Assign("q", self.weigh), descend))
