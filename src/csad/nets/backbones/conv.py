"""Convolutional nets for digits: the paper's for 28 × 28 pixels, and a small one for 8 × 8."""

from __future__ import annotations

from torch import nn

from csad.errors import InputError
from csad.nets.layers import FromPixels, at_least_one, image, initialized
from csad.registry import BACKBONES


@BACKBONES.register("conv")
def conv(shape: tuple[int, ...], filters: int = 64, kernel: int = 5) -> nn.Module:
    """Two convolutions with ReLU and pooling, the paper's net for digits: 28 × 28 pixels give 1,024 features.

    Args:
        shape: (channels, height, width).
        filters: Filters of each convolution.
        kernel: Side of their kernels.
    """
    at_least_one(filters=filters, kernel=kernel)
    channels, *sides = image(shape)
    if min(sides) < 3 * kernel + 1:
        raise InputError("images-too-small-for-conv", least=3 * kernel + 1, sides=sides)
    return initialized(
        nn.Sequential(
            # Pooling before ReLU gives the same numbers with a quarter of the work.
            FromPixels(channels, filters, kernel),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(filters, filters, kernel),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
        )
    )


@BACKBONES.register("small-conv")
def small_conv(shape: tuple[int, ...], filters: int = 32) -> nn.Module:
    """Two 3 × 3 convolutions with ReLU and one pooling, for very small images.

    Args:
        shape: (channels, height, width).
        filters: Filters of each convolution.
    """
    at_least_one(filters=filters)
    channels, *_ = image(shape)
    return initialized(
        nn.Sequential(
            nn.Conv2d(channels, filters, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
    )
