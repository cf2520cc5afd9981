"""A moving average of weights, in which the back and forth of adversarial steps evens out."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

RAMP = 10  # steps: the average is short at first, so that it soon forgets its beginning


class Average(nn.Module):
    """The average of the weights of some parts, as buffers; statistics of BatchNorm are not averaged.

    Args:
        parts: The parts by name.
        decay: The share of the average that a step leaves in the long run.
    """

    def __init__(self, parts: Mapping[str, nn.Module], decay: float) -> None:
        super().__init__()
        self.decay: Tensor
        self.steps: Tensor
        self.register_buffer("decay", torch.tensor(float(decay)))
        self.register_buffer("steps", torch.zeros(()))
        self.names = {
            f"{part}.{name}": f"{part}.{name}".replace(".", "-")  # a buffer's name has no dots
            for part, module in parts.items()
            for name, _ in module.named_parameters()
        }
        for part, module in parts.items():
            for name, weight in module.named_parameters():
                self.register_buffer(self.names[f"{part}.{name}"], torch.zeros_like(weight))

    def after(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The buffers after one more step, which led to these weights."""
        decay = torch.minimum(self.decay, self.steps / (RAMP + self.steps))
        moved = {
            buffer: torch.lerp(weights[name].detach(), self.get_buffer(buffer), decay.to(weights[name].dtype))
            for name, buffer in self.names.items()
        }
        return {**moved, "steps": self.steps + 1}

    def weights(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The average by the names of the weights; the weights themselves if no step was made."""
        return {name: torch.where(self.steps > 0, self.get_buffer(m), weights[name]) for name, m in self.names.items()}
