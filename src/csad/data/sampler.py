"""The order of rows in mini-batches: plain, or balanced over the target or its cells with the bias."""

from __future__ import annotations

import torch
from torch import Tensor

from csad.data.pairs import known
from csad.errors import InputError


def balanced_over(kind: str, y: Tensor, b: Tensor) -> Tensor | None:
    """The label (n,) that has every value equally often in each mini-batch; None if the order is plain.

    "target" is y itself. "cells" numbers the combinations of y and all columns of b (n, columns); rows with an unknown
    bias label are a cell of their own for each value of y.
    """
    if kind == "cells":
        labels = torch.where(known(b).all(-1)[:, None], b, -1)
        cells: Tensor = torch.unique(torch.cat([y[:, None].to(b.dtype), labels], 1), dim=0, return_inverse=True)[1]
        return cells
    return y if kind == "target" else None


def epoch_order(
    n: int,
    batch_size: int,
    generator: torch.Generator,
    *,
    partial: str = "fill",
    balance: Tensor | None = None,
) -> list[Tensor]:
    """The row numbers of each mini-batch of one epoch: every row once, and those that fill the last batch.

    ``partial`` says what to do with a last batch that is too small: "fill" it from another permutation (all batches
    then have one size), "keep" it (the authors' code), or "drop" it. With ``balance`` (n,) each batch has every value
    equally often, rare ones with repetition; the epoch then has enough whole batches for all rows.
    """
    if balance is not None:
        return _balanced_order(balance.cpu(), n, batch_size, generator)
    order = torch.randperm(n, generator=generator)
    missing = -n % batch_size
    if missing and partial == "fill":
        while missing > 0:
            more = torch.randperm(n, generator=generator)[:missing]
            order = torch.cat([order, more])
            missing -= len(more)
    batches = list(torch.split(order, batch_size))
    if partial == "drop" and len(batches) > 1 and len(batches[-1]) < batch_size:
        batches.pop()
    return batches


def _balanced_order(balance: Tensor, n: int, batch_size: int, generator: torch.Generator) -> list[Tensor]:
    groups = [torch.nonzero(balance == value).flatten() for value in torch.unique(balance)]
    if batch_size < len(groups):
        raise InputError("batch-smaller-than-values", values=len(groups), batch_size=batch_size)
    batches = -(-n // batch_size)
    shares = [batch_size // len(groups) + (k < batch_size % len(groups)) for k in range(len(groups))]
    streams = [_endless(rows, batches * share, generator) for rows, share in zip(groups, shares, strict=True)]
    return [
        torch.cat([stream[k * share : (k + 1) * share] for stream, share in zip(streams, shares, strict=True)])
        for k in range(batches)
    ]


def _endless(rows: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """``length`` of the rows: permutation after permutation, so that all come once before one comes twice."""
    rounds = -(-length // len(rows))
    orders = [rows[torch.randperm(len(rows), generator=generator)] for _ in range(rounds)]
    return torch.cat(orders)[:length] if orders else rows[:0]
