"""Colored digits without a download: scikit-learn's small ones, painted as in Kim et al., CVPR 2019."""

from __future__ import annotations

import numpy as np

from csad.data.datasets.coloring import color_digits
from csad.data.samples import Dataset
from csad.data.splits import generator_for, stratified
from csad.registry import DATASETS

SIZES = {"train": 1200, "validation": 197, "test": 400}
THRESHOLD = 8  # half of the digits' range 0 … 16, as Kim's 128 is of 0 … 255


@DATASETS.register("digits")
def digits(*, color_variance: float = 0.02, coloring: str = "biased", seed: int = 0) -> Dataset:
    """8 × 8 digits whose colour gives the class away in training only; 1,797 rows, no download.

    1,200 are for training, 197 for validation, 400 for testing; the seed draws only the colours, not the rows. With
    the ``coloring`` "random" training digits have a random colour, too; with "grey" no digit has any.
    """
    from sklearn.datasets import load_digits

    rows = load_digits()
    parts = stratified(rows.target, tuple(SIZES.values()), generator_for(0, "digits' fixed split"))
    images = np.asarray(rows.images)
    splits = {split: (images[part], rows.target[part]) for split, part in zip(SIZES, parts, strict=True)}
    return color_digits(
        "digits", splits, threshold=THRESHOLD, color_variance=color_variance, seed=seed, coloring=coloring
    )
