"""Group DRO: distributionally robust optimisation over groups (Sagawa, Koh, Hashimoto and Liang, ICLR 2020)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from csad.data.samples import Samples, Task
from csad.methods.cells import Cells
from csad.methods.method import Assign, Course, Encoded, Method, Stage
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("group-dro")
class GroupDro(Method):
    """Group DRO: groups, which are the cells (y, b), are weighed by how badly they fare, step by step."""

    at_chance = "The groups that count most have fallen to chance: lower group_rate, adjustment or train.rate."
    q: Tensor  # the weights of the groups, by number; their sum is 1
    rarity: Tensor  # 1 / √n_g of each group's training rows; 0 where it has none
    group_rate: Tensor
    adjustment: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        group_rate: float = 0.01,  # η, the authors'
        adjustment: float = 0.0,  # C, for groups so small that they are learned by heart; 0: none, the authors' default
    ) -> None:
        super().__init__(task, nets, course)
        self.cells = Cells(task, "group-dro")
        self.hold(group_rate=group_rate, adjustment=adjustment)
        count = self.cells.count
        self.register_buffer("q", torch.full((count,), 1 / count))
        self.register_buffer("rarity", torch.zeros(count))

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Groups that have training rows begin with the same weight; the others have none, ever."""
        counts = self.cells.counts(train)
        found = counts > 0
        self.q.copy_(found / found.sum().clamp(min=1))
        self.rarity.copy_(found / counts.clamp(min=1).sqrt())

    def group_losses(self, e: Encoded) -> tuple[Tensor, Tensor]:
        """The mean loss of each group in the mini-batch, 0 if it has no row there; and whether it has one."""
        each = cross_entropy(self.P_y(self.D_y(e.h)), e.y.long(), reduction="none")
        own = self.cells.of(e.y, e.b)[:, None] == torch.arange(self.cells.count, device=e.y.device)
        count = own.sum(0)
        return torch.where(own, each[:, None], 0).sum(0) / count.clamp(min=1), count > 0

    def weigh(self, e: Encoded) -> Mapping[str, Tensor]:
        """q_g ← q_g exp(η (loss_g + C / √n_g)) for the groups in the mini-batch, then divided by the sum of all."""
        losses, present = self.group_losses(e)
        growth = self.group_rate * torch.where(present & (self.q > 0), losses + self.adjustment * self.rarity, 0)
        # Less the largest, which the sum takes back: exp stays finite, and a group that had a weight keeps one.
        q = self.q * (growth - growth.max()).exp()
        total = q.sum()
        return {"q": q / torch.where(total > 0, total, 1)}

    def robust_loss(self, e: Encoded) -> Tensor:
        """Σ q_g loss_g; rows with an unknown bias are in no group, and without any group it is 0."""
        return (self.q * self.group_losses(e)[0]).sum()

    def schedule(self) -> tuple[Stage, ...]:
        """q first, as in the authors' code: the step is weighed by what its own mini-batch has made of q."""
        descend = replace(self.target_update(), loss=self.robust_loss)
        return self.target_stage(), self.last_stage("debias", (Assign("q", self.weigh), descend))
