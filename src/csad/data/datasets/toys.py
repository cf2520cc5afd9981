"""Three small made-up data sets, an image, a series and a table, for tests and quick tries.

In each the bias is easier to see than the target; they agree in most training rows and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.splits import generator_for
from csad.errors import InputError
from csad.registry import DATASETS

Rows = NDArray[Any]
Render = Callable[[Rows, Rows, np.random.Generator], Rows]


@DATASETS.register("toy-image")
def toy_image(*, agreement: float = 0.95, rows: int = 256, seed: int = 0) -> Dataset:
    """3 × 8 × 8 pictures of a lying or a standing bar (target) that is red or green (bias); no download."""
    target = Classes(2, ("lying", "standing"))
    return _toy("toy-image", target, {"color": Classes(2, ("red", "green"))}, _bars, agreement, rows, seed)


@DATASETS.register("toy-series")
def toy_series(*, agreement: float = 0.95, rows: int = 256, seed: int = 0) -> Dataset:
    """2 × 32 series of a slow or a fast wave (target) around a low or a high level (bias); no download."""
    target = Classes(2, ("slow", "fast"))
    return _toy("toy-series", target, {"level": Classes(2, ("low", "high"))}, _waves, agreement, rows, seed)


@DATASETS.register("toy-table")
def toy_table(*, agreement: float = 0.95, rows: int = 256, seed: int = 0) -> Dataset:
    """Eight columns with a target of two classes and two biases, of two and three classes; no download."""
    biases = {"group": Classes(2, ("first", "second")), "region": Classes(3, ("north", "middle", "south"))}
    return _toy("toy-table", Classes(2, ("no", "yes")), biases, _columns, agreement, rows, seed)


def _toy(
    name: str,
    target: Classes,
    biases: dict[str, Classes],
    render: Render,
    agreement: float,
    rows: int,
    seed: int,
) -> Dataset:
    """A toy with ``rows`` for training, a quarter of that for validation, half of it for testing."""
    if not 0 <= agreement <= 1:
        raise InputError("agreement-out-of-range", agreement=agreement)
    if rows < 16:
        raise InputError("too-few-toy-rows", rows=rows)
    counts = [bias.count for bias in biases.values()]
    splits = {}
    for split, n in {"train": rows, "validation": rows // 4, "test": rows // 2}.items():
        generator = generator_for(seed, f"{name} {split}")
        y, b = _even_labels(n, target.count, counts, generator)
        if split == "train":
            b = _lean(b, y, target.count, counts, agreement, generator)
        splits[split] = Samples(render(y, b, generator), y, b)
    shape = tuple(splits["train"].x.shape[1:])
    return Dataset(Task(name, shape, target, tuple(biases.values()), tuple(biases)), splits)


def _even_labels(n: int, classes: int, counts: list[int], generator: np.random.Generator) -> tuple[Rows, Rows]:
    """y (n,) and b (n, columns) in random order, with all combinations equally frequent."""
    sizes = (classes, *counts)
    y, *b = np.unravel_index(generator.permutation(n) % int(np.prod(sizes)), sizes)
    return y, np.stack(b, axis=1)


def _lean(b: Rows, y: Rows, classes: int, counts: list[int], agreement: float, generator: np.random.Generator) -> Rows:
    """b whose columns follow y in this share of the rows, and have another value in the rest."""
    top = np.array(counts) - 1
    follow = y[:, None] * top // (classes - 1)
    other: Rows = (follow + generator.integers(1, counts, size=b.shape)) % counts
    return np.where(generator.random(b.shape) < agreement, follow, other)


def _bars(y: Rows, b: Rows, generator: np.random.Generator) -> Rows:
    n = len(y)
    bars = np.zeros((n, 8, 8))
    for row, place in enumerate(generator.integers(1, 6, size=n)):
        bars[row, place : place + 2, 1:7] = 1
    bars = np.where(y[:, None, None] == 1, bars.swapaxes(1, 2), bars)
    color = np.array([(200, 60, 60), (60, 200, 60)])[b[:, 0]]
    # So much noise that the colour is easier to see.
    light = generator.normal(40, 25, size=(n, 3, 8, 8))
    pixels: Rows = bars[:, None] * color[:, :, None, None] + light
    return pixels.clip(0, 255).astype(np.uint8)


def _waves(y: Rows, b: Rows, generator: np.random.Generator) -> Rows:
    cycles = np.where(y == 1, 4, 2)[:, None, None]
    phase = generator.uniform(0, 2 * np.pi, size=(len(y), 2, 1))
    level = np.where(b[:, 0] == 1, 1.0, -1.0)[:, None, None]
    waves = np.sin(2 * np.pi * cycles * np.arange(32) / 32 + phase) + level
    return (waves + generator.normal(0, 0.5, size=waves.shape)).astype(np.float32)


def _columns(y: Rows, b: Rows, generator: np.random.Generator) -> Rows:
    means = np.zeros((len(y), 8))
    means[:, :3] = (2.0 * y - 1)[:, None]  # three weak columns show the target together
    means[:, 3] = 4.0 * b[:, 0] - 2
    means[:, 4:7] = 3.0 * (b[:, 1:] == np.arange(3))
    return (means + generator.normal(0, 1, size=means.shape)).astype(np.float32)
