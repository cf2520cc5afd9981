"""Small ResNets, and what goes in."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from csad.nets.parts import make_backbone

SMALL = (3, 32, 32)


def resnet(shape: tuple[int, ...] = SMALL, **settings: Any) -> Any:
    return make_backbone("resnet18", shape, settings)


def norms(net: nn.Module) -> dict[str, nn.BatchNorm2d]:
    return {name: part for name, part in net.named_modules() if isinstance(part, nn.BatchNorm2d)}


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def lived(net: nn.Module) -> nn.Module:
    """The net with statistics and weights of BatchNorm that are not those of a fresh one."""
    for k, norm in enumerate(norms(net).values()):
        for j, values in enumerate((norm.running_mean, norm.running_var, norm.weight.data, norm.bias.data)):
            values.copy_(drawn(*values.shape, seed=10 * k + j).abs() + 0.5)
    return net
