"""The plain classifier: what every other method is measured against."""

from __future__ import annotations

from csad.methods.method import Method, Stage
from csad.registry import METHODS


@METHODS.register("vanilla")
class Vanilla(Method):
    """Plain training on the target alone, for as many target updates as CSAD makes."""

    needs_bias = False

    def schedule(self) -> tuple[Stage, ...]:
        """CSAD's schedule with only its target update left."""
        return self.target_stage(), self.last_stage("continued", (self.target_update(),))
