"""Learning Not to Learn (Kim et al., CVPR 2019)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from csad.data.samples import Classes, Task
from csad.methods.method import Course, Encoded, Stage, Update
from csad.methods.pieces.bias_branch import BiasBranched
from csad.methods.pieces.terms import bias_loss, entropy
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("kim")
class Kim(BiasBranched):
    """Learning Not to Learn: F raises the bias branch's entropy, and goes uphill on its loss (gradient reversal).

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        debias_weight: The weight of the reversed gradient; the authors' 0.1.
        entropy_weight: λ, the weight of the entropy; the authors' 0.01.
    """

    debias_weight: Tensor
    entropy_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 0.1,
        entropy_weight: float = 0.01,
    ) -> None:
        super().__init__(task, nets, course)
        self.register_settings(debias_weight=debias_weight, entropy_weight=entropy_weight)

    def unsure_loss(self, e: Encoded) -> Tensor:
        """The target's loss minus the entropy of the bias branch's predictions; a column of numbers has none."""
        outs = zip(self.bias_outputs(e.h), self.task.biases, strict=True)
        classes = [out for out, kind in outs if isinstance(kind, Classes)]
        loss = self.target_loss(e)
        return loss - self.entropy_weight * entropy(classes) if classes else loss

    def reversed_bias_loss(self, e: Encoded) -> Tensor:
        """The bias branch's loss, with its gradient reversed on the way back to F."""
        reversed_h = (1 + self.debias_weight) * e.h.detach() - self.debias_weight * e.h
        return bias_loss(self.bias_outputs(reversed_h), e.b, self.task.biases)

    def schedule(self) -> tuple[Stage, ...]:
        """Two steps per mini-batch: the net alone, then the net and the bias branch against each other."""
        unsure = replace(self.target_update(), loss=self.unsure_loss)
        against = Update("bias", moves=("F", "D_b", "P_b"), loss=self.reversed_bias_loss)
        return (*self.pretraining(), self.debiasing(unsure, against))
