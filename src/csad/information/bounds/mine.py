"""MINE's bound (Belghazi et al., ICML 2018): Donsker–Varadhan, with the pairs of Ω as the joint distribution."""

from __future__ import annotations

from torch import Tensor

from csad.information.bounds.masked import ONES, log_mean_exp, mean, only_with_contrast, sets
from csad.information.walk import Two, two
from csad.registry import BOUNDS


@BOUNDS.register("mine")
def mine(scores: Tensor, related: Tensor, scale: Two = ONES) -> Tensor:
    """Donsker–Varadhan bound: E_Ω α s − log E_rest exp(α s), in nats.

    Args:
        scores: Scores (N, N) between every h_y and every h_b.
        related: Ω (N, N), the related pairs: True or 1 for related, False or 0 for not, −1 for a pair that does not
            count.
        scale: α for related pairs and α for the others.
    """
    positive, negative = both = sets(related)
    a_related, a_other = two(scale, scores)
    value = mean(a_related * scores, positive) - log_mean_exp(a_other * scores, negative)
    return only_with_contrast(value, both)
