"""Ω: which samples of a mini-batch share a similar bias. It follows from b alone and is a mask.

Entry (i, j) is 1 if i and j are related, 0 if they are not, and −1 if a bias label of either is unknown: such a pair is
in neither set. Unknown is −1 if b holds whole numbers, NaN if it holds floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from csad.errors import InputError, unknown

RULES = ("same_bias", "near_bias", "same_sample")


@dataclass(frozen=True)
class Related:
    """The rule for Ω, as plain values that the settings of a run can hold. Call it on b (N, columns).

    Args:
        rule: "same_bias": all bias labels are equal. "near_bias": each differs by at most its tolerance.
            "same_sample": only a sample with itself, as in methods before CSAD.
        tolerance: For "near_bias", the largest distance in each column of b.
    """

    rule: str = "same_bias"
    tolerance: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise unknown("rule for related samples", self.rule, RULES)
        if self.rule == "near_bias" and not self.tolerance:
            raise InputError("near-bias-without-tolerance")
        if not all(width >= 0 for width in self.tolerance):  # NaN is not
            raise InputError("negative-tolerance", tolerances=", ".join(map(str, self.tolerance)))

    def __call__(self, b: Tensor) -> Tensor:
        """Ω (N, N) of these bias labels."""
        if self.rule == "near_bias":
            return near_bias(b, self.tolerance)
        return same_bias(b) if self.rule == "same_bias" else same_sample(b)


def same_bias(b: Tensor) -> Tensor:
    """Ω (N, N) with pairs whose bias labels are all equal.

    Args:
        b: The bias labels (N, columns).
    """
    return _known_only((b[:, None] == b[None, :]).all(-1), b)


def near_bias(b: Tensor, tolerance: tuple[float, ...]) -> Tensor:
    """Ω (N, N) with pairs whose labels differ by at most the tolerance in every bias column.

    On Colored MNIST a tolerance of 1 for each channel is the paper's rule; the authors' "squared distance below 4" is
    the same for whole numbers.

    Args:
        b: The bias labels (N, columns).
        tolerance: The largest distance in each column.
    """
    if len(tolerance) != b.shape[1]:
        raise InputError("tolerance-count-mismatch", columns=b.shape[1], count=len(tolerance))
    apart = (b[:, None] - b[None, :]).abs()
    near = [apart[..., k] <= width for k, width in enumerate(tolerance)]
    return _known_only(torch.stack(near).all(0), b)


def same_sample(b: Tensor) -> Tensor:
    """Ω (N, N) with pairs of a sample and itself only, as in earlier methods.

    Args:
        b: The bias labels (N, columns).
    """
    return _known_only(torch.eye(len(b), dtype=torch.bool, device=b.device), b)


def of_one_class(related: Tensor, y: Tensor) -> Tensor:
    """Ω (N, N) without pairs of two classes, or of an unknown class: these are then in neither set.

    Args:
        related: Ω (N, N).
        y: The classes (N,).
    """
    return torch.where((y[:, None] == y[None, :]) & known(y)[:, None], related, -1)


def known(b: Tensor) -> Tensor:
    """The mask of the known labels, in the shape of b: those that are neither −1 nor NaN."""
    return ~torch.isnan(b) if b.is_floating_point() else b >= 0


def _known_only(related: Tensor, b: Tensor) -> Tensor:
    whole = known(b).all(-1)
    return torch.where(whole[:, None] & whole[None, :], related.to(torch.int8), -1)
