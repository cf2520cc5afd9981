"""Learning Not to Learn (Kim et al., CVPR 2019)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from csad.data.samples import Classes, Task
from csad.methods.bias_branch import BiasBranched
from csad.methods.method import Course, Encoded, Stage, Update
from csad.methods.terms import bias_loss, entropy
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("kim")
class Kim(BiasBranched):
    """Learning Not to Learn: F raises the bias branch's entropy, and goes uphill on its loss (gradient reversal)."""

    debias_weight: Tensor
    entropy_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 0.1,  # of the reversed gradient, the authors'
        entropy_weight: float = 0.01,  # λ, the authors'
    ) -> None:
        super().__init__(task, nets, course)
        self.hold(debias_weight=debias_weight, entropy_weight=entropy_weight)

    def unsure_loss(self, e: Encoded) -> Tensor:
        """The target's loss less the entropy of what the bias branch says; a column of numbers has none."""
        outs = zip(self.bias_outputs(e.h), self.task.biases, strict=True)
        classes = [out for out, kind in outs if isinstance(kind, Classes)]
        loss = self.target_loss(e)
        return loss - self.entropy_weight * entropy(classes) if classes else loss

    def reversed_bias_loss(self, e: Encoded) -> Tensor:
        """The bias branch's loss; on its way back to F the gradient is turned round."""
        reversed_h = (1 + self.debias_weight) * e.h.detach() - self.debias_weight * e.h
        return bias_loss(self.bias_outputs(reversed_h), e.b, self.task.biases)

    def schedule(self) -> tuple[Stage, ...]:
        """Two steps per mini-batch: the net alone, then the net and the bias branch against each other."""
        unsure = replace(self.target_update(), loss=self.unsure_loss)
        against = Update("bias", moves=("F", "D_b", "P_b"), loss=self.reversed_bias_loss)
        return (*self.pretraining(), self.debiasing(unsure, against))
