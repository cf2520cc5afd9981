"""Bias confusion (Alvi, Zisserman and Nellåker, ECCV workshops 2018)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from csad.data.samples import Classes, Task
from csad.errors import InputError
from csad.methods.method import Course, Encoded, Stage
from csad.methods.pieces.bias_branch import BiasBranched
from csad.methods.pieces.terms import confusion, steps
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("alvi")
class Alvi(BiasBranched):
    """Bias confusion: F learns features from which the bias branch, still in training, can predict nothing.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        debias_weight: α, the weight of the confusion.
        inner_steps: Steps of the bias branch for each step of F.
    """

    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 1.0,
        inner_steps: int = 1,
    ) -> None:
        super().__init__(task, nets, course)
        if not all(isinstance(kind, Classes) for kind in task.biases):
            raise InputError("alvi-needs-class-biases")
        self.inner_steps = steps(inner_steps)
        self.register_settings(debias_weight=debias_weight)

    def confused_loss(self, e: Encoded) -> Tensor:
        """The target's loss, and the cross-entropy of the bias branch against all classes alike."""
        return self.target_loss(e) + self.debias_weight * confusion(self.bias_outputs(e.h))

    def schedule(self) -> tuple[Stage, ...]:
        """Confusion moves F, never the bias branch that it confuses, which keeps learning."""
        confuse = replace(self.target_update(), loss=self.confused_loss)
        bias = replace(self.bias_update(), repeat=self.inner_steps)
        return (*self.pretraining(), self.debiasing(confuse, bias))
