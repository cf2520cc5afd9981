from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
import torch

from csad.data.check import check_trainable
from csad.data.colored_mnist import FILES, colored_mnist
from csad.errors import InputError


@pytest.mark.parametrize(
    ("color_variance", "density", "differ"), [(0.02, 0.068, 0.35), (0.03, 0.058, 0.46), (0.05, 0.051, 0.60)]
)
def test_pairs_are_as_dense_as_measured(mnist_root: Path, color_variance: float, density: float, differ: float) -> None:
    dataset = colored_mnist(color_variance=color_variance, data_root=mnist_root)
    y, b = dataset.train.y[:4000], dataset.train.b[:4000]
    related = (dataset.task.related(b) == 1).fill_diagonal_(False)
    assert related.float().mean().item() == pytest.approx(density, abs=0.004)
    assert (y[:, None] != y[None])[related].float().mean().item() == pytest.approx(differ, abs=0.025)


def test_the_digits_are_in_mnist_order_and_the_last_5000_validate(mnist_root: Path) -> None:
    held, whole = (colored_mnist(validation=n, data_root=mnist_root) for n in (5000, 0))
    assert whole.train.y[:5].tolist() == [5, 0, 4, 1, 9]
    assert {split: len(rows) for split, rows in held.splits.items()} == {
        "train": 55_000,
        "validation": 5000,
        "test": 10_000,
    }
    assert {split: len(rows) for split, rows in whole.splits.items()} == {"train": 60_000, "test": 10_000}
    assert torch.equal(held.splits["validation"].y, whole.train.y[55_000:])
    assert torch.equal(held.splits["validation"].x.amax(1) > 0, whole.train.x[55_000:].amax(1) > 0)
    assert torch.equal(held.splits["test"].x, whole.splits["test"].x)
    agree = held.splits["test"].extra["color"] == held.splits["test"].y
    assert agree.float().mean().item() == pytest.approx(0.1, abs=0.015)
    assert held.train.x.dtype == torch.uint8
    check_trainable(held, needs_bias=True)


@pytest.mark.parametrize("validation", [-1, 60_000])
def test_a_validation_split_that_cannot_be_had_is_an_input_error(validation: int) -> None:
    with pytest.raises(InputError, match="validation must be 0 … 59999"):
        colored_mnist(validation=validation)


def test_unpacked_files_serve_as_well_and_a_cut_one_is_named(mnist_root: Path, tmp_path: Path) -> None:
    for name in FILES:
        unpacked = tmp_path / name.removesuffix(".gz")
        with gzip.open(mnist_root / "mnist" / name) as packed, unpacked.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    found, packed_too = (colored_mnist(data_root=root) for root in (tmp_path, mnist_root))
    assert torch.equal(found.splits["test"].x, packed_too.splits["test"].x)
    labels = tmp_path / "t10k-labels-idx1-ubyte"
    labels.write_bytes(labels.read_bytes()[:-1])
    with pytest.raises(InputError, match="t10k-labels-idx1-ubyte is cut short: it holds 9,999 of 10,000 bytes"):
        colored_mnist(data_root=tmp_path)
