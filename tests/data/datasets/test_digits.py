from __future__ import annotations

import subprocess
import sys

import torch

from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.messages import refused


def test_the_digits_come_in_three_splits_of_fixed_rows() -> None:
    one, other = DATASETS["digits"](), DATASETS["digits"](seed=7)
    assert {split: len(samples) for split, samples in one.splits.items()} == {
        "train": 1200,
        "validation": 197,
        "test": 400,
    }
    check_trainable(one, needs_bias=True)
    for split, samples in one.splits.items():
        mask = samples.x.amax(1) > 0
        assert torch.equal(mask, other.splits[split].x.amax(1) > 0)
        assert not torch.equal(samples.x, other.splits[split].x)
        assert bool(mask.flatten(1).any(1).all()), "a digit without a single painted pixel has no colour"


def test_no_digit_is_in_two_splits_and_each_class_has_its_share() -> None:
    splits = DATASETS["digits"]().splits
    from sklearn.datasets import load_digits

    counts = torch.bincount(torch.as_tensor(load_digits().target))
    assert torch.equal(sum(torch.bincount(samples.y) for samples in splits.values()), counts)
    for samples in splits.values():
        share = counts * len(samples) / 1797
        assert bool(((torch.bincount(samples.y) - share).abs() < 3).all())


def test_a_digit_pixel_is_one_above_eight() -> None:
    from sklearn.datasets import load_digits

    dark = int(sum((samples.x.amax(1) > 0).sum() for samples in DATASETS["digits"]().splits.values()))
    assert dark == int((load_digits().images > 8).sum())


def test_grey_digits_are_the_same_rows_without_a_colour() -> None:
    one, grey = DATASETS["digits"](), DATASETS["digits"](coloring="grey")
    for split, samples in grey.splits.items():
        assert torch.equal(samples.x.amax(1), samples.x.amin(1)), "the three channels are equal"
        assert torch.equal(samples.x.amax(1) > 0, one.splits[split].x.amax(1) > 0)


def test_a_wrong_variance_is_an_input_error() -> None:
    with refused("color-variance-out-of-range"):
        DATASETS["digits"](color_variance=2)


def test_looking_up_a_data_set_loads_neither_scikit_learn_nor_pooch() -> None:
    program = (
        "import sys; from csad.registry import DATASETS; DATASETS.names();"
        "print([name for name in ('sklearn', 'pooch', 'requests') if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert answer.stdout.strip() == "[]"
