"""Sensitive subspace robustness (Yurochkin, Bower and Sun, ICLR 2020)."""

from __future__ import annotations

from torch import Tensor

from csad.data.samples import Batch, Task
from csad.messages import message
from csad.methods.method import Course, Encoded, Features
from csad.methods.pieces.attack import WorstCase
from csad.methods.pieces.terms import known_labels, label_loss
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("sensr")
class Sensr(WorstCase):
    """Sensitive subspace robustness: the target is learned at the worst x within a small fair distance.

    All defaults are the authors' for Adult.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        epsilon: The fair distance that is held.
        distance_weight: λ at the start.
        subspace_steps: Steps of the ascent along the sensitive directions.
        subspace_rate: Learning rate of that ascent.
        full_steps: Steps of the ascent in all directions.
        full_rate: Learning rate of that ascent.
        learned: The biases for which a linear probe is trained; none: all.
    """

    at_chance = message("worst-cases-at-chance")

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        epsilon: float = 1e-3,
        distance_weight: float = 2.0,
        subspace_steps: int = 50,
        subspace_rate: float = 10.0,
        full_steps: int = 40,
        full_rate: float = 1e-4,
        learned: tuple[str, ...] = (),
    ) -> None:
        super().__init__(
            task,
            nets,
            course,
            epsilon=epsilon,
            distance_weight=distance_weight,
            subspace_steps=subspace_steps,
            subspace_rate=subspace_rate,
            full_steps=full_steps,
            full_rate=full_rate,
            learned=learned,
        )

    def encode(self, batch: Batch) -> Features:
        """F at the worst case of each row, where the loss of its target is highest."""
        target = self.task.target
        count = known_labels(batch.y, target).sum()

        def loss(x: Tensor) -> Tensor:
            return count * label_loss(self.predict(x), batch.y, target)

        with self.in_eval_mode():
            x_far, distance = self.worst_case(batch.x, loss, self.coordinates(batch.x))
        return {"h_far": self.extract(self.F, x_far), "distance": distance}

    def fair_loss(self, e: Encoded) -> Tensor:
        """The target's loss at the worst cases, and nowhere else."""
        return self.target_loss(e._replace(h=e.h["h_far"]))
