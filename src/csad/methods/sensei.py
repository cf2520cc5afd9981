"""Sensitive set invariance (Yurochkin and Sun, ICLR 2021)."""

from __future__ import annotations

import torch
from torch import Tensor

from csad.data.samples import Batch, Task
from csad.methods.method import Course, Encoded, Features
from csad.methods.pieces.attack import WorstCase
from csad.methods.pieces.terms import label_loss
from csad.nets.parts import Nets
from csad.registry import METHODS

START = 0.1  # along each sensitive direction, either way: at x itself the distance of logits has no slope


def signs(rows: Tensor, count: int) -> Tensor:
    """1 or −1 (n, count) by row number and coordinate, as if drawn at random; the same in every epoch.

    The authors draw new ones each time, but a loss may not draw. Any hash will do; this one uses 32 bits.
    """
    mixed = rows[:, None] * count + torch.arange(count, device=rows.device)
    for odd in (0x2C1B3C6D, 0x297A2D39):  # below 2³¹, so that no product leaves 64 bits
        mixed = (mixed ^ (mixed >> 15)) * odd & 0xFFFFFFFF
    return 1 - 2 * (mixed >> 31)


@METHODS.register("sensei")
class Sensei(WorstCase):
    """Sensitive set invariance: logits must stay the same where x, moved by a small fair distance, changes them most.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        debias_weight: ρ, the weight of the distance between logits.
        epsilon: The fair distance that is held.
        distance_weight: λ at the start.
        subspace_steps: Steps of the ascent along the sensitive directions.
        subspace_rate: Learning rate of that ascent.
        full_steps: Steps of the ascent in all directions.
        full_rate: Learning rate of that ascent; 0: a tenth of epsilon.
        learned: The biases for which a linear probe is trained; none: all.
    """

    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 5.0,
        epsilon: float = 0.01,
        distance_weight: float = 2.0,
        subspace_steps: int = 50,
        subspace_rate: float = 10.0,
        full_steps: int = 50,
        full_rate: float = 0.0,
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
            full_rate=full_rate or epsilon / 10,
            learned=learned,
        )
        self.register_settings(debias_weight=debias_weight)

    def encode(self, batch: Batch) -> Features:
        """F at x, and at the worst case of each row, whose logits are farthest from those of x."""
        x = batch.x
        start = START * signs(batch.rows, len(self.directions)).to(x.dtype)
        with self.in_eval_mode():
            with torch.no_grad():
                logits = self.predict(x)
            x_far, distance = self.worst_case(x, lambda moved: (self.predict(moved) - logits).square().sum(), start)
        return {"h": self.extract(self.F, x), "h_far": self.extract(self.F, x_far), "distance": distance}

    def fair_loss(self, e: Encoded) -> Tensor:
        """The target's loss at x, and ρ times the squared distance of logits between x and its worst case."""
        logits: Tensor = self.P_y(self.D_y(e.h["h"]))
        apart: Tensor = logits - self.P_y(self.D_y(e.h["h_far"]))
        return label_loss(logits, e.y, self.task.target) + self.debias_weight * apart.square().sum(-1).mean()
