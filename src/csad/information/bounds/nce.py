"""InfoNCE (van den Oord et al., 2018), with several related partners per sample."""

from __future__ import annotations

import torch
from torch import Tensor

from csad.information.bounds.masked import ONES, mean, only_with_contrast, sets
from csad.information.walk import Two, two
from csad.registry import BOUNDS


@BOUNDS.register("nce")
def nce(scores: Tensor, related: Tensor, scale: Two = ONES) -> Tensor:
    """InfoNCE: mean over related (i, j) of α s_ij − log of the mean of exp(α s) over j and the row's others, in nats.

    A related pair competes with the pairs of its row that are not related, never with other related ones.

    Args:
        scores: Scores (N, N) between every h_y and every h_b.
        related: Ω (N, N), the related pairs: True or 1 for related, False or 0 for not, −1 for a pair that does not
            count.
        scale: α for related pairs and α for the others.
    """
    positive, negative = both = sets(related)
    a_related, a_other = two(scale, scores)
    attraction = a_related * scores
    others = (a_other * scores).masked_fill(~negative, -torch.inf)
    # A row without others has no competitor: −inf would give NaN gradients there, so the row stays finite.
    lonely = ~negative.any(-1, keepdim=True)
    rivals = torch.logsumexp(others.masked_fill(lonely, 0), -1, keepdim=True).masked_fill(lonely, -torch.inf)
    field = torch.logaddexp(attraction, rivals) - torch.log1p(negative.sum(-1, keepdim=True).to(scores.dtype))
    return only_with_contrast(mean(attraction - field, positive), both)
