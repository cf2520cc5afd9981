"""One CSAD iteration as a reader of the paper would first write it: what csad's speed and numbers are held against.

It follows Algorithm 1 (Zhu et al., ICCV 2021) and, where the paper is silent, what the authors' code is known to do:
plain modules, torch's own Adam, eager calls. Nothing of csad is used, and nothing is slow on purpose.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

RATE = 5e-5
WEIGHT_DECAY = 5e-4
INNER_STEPS = 10  # K
DEBIAS_WEIGHT = 1.0  # λ
WALK_ON = 0.5  # c
LOG_GUARD = 1e-7  # the authors' code adds it inside both logarithms of Eq. 8


def layers(*sizes: int) -> nn.Sequential:
    """Linear layers through the sizes, LeakyReLU between them and none after the last."""
    parts: list[nn.Module] = []
    for width, following in pairwise(sizes):
        parts += [nn.Linear(width, following), nn.LeakyReLU(0.01)]
    return nn.Sequential(*parts[:-1])


def extractor() -> nn.Sequential:
    """F: images (n, 3, 28, 28) → h (n, 1024)."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )


class Information(nn.Module):
    """M: two nets, and the scales τ and α as plain weights; nothing keeps them positive."""

    def __init__(self) -> None:
        super().__init__()
        self.M_y, self.M_b = layers(128, 128, 64, 64), layers(128, 128, 64, 64)
        self.tau_y, self.tau_b = nn.Parameter(torch.tensor(10.0)), nn.Parameter(torch.tensor(10.0))
        self.alpha_related, self.alpha_other = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(1.0))

    def forward(self, h_y: Tensor, h_b: Tensor, related: Tensor) -> Tensor:
        """loss_MI = −I_CS with sums over the pairs (Eq. 2), each logarithm divided by its α."""
        u, v = normalize(self.M_y(h_y)), normalize(self.M_b(h_b))
        r_y, r_b = walk(u, self.tau_y), walk(v, self.tau_b)
        content = u @ v.T  # Eq. 3
        structure = (r_y @ torch.log(r_b + LOG_GUARD).T + r_b @ torch.log(r_y + LOG_GUARD).T) / 2  # Eq. 8
        scores = content + structure  # Eq. 9
        # Scores lie in −17.2 … 1 while the rows of r sum to one, so that the sum is safe in float32 for α up to 4.
        attract = torch.exp(-self.alpha_related * scores).masked_fill(~related, 0).sum()
        repel = torch.exp(self.alpha_other * scores).masked_fill(related, 0).sum()
        loss: Tensor = torch.log1p(attract) / self.alpha_related + torch.log1p(repel) / self.alpha_other
        return loss


def walk(u: Tensor, tau: Tensor) -> Tensor:
    """r (N, N): row i is where a random walk from i, with restart, is found on the graph over u (Eq. 4–7)."""
    edges = torch.softmax(tau * (u @ u.T), dim=1)
    edges = (edges + edges.T) / 2
    r = (1 - WALK_ON) * torch.linalg.inv(torch.eye(len(u), dtype=u.dtype, device=u.device) - WALK_ON * edges)
    r = (r + r.T) / 2
    places: Tensor = r / r.sum(1, keepdim=True)
    return places


def near(b: Tensor) -> Tensor:
    """Ω (N, N): true where every colour bin differs by at most one."""
    return ((b[:, None] - b[None, :]).abs() <= 1).all(-1)


class Textbook(nn.Module):
    """The whole network and six Adams, F's shared by the target and the debias step."""

    def __init__(self, device: torch.device | str, classes: int = 10, bins: int = 8) -> None:
        super().__init__()
        self.F = extractor()
        self.D_y, self.D_b = nn.Linear(1024, 128), nn.Linear(1024, 128)
        self.P_y = layers(128, 64, classes)
        self.P_b = nn.ModuleList(layers(128, 64, bins) for _ in range(3))  # red, green, blue
        self.M = Information()
        for part in self.modules():
            if isinstance(part, nn.Linear | nn.Conv2d):
                nn.init.kaiming_normal_(part.weight)
        self.to(device)
        self.adam = {
            name: torch.optim.Adam(part.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
            for name, part in self.named_children()
        }

    def bias_loss(self, h: Tensor, b: Tensor) -> Tensor:
        """Cross-entropy of the colour bins, mean over the channels."""
        h_b = self.D_b(h)
        return torch.stack([cross_entropy(head(h_b), b[:, k]) for k, head in enumerate(self.P_b)]).mean()

    def descend(self, loss: Tensor, *parts: str) -> None:
        """Nothing; moves the named parts one step downhill."""
        for name in parts:
            self.adam[name].zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for name in parts:
            self.adam[name].step()

    def iteration(self, x: Tensor, y: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The losses of target, bias, estimator and debiasing, each before its last step on this mini-batch.

        x (n, 3, 28, 28) holds floats in −1 … 1, y (n,) classes, b (n, 3) bins; all lie on the device.
        """
        related = near(b)

        # S1: target branch.
        h = self.F(x)
        target = cross_entropy(self.P_y(self.D_y(h)), y)
        self.descend(target, "F", "D_y", "P_y")

        # S2: bias branch, on h as it was before S1 moved F: the authors compute it once for both.
        h = h.detach()
        for _ in range(INNER_STEPS):
            bias = self.bias_loss(h, b)
            self.descend(bias, "D_b", "P_b")

        # S3: M learns to see what h_y tells of h_b.
        with torch.no_grad():
            h = self.F(x)
            h_y, h_b = self.D_y(h), self.D_b(h)
        for _ in range(INNER_STEPS):
            estimator = self.M(h_y, h_b, related)
            self.descend(estimator, "M")

        # S4: F unlearns it. D and M get gradients too; they do not step, and zero them before their next use.
        h = self.F(x)
        debias = -DEBIAS_WEIGHT * self.M(self.D_y(h), self.D_b(h), related)
        self.descend(debias, "F")
        return target.detach(), bias.detach(), estimator.detach(), debias.detach()
