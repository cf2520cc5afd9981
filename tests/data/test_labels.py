from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from csad.data.arrays import from_arrays
from csad.data.labels import bias_classes, bias_steps, target_classes
from csad.data.samples import Classes

X = np.zeros((4, 1))


@pytest.mark.parametrize(
    "column",
    [
        ["f", "m", "", "f"],
        ["f", "m", None, "f"],
        ["f", "m", float("nan"), "f"],
        ["f", "m", -1, "f"],
        np.array(["f", "m", np.nan, "f"]),
        np.array(["f", "m", "", "f"], dtype="S"),
        np.array(["f", "m", np.float32("nan"), "f"], dtype=object),
    ],
)
def test_an_unknown_bias_is_minus_one_however_it_is_written(column: Any) -> None:
    dataset = from_arrays(X, [0, 1, 0, 1], column, fractions=(1, 0, 0))
    assert dataset.train.b.tolist() == [[0], [1], [-1], [0]]
    assert dataset.task.biases == (Classes(2, ("f", "m")),)
    assert dataset.task.bias_names == ("bias",)


def test_whole_floats_and_tensors_are_classes_too() -> None:
    dataset = from_arrays(
        torch.zeros(4, 1), torch.tensor([-1.0, 1.0, 3.0, 1.0]), [0.0, 2.0, np.nan, -1], fractions=(1, 0, 0)
    )
    assert dataset.task.target == Classes(3, ("-1", "1", "3"))
    assert dataset.train.y.tolist() == [0, 1, 2, 1]
    assert dataset.train.b.tolist() == [[0], [1], [-1], [-1]]
    assert dataset.task.biases == (Classes(2, ("0", "2")),)


def test_numbers_are_in_their_own_order_and_words_in_the_alphabet() -> None:
    codes, names = target_classes(np.array([10, 9, 10, -1]))
    assert (codes.tolist(), names) == ([2, 1, 2, 0], ("-1", "9", "10"))
    codes, names = bias_classes(np.array(["10", 9, "b", None], dtype=object), "site")
    assert (codes.tolist(), names) == ([0, 1, 2, -1], ("10", "9", "b"))
    codes, names = target_classes(np.array([True, False]))
    assert (codes.tolist(), names) == ([1, 0], ("False", "True"))


def test_steps_are_not_renumbered() -> None:
    codes, names = bias_steps(np.array([3.0, np.nan, 0.0, -1.0]), "age")
    assert (codes.tolist(), names) == ([3, -1, 0, -1], ("0", "1", "2", "3"))
