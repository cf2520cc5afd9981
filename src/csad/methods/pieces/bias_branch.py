"""The bias branch D_b, P_b, its loss and its stages, for the methods that have one."""

from __future__ import annotations

from torch import Tensor

from csad.data.samples import Task
from csad.methods.method import TARGET_BRANCH, Course, Encoded, Line, Method, Stage, Update
from csad.methods.pieces.terms import bias_loss
from csad.nets.parts import Nets


class BiasBranched(Method):
    """A method with D_b and P_b, which predict the bias labels from h; children give the schedule."""

    def __init__(self, task: Task, nets: Nets, course: Course) -> None:
        super().__init__(task, nets, course)
        self.D_b, self.P_b = nets.branch(), nets.bias_heads()

    def bias_outputs(self, h: Tensor) -> list[Tensor]:
        """The outputs of the bias branch for h, one per bias column."""
        outs: list[Tensor] = self.P_b(self.D_b(h))
        return outs

    def bias_loss(self, e: Encoded) -> Tensor:
        """The loss of the bias labels, mean over the columns."""
        return bias_loss(self.bias_outputs(e.h), e.b, self.task.biases)

    def bias_update(self) -> Update:
        """The plain step of the bias branch."""
        return Update("bias", moves=("D_b", "P_b"), loss=self.bias_loss)

    def pretraining(self) -> tuple[Stage, Stage]:
        """First the target branch with F, then the bias branch on that F."""
        c = self.course
        bias = Stage("bias", (self.bias_update(),), c.bias_epochs, c.pretrain_rate, common=True)
        return self.target_stage(), bias

    def debiasing(self, *iteration: Line) -> Stage:
        """The stage that debiases; F, D and P start afresh at its lower rate, as in CSAD's published code."""
        return self.last_stage("debias", iteration, renew=(*TARGET_BRANCH, "D_b", "P_b"))
