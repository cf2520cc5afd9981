"""I_CS, the cross-sample bound of the paper (Zhu et al., ICCV 2021, Eq. 2)."""

from __future__ import annotations

from torch import Tensor

from csad.errors import unknown
from csad.information.bounds.masked import Scale, log_one_plus, only_with_contrast, sets
from csad.registry import BOUNDS

PAIRS = ("sum", "mean")


@BOUNDS.register("cs")
def cs(scores: Tensor, related: Tensor, pairs: str = "sum", scale: Scale = None) -> Tensor:
    """Cross-sample bound I_CS: −log(1 + E_Ω exp(−α s)) − log(1 + E_rest exp(α s)), at most 0.

    ``pairs="mean"`` is Eq. 2 as printed; ``"sum"`` is the authors' code, which takes sums for both expectations and
    divides each logarithm by its α.
    """
    if pairs not in PAIRS:
        raise unknown("form of I_CS", pairs, PAIRS)
    positive, negative = sets(related)
    a_related, a_other = scale or (1.0, 1.0)
    attract = log_one_plus(-a_related * scores, positive, pairs)
    repel = log_one_plus(a_other * scores, negative, pairs)
    value = -attract / a_related - repel / a_other if pairs == "sum" else -attract - repel
    return only_with_contrast(value, related)
