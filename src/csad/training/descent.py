"""Adam and SGD as a few lines over tensors, one optimiser per part; their state is plain tensors.

torch's own optimisers refuse what stacked and recorded training needs (a rate per run, capture on any device); these
are tested equal to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import torch
from torch import Tensor, nn

BETAS = (0.9, 0.999)  # of Adam, as everywhere
MOMENTUM = 0.9


class Optimiser(Protocol):
    """Moves the weights it was made for; ``state`` holds all it remembers, by name."""

    weights: list[Tensor]
    state: dict[str, Tensor]

    def step(self, gradients: list[Tensor] | tuple[Tensor, ...], rate: float) -> None:
        """Moves the weights downhill."""


class Adam:
    """Adam (Kingma and Ba, 2015), weight decay as an L2 term in the gradient."""

    def __init__(self, weights: Mapping[str, Tensor], weight_decay: float) -> None:
        self.weights = list(weights.values())
        self.weight_decay = weight_decay
        self.means = [torch.zeros_like(w) for w in self.weights]
        self.squares = [torch.zeros_like(w) for w in self.weights]
        device = self.weights[0].device if self.weights else torch.device("cpu")
        self.steps = torch.zeros((), dtype=torch.float64, device=device)
        self.state = {"steps": self.steps}
        self.state |= {f"mean.{name}": m for name, m in zip(weights, self.means, strict=True)}
        self.state |= {f"square.{name}": s for name, s in zip(weights, self.squares, strict=True)}

    @torch.no_grad()
    def step(self, gradients: list[Tensor] | tuple[Tensor, ...], rate: float) -> None:
        """w ← w − rate · m̂ / (√v̂ + 1e-8)."""
        first, second = BETAS
        if self.weight_decay:
            gradients = torch._foreach_add(gradients, self.weights, alpha=self.weight_decay)
        self.steps.add_(1)
        torch._foreach_lerp_(self.means, gradients, 1 - first)
        torch._foreach_mul_(self.squares, second)
        torch._foreach_addcmul_(self.squares, gradients, gradients, 1 - second)
        sizes = torch._foreach_sqrt(self.squares)
        # The corrections are tensors of one float64 each: no number leaves the device.
        torch._foreach_div_(sizes, (1 - second**self.steps).sqrt())
        torch._foreach_add_(sizes, 1e-8)
        moves = torch._foreach_div(self.means, sizes)
        torch._foreach_mul_(moves, -rate / (1 - first**self.steps))
        torch._foreach_add_(self.weights, moves)


class Sgd:
    """Gradient descent with momentum 0.9, weight decay as an L2 term in the gradient."""

    def __init__(self, weights: Mapping[str, Tensor], weight_decay: float) -> None:
        self.weights = list(weights.values())
        self.weight_decay = weight_decay
        self.speeds = [torch.zeros_like(w) for w in self.weights]
        self.state = {f"speed.{name}": s for name, s in zip(weights, self.speeds, strict=True)}

    @torch.no_grad()
    def step(self, gradients: list[Tensor] | tuple[Tensor, ...], rate: float) -> None:
        """Adds the gradient to the speed and moves by it: w ← w − rate · v."""
        if self.weight_decay:
            gradients = torch._foreach_add(gradients, self.weights, alpha=self.weight_decay)
        torch._foreach_mul_(self.speeds, MOMENTUM)
        torch._foreach_add_(self.speeds, gradients)
        torch._foreach_add_(self.weights, self.speeds, alpha=-rate)


KINDS: dict[str, type[Adam] | type[Sgd]] = {"adam": Adam, "sgd": Sgd}


class Optimisers:
    """One optimiser per part, shared by every update that moves it; a second one only where an update names it."""

    def __init__(self, method: nn.Module, kind: str, weight_decay: float) -> None:
        self.method = method
        self.kind = kind
        self.weight_decay = weight_decay
        self.made: dict[tuple[str, str], Optimiser] = {}

    def of(self, part: str, name: str = "") -> Optimiser:
        """The part's optimiser, made when first asked for; a frozen weight of a user's backbone is left out."""
        if (part, name) not in self.made:
            weights = self.method.get_submodule(part).named_parameters()
            free = {key: w for key, w in weights if w.requires_grad}
            self.made[part, name] = KINDS[self.kind](free, self.weight_decay)
        return self.made[part, name]

    def renew(self, parts: Iterable[str]) -> None:
        """Forgets what the optimisers of these parts remember."""
        for part in parts:
            for key in [key for key in self.made if key[0] == part]:
                del self.made[key]

    def state(self) -> dict[str, Tensor]:
        """All that the optimisers remember, as plain tensors by name."""
        return {
            f"{part}/{name}/{key}": value
            for (part, name), optimiser in self.made.items()
            for key, value in optimiser.state.items()
        }

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Takes over what ``state`` gave."""
        self.made = {}
        for path, value in state.items():
            part, name, key = path.split("/", 2)
            self.of(part, name).state[key].copy_(value)
