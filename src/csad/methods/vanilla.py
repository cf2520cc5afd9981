"""The plain classifier, to which every other method is compared."""

from __future__ import annotations

from csad.methods.method import Method, Stage
from csad.registry import METHODS


@METHODS.register("vanilla")
class Vanilla(Method):
    """Plain training on the target alone, for as many target updates as CSAD makes.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
    """

    needs_bias = False

    def schedule(self) -> tuple[Stage, ...]:
        """CSAD's schedule with its target update only."""
        return self.target_stage(), self.last_stage("continued", (self.target_update(),))
