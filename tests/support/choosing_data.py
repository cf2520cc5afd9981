"""Data on which a weight is chosen, and settings for short trainings on them."""

from __future__ import annotations

from typing import Any

import numpy as np

import csad

BRIEF = {
    "target_epochs": 4, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1, "batch_size": 64, "pretrain_rate": 0.01,
    "inner_steps": 1,
}  # fmt: skip


def dataset(n: int = 600, **options: Any) -> csad.Dataset:
    """Rows whose second column tells the bias, and whose first the target."""
    generator = np.random.default_rng(1)
    y = generator.integers(2, size=n)
    b = np.where(generator.random(n) < 0.8, y, 1 - y)
    x = generator.normal(size=(n, 4)).astype(np.float32)
    x[:, 0] += 2 * y
    x[:, 1] += 2 * b
    return csad.from_arrays(x, y, b, **options)
