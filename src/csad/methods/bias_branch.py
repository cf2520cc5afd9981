"""What the methods share that have a branch of their own for the bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from csad.data.samples import Task
from csad.methods.method import Course, Encoded, Method, Stage, Update
from csad.methods.terms import bias_loss, fell_to_chance
from csad.nets.parts import Nets


class BiasBranched(Method):
    """A method with D_b and P_b, which read the bias labels from h; children give the schedule."""

    def __init__(self, task: Task, nets: Nets, course: Course) -> None:
        super().__init__(task, nets, course)
        self.D_b, self.P_b = nets.branch(), nets.bias_heads()

    def bias_outputs(self, h: Tensor) -> list[Tensor]:
        """What the bias branch makes of h, column by column."""
        outs: list[Tensor] = self.P_b(self.D_b(h))
        return outs

    def bias_loss(self, e: Encoded) -> Tensor:
        """The loss of the bias labels, mean over the columns."""
        return bias_loss(self.bias_outputs(e.h), e.b, self.task.biases)

    def target_update(self) -> Update:
        """The plain target step."""
        return Update("target", moves=("F", "D_y", "P_y"), loss=self.target_loss)

    def bias_update(self) -> Update:
        """The plain step of the bias branch."""
        return Update("bias", moves=("D_b", "P_b"), loss=self.bias_loss)

    def pretraining(self) -> tuple[Stage, Stage]:
        """First the target branch with F, then the bias branch on the F that came of it."""
        c = self.course
        return (
            Stage("target", (self.target_update(),), c.target_epochs, c.pretrain_rate, common=True),
            Stage("bias", (self.bias_update(),), c.bias_epochs, c.pretrain_rate, common=True),
        )

    def symptoms(self, stage: str, curves: Mapping[str, Sequence[float]]) -> list[str]:
        """A target at chance."""
        if stage == "debias" and fell_to_chance(curves["target"], self.task.target):
            return ["The target branch has fallen to chance: lower debias_weight or train.rate."]
        return []
