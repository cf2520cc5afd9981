"""The plain classifier: what every other method is measured against."""

from __future__ import annotations

from csad.methods.method import Method, Stage, Update
from csad.registry import METHODS


@METHODS.register("vanilla")
class Vanilla(Method):
    """Plain training on the target alone, for as many target updates as CSAD makes."""

    needs_bias = False

    def schedule(self) -> tuple[Stage, ...]:
        """CSAD's schedule with only its target update left."""
        c = self.course
        target = Update("target", moves=("F", "D_y", "P_y"), loss=self.target_loss)
        return (
            Stage("target", (target,), c.target_epochs, c.pretrain_rate, common=True),
            Stage("continued", (target,), c.epochs, c.rate, c.decay, c.decay_every, renew=target.moves),
        )
