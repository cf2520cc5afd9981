"""The worst case of x within a small fair distance, for SenSR and SenSeI (Yurochkin, Bower and Sun, ICLR 2020).

The fair distance is the squared length outside the sensitive subspace: moving along that subspace costs nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor
from torch._C._functorch import is_batchedtensor
from torch.autograd.functional import vjp
from torch.func import grad

from csad.data.samples import Task
from csad.errors import InputError
from csad.methods.method import TARGET_BRANCH, Assign, Course, Encoded, Stage
from csad.methods.pieces.fair_subspace import SensitiveSubspace, away_from
from csad.nets.parts import Nets

BETAS, SMALL = (0.9, 0.999), 1e-8  # of Adam, as everywhere
LEAST_WEIGHT = 1e-5  # of the distance; the authors'

Objective = Callable[[Tensor], Tensor]  # rows → a sum of one term per row


def gradient(objective: Objective) -> Callable[[Tensor], Tensor]:
    """The gradient of the objective as a function, without a graph for a second derivative."""
    stacked = grad(objective)

    def of(at: Tensor) -> Tensor:
        # Under vmap only torch.func finds gradients. A single run does without it: the memory that a run needs is
        # measured by hooks (training/memory.py), which torch.func refuses.
        if is_batchedtensor(at):
            slope: Tensor = stacked(at)
        else:
            slope = vjp(objective, at)[1]  # type: ignore[no-untyped-call]
        return slope

    return of


def ascend(slope: Callable[[Tensor], Tensor], start: Tensor, steps: int, rate: Tensor) -> Tensor:
    """Go uphill along ``slope`` from ``start``, by so many steps of Adam."""
    at, mean, square = start, torch.zeros_like(start), torch.zeros_like(start)
    for step in range(1, steps + 1):
        g = slope(at)
        mean = torch.lerp(mean, g, 1 - BETAS[0])
        square = torch.lerp(square, g * g, 1 - BETAS[1])
        length = square.sqrt() / (1 - BETAS[1] ** step) ** 0.5 + SMALL
        at = at + rate / (1 - BETAS[0] ** step) * (mean / length)
    return at


def next_weight(weight: Tensor, distance: Tensor, epsilon: Tensor) -> Tensor:
    """λ after a step at mean distance d: max(1e-5, λ + max(d, ε) / min(d, ε) · (d − ε)); at d = 0 the least."""
    times = torch.maximum(distance, epsilon) / torch.minimum(distance, epsilon)
    return (weight + times * (distance - epsilon)).clamp(min=LEAST_WEIGHT)


class WorstCase(SensitiveSubspace):
    """A method that trains on the worst cases of x; children define what is worst, and the loss.

    Two ascents find them: first along the sensitive directions, free of cost, then in all directions, at λ
    (``distance_weight``) times the fair distance. λ is a dual variable: it follows the mean distance of each mini-batch
    and holds it at ``epsilon``; the setting is its start.
    """

    encoder: ClassVar[tuple[str, ...]] = TARGET_BRANCH  # the ascents go through all of it
    epsilon: Tensor
    distance_weight: Tensor
    subspace_rate: Tensor
    full_rate: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        epsilon: float,
        distance_weight: float,
        subspace_steps: int,
        subspace_rate: float,
        full_steps: int,
        full_rate: float,
        learned: tuple[str, ...],
    ) -> None:
        super().__init__(task, nets, course, learned=learned)
        if epsilon <= 0:
            raise InputError("epsilon-not-positive", epsilon=epsilon)
        for name, steps in {"subspace_steps": subspace_steps, "full_steps": full_steps}.items():
            if steps < 0:
                raise InputError("negative-setting", setting=name, value=steps)
        self.subspace_steps, self.full_steps = subspace_steps, full_steps
        self.register_settings(
            epsilon=epsilon, distance_weight=distance_weight, subspace_rate=subspace_rate, full_rate=full_rate
        )

    @abstractmethod
    def fair_loss(self, e: Encoded) -> Tensor:
        """The loss of the target branch; ``e.h`` is the output of ``encode``, with the ``distance`` of each row."""

    @torch.no_grad()
    def worst_case(self, x: Tensor, objective: Objective, start: Tensor) -> tuple[Tensor, Tensor]:
        """The worst case of each row, in x's shape, and its fair distance (n,); neither has a gradient.

        Args:
            x: The rows.
            objective: What is worst: the ascents go uphill on it.
            start: Coordinates (n, directions) along the sensitive directions at which the first ascent begins.
        """
        rows, directions = x.flatten(1), self.directions

        def along(u: Tensor) -> Tensor:
            return torch.addmm(rows, u, directions).reshape(x.shape)

        uphill = gradient(lambda u: objective(along(u)))
        beside = along(ascend(uphill, start, self.subspace_steps, self.subspace_rate))
        steepest = gradient(objective)

        def against_cost(moved: Tensor) -> Tensor:
            return steepest(beside + moved) - 2 * self.distance_weight * away_from(moved, directions)

        # The distance of the move alone: of x_far − x, hundreds long, float32 would keep few digits of it.
        moved = ascend(against_cost, torch.zeros_like(x), self.full_steps, self.full_rate)
        return beside + moved, away_from(moved, directions).flatten(1).square().sum(1)

    def coordinates(self, x: Tensor) -> Tensor:
        """Zeros (n, directions): the coordinates of x itself along the sensitive directions."""
        return x.new_zeros(len(x), len(self.directions))

    @contextmanager
    def in_eval_mode(self) -> Iterator[None]:
        """Put the target branch in eval mode: an ascent changes no running statistics and meets no dropout."""
        modes = [(part, part.training) for name in TARGET_BRANCH for part in self.get_submodule(name).modules()]
        for part, _ in modes:
            part.training = False
        try:
            yield
        finally:
            for part, mode in modes:
                part.training = mode

    def _weigh(self, e: Encoded) -> Mapping[str, Tensor]:
        return {"distance_weight": next_weight(self.distance_weight, e.h["distance"].mean(), self.epsilon)}

    def schedule(self) -> tuple[Stage, ...]:
        """Fair from the first step on, as in the authors' code."""
        # λ comes first, because the worst cases are stale once the target branch has moved; the loss does not use λ.
        weigh = Assign("distance_weight", self._weigh)
        fair = replace(self.target_update(), loss=self.fair_loss)
        first = self.target_stage()._replace(updates=(weigh, fair))
        return first, self.last_stage("debias", (weigh, fair))
