"""The estimator M itself: two nets, the learnable scales τ and α, and the scores they give."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from csad.information.similarity import Similarity


class Scale(nn.Module):
    """A learnable number that stays positive: start + θ for θ above 0, start · exp(θ / start) below; at first θ = 0.

    Upwards it moves as in the authors' code, where the scale itself is the weight and may become negative. Both halves
    meet with the same slope. Weight decay draws it to its start, not to zero.
    """

    def __init__(self, start: float) -> None:
        super().__init__()
        self.register_buffer("start", torch.tensor(float(start)))
        self.theta = nn.Parameter(torch.zeros(()))
        self.start: Tensor

    def forward(self) -> Tensor:
        """The number."""
        return _positive(self.start, self.theta)


def together(*scales: Scale) -> Tensor:
    """Several numbers as one tensor, computed at once: on a GPU each alone would take as long as all."""
    return _positive(torch.stack([scale.start for scale in scales]), torch.stack([scale.theta for scale in scales]))


def _positive(start: Tensor, theta: Tensor) -> Tensor:
    return start * torch.exp((theta / start).clamp(max=0)) + torch.relu(theta)


class Estimator(nn.Module):
    """M(h_y_i, h_b_j): scores (N, N) of nets M_y and M_b under a similarity, unscaled; the bound applies α.

    Args:
        M_y: The net for h_y.
        M_b: The net for h_b.
        similarity: Compares their outputs.
        sharpness: The initial value of τ.
        scale: The initial value of α.
        two_scales: Whether related pairs and others have an α each, as in the authors' code; the paper has one.
    """

    def __init__(
        self,
        M_y: nn.Module,
        M_b: nn.Module,
        similarity: Similarity,
        *,
        sharpness: float = 10.0,
        scale: float = 1.0,
        two_scales: bool = True,
    ) -> None:
        super().__init__()
        self.M_y, self.M_b = M_y, M_b
        self.similarity = similarity
        self.sharpness_y, self.sharpness_b = Scale(sharpness), Scale(sharpness)
        self.scale_related = Scale(scale)
        self.scale_other = Scale(scale) if two_scales else None

    def forward(self, h_y: Tensor, h_b: Tensor) -> Tensor:
        """Scores (N, N) between every h_y and every h_b."""
        return self.similarity(self.M_y(h_y), self.M_b(h_b), together(self.sharpness_y, self.sharpness_b))

    def scale(self) -> Tensor:
        """(α for related pairs, α for the others)."""
        return together(self.scale_related, self.scale_other or self.scale_related)

    def scales(self) -> dict[str, Tensor]:
        """The learnable numbers by name."""
        return {name: part() for name, part in self.named_children() if isinstance(part, Scale)}
