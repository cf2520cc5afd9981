"""Dense net for tables."""

from __future__ import annotations

from math import prod

from torch import nn

from csad.nets.layers import at_least_one, initialized
from csad.registry import BACKBONES


@BACKBONES.register("mlp")
def mlp(shape: tuple[int, ...], hidden: tuple[int, ...] = (64,)) -> nn.Module:
    """Dense layers with ReLU after each; one layer of 64 is the paper's extractor for Adult.

    Args:
        shape: The shape of a row of x, which is flattened.
        hidden: Widths of the layers.
    """
    at_least_one(hidden=hidden)
    layers: list[nn.Module] = [nn.Flatten()]
    width = prod(shape)
    for size in hidden:
        layers += [nn.Linear(width, size), nn.ReLU()]
        width = size
    return initialized(nn.Sequential(*layers))
