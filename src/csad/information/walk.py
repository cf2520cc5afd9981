"""The graph over a mini-batch and the random walk with restart on it (Zhu et al., ICCV 2021, Eq. 4–7)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from csad.errors import InputError

Two = Tensor | tuple[Tensor | float, Tensor | float]


def two(numbers: Two, like: Tensor) -> Tensor:
    """Two numbers as a tensor (2,): a tensor as it is, other numbers with the dtype and device of ``like``."""
    if isinstance(numbers, Tensor):
        return numbers
    return torch.stack([torch.as_tensor(number, dtype=like.dtype, device=like.device) for number in numbers])


def graph(u: Tensor, sharpness: Tensor | float, *, symmetric: bool) -> Tensor:
    """Edges E (N, N) between unit vectors: softmax over j of τ · u_i·u_j, so that each row sums to one (Eq. 4, 5).

    Args:
        u: Unit vectors (N, d).
        sharpness: τ.
        symmetric: Whether to average E with its transpose, as the authors' code does and the paper's "undirected"
            suggests.
    """
    edges = torch.softmax(sharpness * (u @ u.mT), dim=-1)
    return (edges + edges.mT) / 2 if symmetric else edges


def random_walk(edges: Tensor, walk_on: float = 0.5) -> Tensor:
    """(1 − c)(I − cE)⁻¹, where the walks of Eq. 6 end (Eq. 7), before any normalization; column i starts at i.

    The inverse is the sum of all powers of A = cE, doubled each round: after k rounds R holds I + A + … up to the power
    2^(k+1) − 1. It takes matrix products only: exact to rounding, fast, recordable on a GPU. The derivative, R dA R,
    comes from a term whose value is zero, so no round has to be stored. (A second derivative would be wrong.)

    Args:
        edges: E (N, N), the edges of the graph.
        walk_on: c, the probability that the walk continues.
    """
    if not 0 <= walk_on < 1:
        raise InputError("random-walk-never-restarts", walk_on=walk_on)
    step = walk_on * edges
    total = _all_powers(step.detach(), _rounds(walk_on, edges.dtype))
    return (1 - walk_on) * (total + total @ (step - step.detach()) @ total)


def _all_powers(step: Tensor, rounds: int) -> Tensor:
    """I + A + A² + … by doubling."""
    power = step.reshape(-1, *step.shape[-2:])
    total = power + torch.eye(step.shape[-1], dtype=step.dtype, device=step.device)
    for _ in range(rounds):
        power = power @ power
        total = torch.baddbmm(total, total, power)
    return total.reshape(step.shape)


def _rounds(walk_on: float, dtype: torch.dtype) -> int:
    """Doublings until the rest is below rounding, counting on a spectral radius of cE of at most √c.

    That is twice the terms of a row-stochastic E: the symmetric graph may have a radius above one.
    """
    if walk_on <= 0:
        return 0
    terms = 2 * math.log(torch.finfo(dtype).eps * (1 - walk_on)) / math.log(walk_on)
    return max(0, math.ceil(math.log2(terms)) - 1)
