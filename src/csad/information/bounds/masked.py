"""Sums and means over one of the two sets of pairs that Ω makes, finite for an empty set."""

from __future__ import annotations

import torch
from torch import Tensor

Scale = tuple[Tensor | float, Tensor | float] | None


def sets(related: Tensor) -> tuple[Tensor, Tensor]:
    """(positive, negative) masks of Ω; a pair marked −1 is in neither."""
    return related > 0, related == 0


def count(mask: Tensor, like: Tensor) -> Tensor:
    """How many pairs a set holds, at least one, to divide by: in the precision of ``like``."""
    return mask.sum().clamp(min=1).to(like.dtype)


def mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values in a set, 0 for none."""
    return values.masked_fill(~mask, 0).sum() / count(mask, values)


def log_mean_exp(values: Tensor, mask: Tensor) -> Tensor:
    """log of the mean of exp over a set, 0 for none."""
    empty = ~mask.any()
    rest = torch.zeros_like(values[..., 0, 0]).masked_fill(~empty, -torch.inf)
    every = torch.cat([values.masked_fill(~mask, -torch.inf).flatten(), rest[None]])
    return torch.logsumexp(every, 0) - count(mask, values).log()


def log_one_plus(values: Tensor, mask: Tensor, pairs: str) -> Tensor:
    """log(1 + Σ exp) over a set, or log(1 + mean exp) for ``pairs="mean"``; 0 for an empty set."""
    if pairs == "mean":
        values = values - count(mask, values).log()
    one = torch.zeros_like(values[:1, 0])
    return torch.logsumexp(torch.cat([values.masked_fill(~mask, -torch.inf).flatten(), one]), 0)


def only_with_contrast(value: Tensor, related: Tensor) -> Tensor:
    """The value, without gradient when one of the two sets is empty: nothing then tells them apart."""
    positive, negative = sets(related)
    return torch.where(positive.any() & negative.any(), value, value.detach())
