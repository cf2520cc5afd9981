"""Sensitive subspace robustness (Yurochkin, Bower and Sun, ICLR 2020)."""

from __future__ import annotations

from torch import Tensor

from csad.data.samples import Batch, Task
from csad.methods.attack import WorstCase
from csad.methods.method import Course, Encoded, Features
from csad.methods.terms import known_labels, label_loss
from csad.nets.parts import Nets
from csad.registry import METHODS


@METHODS.register("sensr")
class Sensr(WorstCase):
    """Sensitive subspace robustness: the target is learned where x, moved at a small fair distance, makes it worst."""

    at_chance = "The target has fallen to chance in the worst cases: lower epsilon, subspace_rate or train.rate."

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        epsilon: float = 1e-3,  # the fair distance that is held; all defaults are the authors' for Adult
        distance_weight: float = 2.0,  # λ at the start
        subspace_steps: int = 50,
        subspace_rate: float = 10.0,
        full_steps: int = 40,
        full_rate: float = 1e-4,
        learned: tuple[str, ...] = (),  # biases with a linear reader; none named: all
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
        """F at the worst case of each row: where the loss of its own target is highest."""
        target = self.task.target
        count = known_labels(batch.y, target).sum()

        def loss(x: Tensor) -> Tensor:
            return count * label_loss(self.predict(x), batch.y, target)

        with self.at_rest():
            x_far, distance = self.far(batch.x, loss, self.coordinates(batch.x))
        return {"h_far": self.extract(self.F, x_far), "distance": distance}

    def fair_loss(self, e: Encoded) -> Tensor:
        """The target's loss at the worst cases, and nowhere else."""
        return self.target_loss(e._replace(h=e.h["h_far"]))
