"""How training varies what it sees of a row, epoch by epoch; never what is tested on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from csad.errors import InputError


class Vary(Protocol):
    """Turns seen rows and random numbers for each into varied rows."""

    @property
    def numbers(self) -> int:
        """How many random numbers a row needs."""

    def __call__(self, x: Tensor, noise: Tensor) -> Tensor:
        """x (n, …), varied by noise (n, numbers) in 0 … 1."""


@dataclass(frozen=True)
class Pictures:
    """Pictures (n, channels, height, width) flipped left to right in half of the cases, and moved by some pixels."""

    flip: bool = True
    shift: int = 0  # at most so many pixels each way; the edge is repeated where nothing was

    def __post_init__(self) -> None:
        if self.shift < 0:
            raise InputError(f"shift must be 0 pixels or more, not {self.shift}.")

    @property
    def numbers(self) -> int:
        """One for the flip, two for the move."""
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


def as_if_random(rows: Tensor, tag: Tensor, count: int) -> Tensor:
    """Numbers in 0 … 1 (…, count) that follow from row numbers and a tag alone, as if drawn at random.

    A hash in place of a generator: the same on every device, and nothing has to be drawn inside a recording.
    """
    mixed = rows[..., None] * count + torch.arange(count, device=rows.device)
    # The tag comes in once places are mixed: before, another tag would only change places.
    for more, odd in ((0, 0x2C1B3C6D), (tag[..., None], 0x297A2D39), (0, 0x1B56C4E9)):
        mixed = (mixed ^ (mixed >> 15) ^ more) * odd & 0xFFFFFFFF  # factors below 2³¹: no product leaves 64 bits
    return ((mixed ^ (mixed >> 16)) & 0xFFFFFF).to(torch.get_default_dtype()) / 2**24
