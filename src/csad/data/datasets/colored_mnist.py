"""Colored MNIST (Kim et al., CVPR 2019): the color gives the digit away in training, never in testing."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.datasets.coloring import check_coloring, color_digits
from csad.data.download import find_or_fetch
from csad.data.local_files import damaged
from csad.data.samples import Dataset
from csad.errors import InputError, unreadable
from csad.registry import DATASETS

UNSIGNED_BYTES = 8  # the type code in an idx file's third byte
MOST_BYTES = 2**30


def read_idx(path: Path, shape: tuple[int | None, ...]) -> NDArray[np.uint8]:
    """The bytes of an idx file as an array of this shape; None is any length.

    A file is two zero bytes, a type code, the number of dimensions, each dimension as four bytes, then the data. Any
    difference, even one byte too many, is an error. No more is read than the shape needs.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            magic = stream.read(4)
            if len(magic) < 4 or magic[:3] != bytes((0, 0, UNSIGNED_BYTES)):
                start = magic.hex(" ") or "nothing"
                raise damaged(path, f"is not an idx file of bytes: it starts with {start} instead of 00 00 08")
            head = stream.read(4 * magic[3])
            lengths = tuple(int.from_bytes(head[k : k + 4]) for k in range(0, len(head), 4))
            if len(head) < 4 * magic[3]:
                raise damaged(path, "is incomplete: it ends within its header")
            if not _fits(lengths, shape):
                expected = ", ".join("any" if length is None else str(length) for length in shape)
                raise damaged(path, f"has shape {lengths} instead of ({expected})")
            size = math.prod(lengths)
            if size > MOST_BYTES:
                raise damaged(path, f"declares {size:,} bytes, but csad reads at most {MOST_BYTES:,}")
            data = bytearray(stream.read(size))
            if len(data) < size:
                raise damaged(path, f"is incomplete: it holds {len(data):,} of {size:,} bytes")
            if stream.read(1):
                raise damaged(path, f"is too long: more data follow after its {size:,} bytes")
    except gzip.BadGzipFile as error:
        raise damaged(path, "ends in .gz but is not a complete gzip file") from error
    except (EOFError, zlib.error) as error:
        raise damaged(path, "is incomplete or damaged: its gzip data end early") from error
    except OSError as error:
        raise unreadable(path, error) from error
    return np.frombuffer(data, dtype=np.uint8).reshape(lengths)


def _fits(lengths: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    return len(lengths) == len(expected) and all(
        limit in (None, length) for length, limit in zip(lengths, expected, strict=True)
    )


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

    The last ``validation`` of MNIST's 60,000 training digits (55,000 … 59,999) are held out and, like the 10,000 for
    testing, coloured at random. With 0 there is no validation split and all 60,000 are for training, as the authors
    do. Without ``test`` there is no test split, and its files need not exist.

    With the ``coloring`` "random" training digits have a random colour, too: a net then reaches the ceiling. With
    "grey" all digits have one grey, so that only their shape shows; b is the colour that each would have had.
    """
    check_coloring(coloring)
    if not 0 <= validation < TRAINING:
        raise InputError("mnist-validation-out-of-range", most=TRAINING - 1, validation=validation)
    files = {name: sha256 for name, sha256 in FILES.items() if test or name.startswith("train")}
    paths = [*find_or_fetch(files, "mnist", MIRRORS, data_root).values()]
    images, labels = _digits(paths[:2], TRAINING)
    trained = TRAINING - validation
    splits = {"train": (images[:trained], labels[:trained])}
    if validation:
        splits["validation"] = (images[trained:], labels[trained:])
    if test:
        splits["test"] = _digits(paths[2:], TESTING)
    return color_digits(
        "colored-mnist", splits, threshold=THRESHOLD, color_variance=color_variance, seed=seed, coloring=coloring
    )


def _digits(paths: list[Path], count: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (count, 28, 28) and labels (count,) of the two files."""
    return read_idx(paths[0], (count, 28, 28)), read_idx(paths[1], (count,))
