"""Sums and means over one of the two sets of pairs that Ω defines, finite for an empty set."""

from __future__ import annotations

import torch
from torch import Tensor

ONES = (1.0, 1.0)  # the default of α


def sets(related: Tensor) -> Tensor:
    """Masks (2, N, N) of Ω: the related pairs, and the others; a pair marked −1 is in neither."""
    return torch.stack([related > 0, related == 0])


def pair_count(mask: Tensor, like: Tensor) -> Tensor:
    """The number of pairs in a set, at least 1, as a divisor in the precision of ``like``."""
    return mask.sum().clamp(min=1).to(like.dtype)


def mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values in a set, 0 for an empty one."""
    return values.masked_fill(~mask, 0).sum() / pair_count(mask, values)


def log_mean_exp(values: Tensor, mask: Tensor) -> Tensor:
    """log of the mean of exp over a set, 0 for an empty one."""
    empty = ~mask.any()
    values, mask = values.flatten(), mask.flatten()
    rest = torch.zeros_like(values[:1]).masked_fill(~empty, -torch.inf)
    every = torch.cat([values.masked_fill(~mask, -torch.inf), rest])
    return torch.logsumexp(every, 0) - pair_count(mask, values).log()


def log_one_plus(values: Tensor, masks: Tensor, pairs: str) -> Tensor:
    """log(1 + Σ exp) over sets (k, N, N), or log(1 + mean exp) for ``pairs="mean"``; 0 for an empty set."""
    values, masks = values.flatten(1), masks.flatten(1)
    if pairs == "mean":
        values = values - masks.sum(1, keepdim=True).clamp(min=1).to(values.dtype).log()
    zero = torch.zeros_like(values[:, :1])  # log 1
    return torch.logsumexp(torch.cat([values.masked_fill(~masks, -torch.inf), zero], 1), 1)


def only_with_contrast(value: Tensor, sets: Tensor) -> Tensor:
    """The value, without gradient if one of the two sets is empty: then there is nothing to tell apart."""
    return torch.where(sets.flatten(1).any(1).all(), value, value.detach())
