"""Scores between every h_y and every h_b: content, structure and both (Zhu et al., ICCV 2021, Eq. 3, 8, 9)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from csad.errors import InputError, unknown
from csad.information.walk import Two, graph, random_walk, two

FORMS = ("authors", "paper")
KINDS = ("joint", "content", "structure")
LOG_GUARD = 1e-7  # the authors' code adds it inside both logarithms of Eq. 8


@dataclass(frozen=True)
class Similarity:
    """Unscaled scores s(i, j) between u = M_y(h_y) and v = M_b(h_b), both (N, d): a callable with plain settings.

    Args:
        form: ``authors`` makes graph and walk symmetric and pairs Eq. 8's second term as the authors' code does;
            ``paper`` follows the equations as printed.
        kind: ``content`` (Eq. 3), ``structure`` (Eq. 8) or ``joint``: their sum.
        walk_on: c, the probability that the random walk continues; the paper's 0.5.
    """

    form: str = "authors"
    kind: str = "joint"
    walk_on: float = 0.5

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise unknown("form of similarity", self.form, FORMS)
        if self.kind not in KINDS:
            raise unknown("kind of similarity", self.kind, KINDS)
        # The symmetric graph can have a spectral radius above one: a walk that seldom restarts then has no limit.
        highest = 0.6 if self.form == "authors" else 0.99
        if not 0 <= self.walk_on <= highest:
            raise InputError("walk-on-out-of-range", most=highest, form=self.form, walk_on=self.walk_on)

    def __call__(self, u: Tensor, v: Tensor, sharpness: Two) -> Tensor:
        """Scores (N, N); ``sharpness`` (2,) is τ for the graph over u and for the one over v."""
        u, v = unit(u), unit(v)
        if self.kind == "content":
            return content(u, v)
        structure = self._structure(u, v, two(sharpness, u))
        return structure if self.kind == "structure" else content(u, v) + structure

    def _structure(self, u: Tensor, v: Tensor, sharpness: Tensor) -> Tensor:
        # Both walks at once: half as many, larger products.
        r = self._ends(torch.stack([u, v]), sharpness[:, None, None])
        return structure(r, transposed=self.form == "authors")

    def _ends(self, u: Tensor, sharpness: Tensor) -> Tensor:
        """r (…, N, N): row i is the distribution of where a walk from i ends."""
        authors = self.form == "authors"
        walk = random_walk(graph(u, sharpness, symmetric=authors), self.walk_on)
        r = walk + walk.mT if authors else walk.mT  # twice the mean, which the next line divides out
        return r / r.sum(-1, keepdim=True)


def unit(u: Tensor) -> Tensor:
    """Rows of length one; a row of zeros stays zero, and a nearly zero row has a bounded gradient."""
    return torch.nn.functional.normalize(u, dim=-1, eps=1e-6)


def content(u: Tensor, v: Tensor) -> Tensor:
    """s_c (N, N): cosine of unit rows u_i and v_j (Eq. 3 without α), in −1 … 1."""
    return u @ v.mT


def structure(r: Tensor, *, transposed: bool) -> Tensor:
    """s_s (N, N) = ½ (r_y_i · log r_b_j + r_b_j · log r_y_i): minus the symmetric cross-entropy (Eq. 8), never above 0.

    ``r`` (2, N, N) holds r_y and r_b. ``transposed`` exchanges i and j in the second term, as the authors' code does.
    """
    forward, backward = (r @ torch.log(r + LOG_GUARD).flip(0).mT).unbind()
    return (forward + (backward if transposed else backward.mT)) / 2
