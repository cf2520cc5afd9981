"""Colored MNIST (Kim et al., CVPR 2019): the colour gives the digit away in training, never in testing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.download import find_or_fetch
from csad.data.samples import Dataset
from csad.data.sets.coloring import check_coloring, colored
from csad.data.sets.idx import read_idx
from csad.errors import InputError
from csad.registry import DATASETS

FILES = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    "http://yann.lecun.com/exdb/mnist",
)
TRAINING, TESTING = 60_000, 10_000
THRESHOLD = 128  # a digit's pixels are those above it: exact on the released images


@DATASETS.register("colored-mnist")
def colored_mnist(
    *,
    color_variance: float = 0.02,
    coloring: str = "biased",
    validation: int = 5000,
    test: bool = True,
    seed: int = 0,
    data_root: Path | None = None,
) -> Dataset:
    """MNIST whose colour gives the digit away in training only; a smaller variance is a stronger bias.

    The last ``validation`` of MNIST's 60,000 training digits (55,000 … 59,999) are held out and, like the
    10,000 for testing, coloured at random. With 0 there is no validation split and all 60,000 are trained on,
    as the authors do. Without ``test`` the files of the test digits need not exist, and there is no such split.

    A ``coloring`` of "random" gives training digits a random colour as well: what a net then reaches is the ceiling.
    With "grey" all digits are in one grey, so that only their shape is seen; b tells the colour each would have had.
    """
    check_coloring(coloring)
    if not 0 <= validation < TRAINING:
        raise InputError(f"validation must be 0 … {TRAINING - 1} of the training digits, not {validation}.")
    wanted = {name: sha256 for name, sha256 in FILES.items() if test or name.startswith("train")}
    paths = [*find_or_fetch(wanted, "mnist", MIRRORS, data_root).values()]
    images, labels = _digits(paths[:2], TRAINING)
    kept = TRAINING - validation
    splits = {"train": (images[:kept], labels[:kept])}
    if validation:
        splits["validation"] = (images[kept:], labels[kept:])
    if test:
        splits["test"] = _digits(paths[2:], TESTING)
    return colored(
        "colored-mnist", splits, threshold=THRESHOLD, color_variance=color_variance, seed=seed, coloring=coloring
    )


def _digits(paths: list[Path], count: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (count, 28, 28) and labels (count,) of the two files."""
    return read_idx(paths[0], (count, 28, 28)), read_idx(paths[1], (count,))
