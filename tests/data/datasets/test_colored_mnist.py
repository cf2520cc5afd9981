from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from csad.data.datasets import colored_mnist as module
from csad.data.datasets.colored_mnist import FILES, colored_mnist
from csad.data.datasets.coloring import COLORINGS, GREY
from csad.data.validate import check_trainable
from tests.support.messages import refused


@pytest.fixture
def little_mnist(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of made-up MNIST files, 300 digits to train and 50 to test; no others can be had."""
    monkeypatch.setattr(module, "TRAINING", 300)
    monkeypatch.setattr(module, "TESTING", 50)
    monkeypatch.setattr(module, "MIRRORS", ())
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for part, count in (("train", 300), ("t10k", 50)):
        images = rng.integers(0, 256, size=(count, 28, 28), dtype=np.uint8)
        labels = (np.arange(count) % 10).astype(np.uint8)
        for name, values in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
            head = bytes((0, 0, 8, values.ndim)) + np.array(values.shape, dtype=">i4").tobytes()
            (tmp_path / "data" / name).write_bytes(head + values.tobytes())
    return tmp_path / "data"


@pytest.mark.parametrize("validation", [0, 60])
@pytest.mark.parametrize("coloring", COLORINGS)
def test_without_test_the_other_splits_are_the_same_and_its_files_need_not_exist(
    little_mnist: Path, coloring: str, validation: int
) -> None:
    whole = colored_mnist(coloring=coloring, validation=validation, data_root=little_mnist)
    for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        (little_mnist / name).unlink()
    with refused("download-failed", file="t10k-images-idx3-ubyte.gz"):
        colored_mnist(coloring=coloring, validation=validation, data_root=little_mnist)
    found = colored_mnist(coloring=coloring, validation=validation, test=False, data_root=little_mnist)
    assert [*found.splits] == (["train", "validation"] if validation else ["train"])
    assert [*whole.splits] == [*found.splits, "test"]
    for split, samples in found.splits.items():
        assert samples.fingerprint() == whole.splits[split].fingerprint()
        assert torch.equal(samples.extra["color"], whole.splits[split].extra["color"])
    check_trainable(found, needs_bias=True)


def test_a_coloring_changes_the_digits_as_it_says(little_mnist: Path) -> None:
    biased, random, grey = (
        colored_mnist(coloring=word, validation=60, data_root=little_mnist) for word in ("biased", "random", "grey")
    )
    assert torch.equal(biased.train.extra["color"], biased.train.y)
    assert (random.train.extra["color"] == random.train.y).float().mean().item() < 0.25
    for split in ("validation", "test"):
        assert random.splits[split].fingerprint() == biased.splits[split].fingerprint()
    for split, samples in grey.splits.items():
        assert samples.x.unique().tolist() == [0, GREY]
        assert torch.equal(samples.b, biased.splits[split].b)


def test_an_unknown_coloring_is_told_before_any_file_is_looked_for(tmp_path: Path) -> None:
    with refused("misspelled-name", kind="coloring", name="randon", nearest="random"):
        colored_mnist(coloring="randon", data_root=tmp_path / "nowhere")


def test_the_default_digits_are_those_of_earlier_runs(mnist_root: Path) -> None:
    dataset = colored_mnist(data_root=mnist_root)
    assert {split: samples.fingerprint() for split, samples in dataset.splits.items()} == {
        "train": "f8b6b4bb4cdd446d",
        "validation": "e07b8d3b185e604e",
        "test": "52c1e1256078f713",
    }


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
    with refused("mnist-validation-out-of-range", most=59999):
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
    with refused("file-damaged", file=labels) as error:
        colored_mnist(data_root=tmp_path)
    assert "9,999 of 10,000 bytes" in error.value.facts["problem"]
