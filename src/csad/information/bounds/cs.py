"""I_CS, the cross-sample bound of the paper (Zhu et al., ICCV 2021, Eq. 2)."""

from __future__ import annotations

import torch
from torch import Tensor

from csad.errors import unknown
from csad.information.bounds.masked import ONES, log_one_plus, only_with_contrast, sets
from csad.information.walk import Two, two
from csad.registry import BOUNDS

PAIRS = ("sum", "mean")


@BOUNDS.register("cs")
def cs(scores: Tensor, related: Tensor, pairs: str = "sum", scale: Two = ONES) -> Tensor:
    """Cross-sample bound I_CS: −log(1 + E_Ω exp(−α s)) − log(1 + E_rest exp(α s)), at most 0.

    Args:
        scores: Scores (N, N) between every h_y and every h_b.
        related: Ω (N, N), the related pairs: True or 1 for related, False or 0 for not, −1 for a pair that does not
            count.
        pairs: ``mean`` is Eq. 2 as printed; ``sum`` is the authors' code, which takes sums for both expectations and
            divides each logarithm by its α.
        scale: α for related pairs and α for the others.
    """
    if pairs not in PAIRS:
        raise unknown("form of I_CS", pairs, PAIRS)
    alphas = two(scale, scores)
    signed = torch.stack([-scores, scores])
    both = sets(related)
    terms = log_one_plus(alphas[:, None, None] * signed, both, pairs)  # attraction and repulsion
    value = -(terms / alphas if pairs == "sum" else terms).sum()
    return only_with_contrast(value, both)
