"""Project the sensitive subspace of x away before training: a baseline in Yurochkin, Bower and Sun, ICLR 2020."""

from __future__ import annotations

from torch import Tensor

from csad.methods.method import Stage
from csad.methods.pieces.fair_subspace import SensitiveSubspace
from csad.registry import METHODS


@METHODS.register("project")
class Project(SensitiveSubspace):
    """Plain training on x with its sensitive directions projected away.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        learned: The biases for which a linear probe is trained; none: all.
    """

    def mask_input(self, x: Tensor) -> Tensor:
        """x as F sees it, in training and afterwards, without anything sensitive that a linear probe could find."""
        return self.project_out(x)

    def schedule(self) -> tuple[Stage, ...]:
        """Vanilla's, on another x."""
        return self.target_stage(), self.last_stage("continued", (self.target_update(),))
