"""Ω: which samples of a mini-batch share a similar bias. A fact about b alone, as a mask, never a list of
indices.

Entry (i, j) is 1 where i and j are related, 0 where they are not, and −1 where a bias label of either is
unknown: such a pair is in neither set. Unknown is −1 where b holds whole numbers, NaN where it holds floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from csad.errors import InputError, unknown

RULES = ("same_bias", "near_bias", "same_sample")


@dataclass(frozen=True)
class Related:
    """The rule for Ω as plain values, so that a run's settings can hold it; call it on b (N, columns).

    "same_bias": all bias labels are equal. "near_bias": each differs by at most its ``tolerance``, one for each column.
    "same_sample": only a sample with itself, as in methods before CSAD.
    """

    rule: str = "same_bias"
    tolerance: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise unknown("rule for related samples", self.rule, RULES)
        if self.rule == "near_bias" and not self.tolerance:
            raise InputError("near_bias needs a tolerance for each bias column: give tolerance.")
        if not all(width >= 0 for width in self.tolerance):  # NaN is not
            raise InputError(f"A tolerance must be 0 or more, not {', '.join(map(str, self.tolerance))}.")

    def __call__(self, b: Tensor) -> Tensor:
        """Ω (N, N) of these bias labels."""
        if self.rule == "near_bias":
            return near_bias(b, self.tolerance)
        return same_bias(b) if self.rule == "same_bias" else same_sample(b)


def same_bias(b: Tensor) -> Tensor:
    """Ω (N, N): all bias columns are equal."""
    return _known_only((b[:, None] == b[None, :]).all(-1), b)


def near_bias(b: Tensor, tolerance: tuple[float, ...]) -> Tensor:
    """Ω (N, N): every bias column differs by at most its tolerance.

    On Colored MNIST a tolerance of 1 per channel is the paper's rule; the authors' "squared distance below 4"
    is the same for whole numbers.
    """
    if len(tolerance) != b.shape[1]:
        raise InputError(f"near_bias needs one tolerance per bias column: {b.shape[1]}, not {len(tolerance)}.")
    apart = (b[:, None] - b[None, :]).abs()
    near = [apart[..., k] <= width for k, width in enumerate(tolerance)]
    return _known_only(torch.stack(near).all(0), b)


def same_sample(b: Tensor) -> Tensor:
    """Ω (N, N): only i = j, the pairs of earlier methods."""
    return _known_only(torch.eye(len(b), dtype=torch.bool, device=b.device), b)


def of_one_class(related: Tensor, y: Tensor) -> Tensor:
    """Ω (N, N) without the pairs of two classes, or of a class that nobody knows: they are in neither set."""
    return torch.where((y[:, None] == y[None, :]) & known(y)[:, None], related, -1)


def known(b: Tensor) -> Tensor:
    """Mask of the known labels, same shape as b: neither −1 nor NaN."""
    return ~torch.isnan(b) if b.is_floating_point() else b >= 0


def _known_only(related: Tensor, b: Tensor) -> Tensor:
    whole = known(b).all(-1)
    return torch.where(whole[:, None] & whole[None, :], related.to(torch.int8), -1)
