"""Digits in one flat, noisy colour on black; in training it is that of their class (Kim et al., CVPR 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.splits import generator_for
from csad.errors import InputError, unknown

# The mean colour (red, green, blue) of each digit 0 … 9, as found in samples of the released data.
PALETTE = np.array(
    [
        (230, 25, 75),  # red
        (0, 128, 128),  # teal
        (255, 225, 25),  # yellow
        (0, 130, 200),  # blue
        (245, 130, 48),  # orange
        (145, 30, 180),  # purple
        (70, 240, 240),  # cyan
        (250, 190, 190),  # pink
        (210, 245, 60),  # lime
        (128, 0, 0),  # maroon
    ]
)
LOWEST, HIGHEST = 1, 254  # the released colours never hold 0 or 255
BIN_WIDTH = 32  # a colour label is one of eight bins per channel
DRAWS = 100
GREY = 128  # near the mean brightness of the palette, so that digits are as light as the coloured ones
COLORINGS = ("biased", "random", "grey")


def paint(
    masks: NDArray[np.bool_],
    means: NDArray[np.int64],
    color_variance: float,
    generator: np.random.Generator,
    *,
    grey: bool = False,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (n, 3, h, w) with each mask (n, h, w) in one flat colour on black, and the colours' bins (n, 3).

    A channel is normal around ``PALETTE[means]`` with standard deviation 255 · √color_variance, rounded to
    the nearest whole number and drawn again unless that is 1 … 254. Its bin, the bias label, is colour // 32.
    With ``grey`` every mask has the same grey, and the bins of the colour that it would have had.
    """
    if not 0 < color_variance <= 1:
        raise InputError("color-variance-out-of-range", variance=color_variance)
    colors = _draw(PALETTE[means].astype(float), 255 * float(np.sqrt(color_variance)), generator)
    shown = np.full_like(colors, GREY) if grey else colors
    pixels = masks[:, None].view(np.uint8) * shown.astype(np.uint8)[:, :, None, None]
    return pixels, colors // BIN_WIDTH


def check_coloring(coloring: str) -> None:
    """Raise InputError with the nearest known word unless the coloring is known; for use before files are read."""
    if coloring not in COLORINGS:
        raise unknown("coloring", coloring, COLORINGS)


def color_digits(
    name: str,
    digits: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
    *,
    threshold: float,
    color_variance: float,
    seed: int,
    coloring: str = "biased",
) -> Dataset:
    """The data set of splits of (grey (n, h, w), labels (n,)); pixels above the threshold are painted.

    A training digit has the mean colour of its class, any other digit one of the ten at random. With the ``coloring``
    "random", training digits have a random colour, too; with "grey" the labels stay, but pixels show only the shape.
    """
    check_coloring(coloring)
    splits = {}
    for split, (images, labels) in digits.items():
        y = np.asarray(labels).astype(np.int64)
        if y.size and not 0 <= y.min() <= y.max() < len(PALETTE):
            raise InputError("digit-labels-out-of-range", split=split, dataset=name, low=y.min(), high=y.max())
        generator = generator_for(seed, split)
        means = y if split == "train" and coloring != "random" else generator.integers(len(PALETTE), size=len(y))
        pixels, bins = paint(images > threshold, means, color_variance, generator, grey=coloring == "grey")
        splits[split] = Samples(pixels, y, bins, {"color": means})
    height, width = splits["train"].x.shape[2:]
    task = Task(
        name=name,
        shape=(3, height, width),
        target=Classes(10, tuple("0123456789")),
        biases=(Classes(256 // BIN_WIDTH),) * 3,
        bias_names=("red", "green", "blue"),
        related=Related("near_bias", (1, 1, 1)),
    )
    return Dataset(task, splits)


def _draw(mean: NDArray[np.float64], deviation: float, generator: np.random.Generator) -> NDArray[np.int64]:
    color = np.rint(generator.normal(mean, deviation))
    for _ in range(DRAWS):
        outside = (color < LOWEST) | (color > HIGHEST)
        if not outside.any():
            break
        color[outside] = np.rint(generator.normal(mean[outside], deviation))
    # Only a deviation far below one grey level leaves any outside; the nearest end is then the right limit.
    return color.clip(LOWEST, HIGHEST).astype(np.int64)
