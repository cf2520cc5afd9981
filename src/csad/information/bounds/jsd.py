"""I_JSD, the Jensen–Shannon bound of Deep InfoMax (Zhu et al., ICCV 2021, Eq. 1 and the supplement's form over Ω)."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import softplus

from csad.information.bounds.masked import ONES, mean, only_with_contrast, sets
from csad.information.walk import Two, two
from csad.registry import BOUNDS


@BOUNDS.register("jsd")
def jsd(scores: Tensor, related: Tensor, scale: Two = ONES) -> Tensor:
    """Jensen–Shannon bound I_JSD: −E_Ω sp(−α s) − E_rest sp(α s) with sp(x) = log(1 + exp x), at most 0.

    Args:
        scores: Scores (N, N) between every h_y and every h_b.
        related: Ω (N, N), the related pairs: True or 1 for related, False or 0 for not, −1 for a pair that does not
            count.
        scale: α for related pairs and α for the others.
    """
    positive, negative = both = sets(related)
    a_related, a_other = two(scale, scores)
    value = -mean(_sp(-a_related * scores), positive) - mean(_sp(a_other * scores), negative)
    return only_with_contrast(value, both)


def _sp(x: Tensor) -> Tensor:
    # Above 20 torch would return x itself, which differs from log(1 + exp x) in float64.
    return softplus(x, threshold=40)
