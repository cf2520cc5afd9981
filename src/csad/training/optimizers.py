"""Adam and SGD as a few lines over tensors, one optimizer per part; their state is plain tensors.

torch's own optimizers cannot do what stacked and recorded training needs (a rate per run, capture on any device); tests
hold that these take the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

BETAS = (0.9, 0.999)  # of Adam, as everywhere
MOMENTUM = 0.9
Decay = float | Tensor  # one number, or one per run
Tensors = list[Tensor] | tuple[Tensor, ...]


class Optimizer(Protocol):
    """Moves its weights; ``state`` holds all it remembers, by name."""

    weights: list[Tensor]
    state: dict[str, Tensor]

    def step(self, gradients: Tensors, rate: Tensor) -> None:
        """Move the weights downhill; ``rate`` is one number, or one per run."""


def _over(weights: Tensors, number: Tensor) -> Any:
    """One number for all weights, or a number per run along the first axis of each weight."""
    number = number.to(weights[0].dtype)  # another dtype would make torch multiply weight by weight
    if number.ndim == 0:
        return number
    return [number.reshape(-1, *(1,) * (w.ndim - 1)) for w in weights]


def _decayed(gradients: Tensors, weights: Tensors, weight_decay: Decay) -> Tensors:
    """The gradients with weight decay added."""
    if isinstance(weight_decay, Tensor):
        return torch._foreach_add(gradients, torch._foreach_mul(weights, _over(weights, weight_decay)))
    return torch._foreach_add(gradients, weights, alpha=weight_decay) if weight_decay else gradients


class Adam:
    """Adam (Kingma and Ba, 2015), weight decay as an L2 term in the gradient."""

    def __init__(self, weights: Mapping[str, Tensor], weight_decay: Decay) -> None:
        self.weights = list(weights.values())
        self.weight_decay = weight_decay
        # Contiguous, whatever the weights' own layout: the fused kernel reads all of them in step.
        self.means, self.squares, self.moves = (
            [torch.zeros_like(w, memory_format=torch.contiguous_format) for w in self.weights] for _ in range(3)
        )
        device = self.weights[0].device if self.weights else torch.device("cpu")
        self.steps = torch.zeros((), dtype=torch.float32, device=device)  # the dtype of torch's fused kernel
        self.state = {"steps": self.steps}
        self.state |= {f"mean.{name}": m for name, m in zip(weights, self.means, strict=True)}
        self.state |= {f"square.{name}": s for name, s in zip(weights, self.squares, strict=True)}

    @torch.no_grad()
    def step(self, gradients: Tensors, rate: Tensor) -> None:
        """w ← w − rate · m̂ / (√v̂ + 1e-8)."""
        gradients = [gradient.contiguous() for gradient in _decayed(gradients, self.weights, self.weight_decay)]
        self.steps.add_(1)
        # torch's fused kernel takes one rate only: at rate 1 it moves zeros by the move of each weight.
        torch._foreach_zero_(self.moves)
        torch._fused_adam_(
            self.moves, gradients, self.means, self.squares, [], [self.steps] * len(self.moves),
            lr=1.0, beta1=BETAS[0], beta2=BETAS[1], weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip
        torch._foreach_mul_(self.moves, _over(self.moves, rate))
        torch._foreach_add_(self.weights, self.moves)


class Sgd:
    """Gradient descent with momentum 0.9, weight decay as an L2 term in the gradient."""

    def __init__(self, weights: Mapping[str, Tensor], weight_decay: Decay) -> None:
        self.weights = list(weights.values())
        self.weight_decay = weight_decay
        self.speeds = [torch.zeros_like(w) for w in self.weights]
        self.state = {f"speed.{name}": s for name, s in zip(weights, self.speeds, strict=True)}

    @torch.no_grad()
    def step(self, gradients: Tensors, rate: Tensor) -> None:
        """Add the gradient to the speed and move by it: w ← w − rate · v."""
        gradients = _decayed(gradients, self.weights, self.weight_decay)
        torch._foreach_mul_(self.speeds, MOMENTUM)
        torch._foreach_add_(self.speeds, gradients)
        torch._foreach_add_(self.weights, torch._foreach_mul(self.speeds, _over(self.speeds, -rate)))


KINDS: dict[str, type[Adam] | type[Sgd]] = {"adam": Adam, "sgd": Sgd}


class Optimizers:
    """One optimizer per part, shared by every update that moves it; a second one only if an update names it.

    Args:
        weights: The weights of a part that may move, by the part's name.
        kind: ``adam`` or ``sgd``.
        weight_decay: One number, or one per run.
    """

    def __init__(self, weights: Callable[[str], Mapping[str, Tensor]], kind: str, weight_decay: Decay) -> None:
        self.weights = weights
        self.kind = kind
        self.weight_decay = weight_decay
        self.by_part: dict[tuple[str, str], Optimizer] = {}

    def of(self, part: str, name: str = "") -> Optimizer:
        """The part's optimizer, created at its first use."""
        if (part, name) not in self.by_part:
            self.by_part[part, name] = KINDS[self.kind](self.weights(part), self.weight_decay)
        return self.by_part[part, name]

    def renew(self, parts: Iterable[str]) -> None:
        """Forget the optimizers of these parts: they start afresh."""
        for part in parts:
            for key in [key for key in self.by_part if key[0] == part]:
                del self.by_part[key]

    def state(self) -> dict[str, Tensor]:
        """All that the optimizers remember, as plain tensors by name."""
        return {
            f"{part}/{name}/{key}": value
            for (part, name), optimizer in self.by_part.items()
            for key, value in optimizer.state.items()
        }

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Restore what ``state`` returned."""
        self.by_part = {}
        for path, value in state.items():
            part, name, key = path.split("/", 2)
            self.of(part, name).state[key].copy_(value)
