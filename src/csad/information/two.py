"""Two numbers that go together, such as τ of either graph or α of either set of pairs."""

from __future__ import annotations

import torch
from torch import Tensor

Two = Tensor | tuple[Tensor | float, Tensor | float]


def two(numbers: Two, like: Tensor) -> Tensor:
    """The numbers as a tensor (2,): as they are if they come as one, else of the kind and device of ``like``."""
    if isinstance(numbers, Tensor):
        return numbers
    return torch.stack([torch.as_tensor(number, dtype=like.dtype, device=like.device) for number in numbers])
