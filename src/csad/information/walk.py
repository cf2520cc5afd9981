"""The graph over a mini-batch and the random walk with restart on it (Zhu et al., ICCV 2021, Eq. 4–7)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from csad.errors import InputError


def graph(u: Tensor, sharpness: Tensor | float, *, symmetric: bool) -> Tensor:
    """Edges E (N, N) between unit vectors u (N, d): softmax over j of τ · u_i·u_j (Eq. 4, 5).

    Each row sums to one. ``symmetric`` averages E with its transpose, as the authors' code does and the paper's
    "undirected" asks for.
    """
    edges = torch.softmax(sharpness * (u @ u.mT), dim=-1)
    return (edges + edges.mT) / 2 if symmetric else edges


def random_walk(edges: Tensor, walk_on: float = 0.5) -> Tensor:
    """(1 − c)(I − cE)⁻¹, where every walk of Eq. 6 ends (Eq. 7), before any normalisation; column i starts at i.

    The inverse is the sum of all powers of A = cE, doubled each round: with k rounds R holds I + A + … up to the power
    2^(k+1) − 1. Only products of matrices: exact to rounding, quick, and recordable on a GPU. The derivative, R dA R,
    comes from a term whose value is zero: no round has to be remembered. (A second derivative would be wrong.)
    """
    if not 0 <= walk_on < 1:
        raise InputError(f"walk_on must lie in 0 … 1, and below 1, not {walk_on}: a walk has to restart.")
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

    That is twice the terms a row-stochastic E needs: the symmetrised graph may have a radius above one.
    """
    if walk_on <= 0:
        return 0
    terms = 2 * math.log(torch.finfo(dtype).eps * (1 - walk_on)) / math.log(walk_on)
    return max(0, math.ceil(math.log2(terms)) - 1)
