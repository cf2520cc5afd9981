from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from csad.data.check import check_trainable
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.data.vary import Pictures
from csad.errors import InputError

TASK = Task("small", (2,), Classes(2, ("no", "yes")), (Classes(2), Classes(3)), ("sex", "race"))
B = [[0, 0], [1, 2], [-1, 1], [0, -1]]


def small(y: Any = (0, 1, 0, 1), b: Any = B, **changed: Any) -> Dataset:
    return Dataset(replace(TASK, **changed), {"train": Samples(torch.zeros(4, 2), list(y), b)})


def test_a_sound_data_set_passes() -> None:
    check_trainable(small(), needs_bias=True)
    check_trainable(small(b=[[0, 0]] * 4), needs_bias=False)
    ages = small(b=[[0.0, 31.5], [1.0, float("nan")], [0.0, 70.0], [1, 20]], biases=(Classes(2), Number()))
    check_trainable(ages, needs_bias=True)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"y": [1, 1, 1, 1]}, "Every training row has the target 'yes': two classes"),
        ({"y": [0, 1, 2, 0]}, "y in 'train' must be a class 0 … 1, but 2 is there"),
        ({"y": [0, 1, -1, 0]}, "y in 'train' must be a class 0 … 1, but -1 is there"),
        ({"y": [0, 1, 0.5, 0]}, "but 0.5 is there"),
        ({"b": [[0, 3], *B[1:]]}, r"bias 'race' in 'train' must be a class 0 … 2 \(unknown: -1\), but 3"),
        ({"b": [[-2, 0], *B[1:]]}, "bias 'sex' .* but -2"),
        ({"b": [[-1.0, 0.0], [0, 1], [1, 1], [0, 0]]}, "bias 'sex' .* but -1.0"),
        ({"b": [0, 1, 0, 1]}, "b in 'train' has 1 columns where the task names 2"),
        ({"shape": (3,)}, r"has shape \(2,\) where the task says \(3,\)"),
        ({"bias_names": ("sex",)}, "2 bias columns but 1 names"),
        ({"related": Related("near_bias", (1,))}, "one tolerance per bias column: 2, not 1"),
        ({"target": Number(), "y": [0.0, 1.0, float("nan"), 2.0]}, "y in 'train' holds NaN"),
        ({"target": Number(), "y": [1.5] * 4}, "the target '1.5'"),
    ],
)
def test_what_does_not_fit_the_task_is_an_input_error(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        check_trainable(small(**changed), needs_bias=False)


def test_every_split_is_looked_at_and_train_must_be_there() -> None:
    dataset = small()
    wrong = Samples(torch.zeros(1, 2), [5], [[0, 0]])
    with pytest.raises(InputError, match="y in 'test' must be"):
        check_trainable(Dataset(TASK, {"train": dataset.train, "test": wrong}), needs_bias=False)
    with pytest.raises(InputError, match="no split called 'train', only test"):
        check_trainable(Dataset(TASK, {"test": dataset.train}), needs_bias=False)


@pytest.mark.parametrize(
    ("b", "complaint"),
    [
        ([[1, 2]] * 4, r"The bias \(sex, race\) has only one value .* nothing to contrast"),
        ([[1, 2], [-1, 0], [0, -1], [1, 2]], "only one value"),
        ([[-1, -1]] * 4, "No training row has all its bias labels known"),
        ([[-1, 0], [1, -1], [-1, 1], [0, -1]], "No training row has all its bias labels known"),
    ],
)
def test_a_bias_that_does_not_vary_stops_only_what_needs_it(b: list[list[int]], complaint: str) -> None:
    check_trainable(small(b=b), needs_bias=False)
    with pytest.raises(InputError, match=complaint):
        check_trainable(small(b=b), needs_bias=True)


def test_pictures_are_moved_by_less_than_they_are_wide() -> None:
    samples = Samples(torch.zeros(4, 3, 8, 6, dtype=torch.uint8), [0, 1, 0, 1], B)
    whole = Dataset(replace(TASK, shape=(3, 8, 6)), {"train": samples}, vary=Pictures(shift=5))
    check_trainable(whole, needs_bias=True)
    with pytest.raises(InputError, match="shift must be less than the 6 pixels of a side, not 6: give less"):
        check_trainable(replace(whole, vary=Pictures(shift=6)), needs_bias=True)
