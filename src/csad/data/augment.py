"""How training varies its rows epoch by epoch; rows of other splits are never varied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from csad.errors import InputError


class Augmentation(Protocol):
    """Turns rows, and random numbers for each of them, into varied rows."""

    @property
    def numbers(self) -> int:
        """How many random numbers a row needs."""

    def __call__(self, x: Tensor, noise: Tensor) -> Tensor:
        """x (n, …), varied by noise (n, numbers) in 0 … 1."""


@dataclass(frozen=True)
class Pictures:
    """Flips half of the pictures (n, channels, height, width) left to right, and moves all by some pixels.

    Args:
        flip: Whether pictures are flipped.
        shift: The largest move each way; the edge is repeated in the empty place.
    """

    flip: bool = True
    shift: int = 0

    def __post_init__(self) -> None:
        if self.shift < 0:
            raise InputError("negative-shift", shift=self.shift)

    @property
    def numbers(self) -> int:
        """One number for the flip, two for the move."""
        return 3

    def __call__(self, x: Tensor, noise: Tensor) -> Tensor:
        """The pictures, each flipped and moved by its own numbers."""
        if self.flip:
            x = torch.where(noise[:, 0, None, None, None] < 0.5, x.flip(-1), x)
        if not self.shift:
            return x
        height, width = x.shape[-2:]
        start = (noise[:, 1:3] * (2 * self.shift + 1)).long().clamp(max=2 * self.shift)
        down = start[:, 0, None] + torch.arange(height, device=x.device)
        across = start[:, 1, None] + torch.arange(width, device=x.device)
        framed = pad(x, (self.shift,) * 4, mode="replicate")
        number = torch.arange(len(x), device=x.device)[:, None, None]
        # Indices around a slice bring the channels last.
        return framed[number, :, down[:, :, None], across[:, None, :]].movedim(-1, 1)


def hash_uniform(rows: Tensor, tag: Tensor, count: int) -> Tensor:
    """Numbers in 0 … 1 (…, count) that follow from row numbers and a tag alone, but look random.

    It is a hash, not a generator: the same on every device, and a recorded graph draws nothing.
    """
    mixed = rows[..., None] * count + torch.arange(count, device=rows.device)
    # The tag comes after the first mix: before it, another tag would only change places.
    for more, odd in ((0, 0x2C1B3C6D), (tag[..., None], 0x297A2D39), (0, 0x1B56C4E9)):
        mixed = (mixed ^ (mixed >> 15) ^ more) * odd & 0xFFFFFFFF  # factors below 2³¹: no product leaves 64 bits
    return ((mixed ^ (mixed >> 16)) & 0xFFFFFF).to(torch.get_default_dtype()) / 2**24
