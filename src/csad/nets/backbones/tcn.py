"""Temporal convolutional net for series."""

from __future__ import annotations

from torch import Tensor, nn

from csad.errors import InputError
from csad.nets.layers import at_least_one, initialized
from csad.registry import BACKBONES


@BACKBONES.register("tcn")
def tcn(shape: tuple[int, ...], layers: int = 6, filters: int = 64, kernel: int = 5) -> nn.Module:
    """Causal convolutions of doubling dilation with skips, averaged over time: the paper's six layers for mPower.

    Args:
        shape: (channels, time).
        layers: Number of convolutions.
        filters: Filters of each convolution.
        kernel: Length of their kernels.
    """
    if len(shape) != 2:
        raise InputError("tcn-input-shape", shape=shape)
    at_least_one(layers=layers, filters=filters, kernel=kernel)
    widths = [shape[0]] + [filters] * layers
    blocks = [_Causal(widths[k], filters, kernel, 2**k) for k in range(layers)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool1d(1), nn.Flatten())


class _Causal(nn.Module):
    """One layer: the output at time t depends on inputs up to t only."""

    def __init__(self, channels: int, filters: int, kernel: int, dilation: int) -> None:
        super().__init__()
        past = nn.ConstantPad1d(((kernel - 1) * dilation, 0), 0.0)
        self.layer = initialized(nn.Sequential(past, nn.Conv1d(channels, filters, kernel, dilation=dilation)))
        self.skip = nn.Identity() if channels == filters else nn.Conv1d(channels, filters, 1)

    def forward(self, x: Tensor) -> Tensor:
        """relu(layer(x) + skip(x)), same length as x."""
        total: Tensor = self.layer(x) + self.skip(x)
        return total.relu()
