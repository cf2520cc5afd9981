"""Small building blocks that several parts share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from csad.errors import InputError
from csad.nets.norms import Resting

SLOPE = 0.01  # of LeakyReLU, as in the authors' heads and estimator


def at_least_one(**sizes: int | Sequence[int]) -> None:
    """Nothing, or an error that names the settings of a net that are no size."""
    small = [name for name, size in sizes.items() if min((size,) if isinstance(size, int) else size, default=1) < 1]
    if small:
        found = ", ".join(f"net.{name} = {sizes[name]}" for name in small)
        raise InputError(f"The sizes of a net must be 1 or more, not {found}.")


def image(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape (channels, height, width), or an error where x is no image."""
    if len(shape) != 3:
        raise InputError(f"A convolutional backbone needs x of shape (channels, height, width), not {shape}.")
    return shape


def reason(error: Exception) -> str:
    """The first line of what an error says, or its kind where it says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def dense(sizes: Sequence[int]) -> nn.Sequential:
    """Linear layers through the given sizes with LeakyReLU between them, none after the last."""
    layers: list[nn.Module] = []
    for width, following in pairwise(sizes):
        layers += [nn.Linear(width, following), nn.LeakyReLU(SLOPE)]
    return initialised(nn.Sequential(*layers[:-1]))


def initialised(part: nn.Sequential) -> nn.Sequential:
    """The part with Kaiming-normal weights (fan in) and torch's own biases, as the authors' code begins."""
    for layer in part.modules():
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
    return part


class ImageNetPixels(nn.Module):
    """Pixels of −1 … 1 on the scale that nets for ImageNet were trained on: its mean 0, its spread 1, by channel."""

    mean: Tensor
    spread: Tensor

    def __init__(self) -> None:
        super().__init__()
        # No part of the state: a file of weights has no such names.
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406])[:, None, None], persistent=False)
        self.register_buffer("spread", torch.tensor([0.229, 0.224, 0.225])[:, None, None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(n, 3, height, width)."""
        return ((x + 1) / 2 - self.mean) / self.spread


class FromPixels(nn.Conv2d):
    """A convolution of few channels as one product of matrices: of stacked runs twice as quick as grouped on a GPU."""

    def __init__(self, channels: int, filters: int, kernel: int) -> None:
        super().__init__(channels, filters, kernel)

    def forward(self, x: Tensor) -> Tensor:
        """(n, filters, height − kernel + 1, width − kernel + 1)."""
        kernel = self.weight.shape[-1]
        windows = x.unfold(2, kernel, 1).unfold(3, kernel, 1)  # (n, channels, height, width, kernel, kernel)
        height, width = windows.shape[2:4]
        columns = windows.permute(0, 1, 4, 5, 2, 3).reshape(x.shape[0], -1, height * width)
        out = (self.weight.flatten(1) @ columns).reshape(x.shape[0], -1, height, width)
        return out if self.bias is None else out + self.bias[:, None, None]


class Own(Resting):
    """A user's module as F, its output as rows; what came in eval mode (a frozen BatchNorm) stays in it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self._resting = tuple(part for part in module.modules() if not part.training)

    def forward(self, x: Tensor) -> Tensor:
        """h, flattened to rows."""
        h: Tensor = self.module(x)
        return h.flatten(1)


class Heads(nn.Module):
    """Several heads on the same features: a list of outputs, one (n, size) per bias column."""

    def __init__(self, heads: Sequence[nn.Module]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)

    def forward(self, h: Tensor) -> list[Tensor]:
        """One output per head."""
        return [head(h) for head in self.heads]
