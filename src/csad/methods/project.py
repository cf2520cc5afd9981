"""Project: the sensitive subspace of x is projected away before anything is learned (the baseline of that name in
Yurochkin, Bower and Sun, ICLR 2020)."""

from __future__ import annotations

from torch import Tensor

from csad.methods.fair_subspace import SensitiveSubspace
from csad.methods.method import Stage
from csad.registry import METHODS


@METHODS.register("project")
class Project(SensitiveSubspace):
    """Plain training on x with its sensitive directions projected away."""

    def seen(self, x: Tensor) -> Tensor:
        """x as F sees it, in training and ever after: nothing sensitive is left that a linear reader could find."""
        return self.hidden(x)

    def schedule(self) -> tuple[Stage, ...]:
        """Vanilla's, on another x."""
        return self.target_stage(), self.last_stage("continued", (self.target_update(),))
