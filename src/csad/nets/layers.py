"""Building blocks that several parts and backbones share, and a net whose BatchNorm can be frozen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from csad.errors import InputError

SLOPE = 0.01  # of LeakyReLU, as in the authors' heads and estimator
POLICIES = ("auto", "frozen", "learns")


def at_least_one(**sizes: int | Sequence[int]) -> None:
    """Raise InputError if a size of a net is below 1; the error names all such settings."""
    small = [name for name, size in sizes.items() if min((size,) if isinstance(size, int) else size, default=1) < 1]
    if small:
        settings = ", ".join(f"net.{name} = {sizes[name]}" for name in small)
        raise InputError("net-size-below-one", sizes=settings)


def image(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape (channels, height, width) of an image. Raise InputError if x has another number of axes."""
    if len(shape) != 3:
        raise InputError("conv-input-shape", shape=shape)
    return shape


def dense(sizes: Sequence[int]) -> nn.Sequential:
    """Linear layers through the given sizes with LeakyReLU between them, none after the last."""
    layers: list[nn.Module] = []
    for width, following in pairwise(sizes):
        layers += [nn.Linear(width, following), nn.LeakyReLU(SLOPE)]
    return initialized(nn.Sequential(*layers[:-1]))


def initialized(part: nn.Sequential) -> nn.Sequential:
    """The part with Kaiming-normal weights (fan in) and torch's own biases, as in the authors' code."""
    for layer in part.modules():
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
    return part


class ImageNetPixels(nn.Module):
    """Pixels of −1 … 1 on the scale of ImageNet: mean 0 and spread 1 in each channel over its pictures."""

    mean: Tensor
    spread: Tensor

    def __init__(self) -> None:
        super().__init__()
        # Not part of the state: a file of weights has no such names.
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406])[:, None, None], persistent=False)
        self.register_buffer("spread", torch.tensor([0.229, 0.224, 0.225])[:, None, None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(n, 3, height, width)."""
        return ((x + 1) / 2 - self.mean) / self.spread


class FromPixels(nn.Conv2d):
    """A convolution of few channels as one matrix product: twice as fast as a grouped one for stacked runs on a GPU."""

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


class FreezableBatchNorm(nn.Module):
    """A net whose BatchNorm layers can be frozen: they stay in eval mode, whatever mode the net is put in."""

    def __init__(self) -> None:
        super().__init__()
        self._frozen: tuple[nn.Module, ...] = ()
        self._freezes_later = False

    def train(self, mode: bool = True) -> FreezableBatchNorm:
        """Set the mode of all parts that are not frozen."""
        super().train(mode)
        for part in self._frozen:
            part.training = False
        return self

    def set_batch_norm(self, policy: str, *, pretrained: bool) -> None:
        """Choose when BatchNorm is frozen.

        Args:
            policy: ``frozen``: now; ``learns``: never; ``auto``: now if pretrained, else when ``freeze`` is called.
            pretrained: Whether the net has weights from a file.
        """
        if policy not in POLICIES:
            raise InputError("unknown-batch-norm-policy", known=POLICIES, policy=policy)
        self._freezes_later = policy == "auto" and not pretrained
        if policy == "frozen" or (policy == "auto" and pretrained):
            self._freeze()

    def freeze(self) -> bool:
        """Freeze BatchNorm if it is due, and tell whether it was; call this once a first stage has moved the net."""
        due, self._freezes_later = self._freezes_later, False
        if due:
            self._freeze()
        return due

    def _freeze(self) -> None:
        norms = tuple(part for part in self.modules() if isinstance(part, _BatchNorm))
        for norm in norms:
            norm.eval().requires_grad_(False)
        self._frozen += norms


class Own(FreezableBatchNorm):
    """A user's module as F, its output as rows; parts that came in eval mode (a frozen BatchNorm) stay in it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self._frozen = tuple(part for part in module.modules() if not part.training)

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
