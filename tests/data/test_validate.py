from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from csad.data.augment import Pictures
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.data.validate import check_trainable
from tests.support.messages import Refusal, refused

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
        ({"y": [1, 1, 1, 1]}, Refusal("training-target-constant", value="yes")),
        ({"y": [0, 1, 2, 0]}, Refusal("label-class-out-of-range", labels="y in 'train'", classes="0 … 1", value=2)),
        ({"y": [0, 1, -1, 0]}, Refusal("label-class-out-of-range", labels="y in 'train'", classes="0 … 1", value=-1)),
        ({"y": [0, 1, 0.5, 0]}, Refusal("label-class-out-of-range", value="0.5")),
        (
            {"b": [[0, 3], *B[1:]]},
            Refusal(
                "label-class-out-of-range", labels="bias 'race' in 'train'", classes="0 … 2 (unknown: -1)", value=3
            ),
        ),
        ({"b": [[-2, 0], *B[1:]]}, Refusal("label-class-out-of-range", value=-2)),
        ({"b": [[-1.0, 0.0], [0, 1], [1, 1], [0, 0]]}, Refusal("label-class-out-of-range", value="-1.0")),
        ({"b": [0, 1, 0, 1]}, Refusal("bias-column-count-mismatch", split="train")),
        ({"shape": (3,)}, Refusal("split-row-shape-mismatch")),
        ({"bias_names": ("sex",)}, Refusal("task-bias-names-mismatch", columns=2, count=1)),
        ({"related": Related("near_bias", (1,))}, Refusal("tolerance-count-mismatch", columns=2, count=1)),
        ({"target": Number(), "y": [0.0, 1.0, float("nan"), 2.0]}, Refusal("labels-not-finite", labels="y in 'train'")),
        ({"target": Number(), "y": [1.5] * 4}, Refusal("training-target-constant", value="1.5")),
    ],
)
def test_what_does_not_fit_the_task_is_an_input_error(changed: dict[str, Any], complaint: Refusal) -> None:
    with refused(complaint):
        check_trainable(small(**changed), needs_bias=False)


def test_every_split_is_looked_at_and_train_must_be_there() -> None:
    dataset = small()
    wrong = Samples(torch.zeros(1, 2), [5], [[0, 0]])
    with refused("label-class-out-of-range", labels="y in 'test'"):
        check_trainable(Dataset(TASK, {"train": dataset.train, "test": wrong}), needs_bias=False)
    with refused("train-split-missing", splits="test"):
        check_trainable(Dataset(TASK, {"test": dataset.train}), needs_bias=False)


@pytest.mark.parametrize(
    ("b", "complaint"),
    [
        ([[1, 2]] * 4, Refusal("bias-has-one-value", names="sex, race")),
        ([[1, 2], [-1, 0], [0, -1], [1, 2]], Refusal("bias-has-one-value")),
        ([[-1, -1]] * 4, Refusal("no-known-bias-labels")),
        ([[-1, 0], [1, -1], [-1, 1], [0, -1]], Refusal("no-known-bias-labels")),
    ],
)
def test_a_bias_that_does_not_vary_stops_only_what_needs_it(b: list[list[int]], complaint: Refusal) -> None:
    check_trainable(small(b=b), needs_bias=False)
    with refused(complaint):
        check_trainable(small(b=b), needs_bias=True)


def test_pictures_are_moved_by_less_than_they_are_wide() -> None:
    samples = Samples(torch.zeros(4, 3, 8, 6, dtype=torch.uint8), [0, 1, 0, 1], B)
    whole = Dataset(replace(TASK, shape=(3, 8, 6)), {"train": samples}, vary=Pictures(shift=5))
    check_trainable(whole, needs_bias=True)
    with refused("shift-larger-than-image", size=6, shift=6):
        check_trainable(replace(whole, vary=Pictures(shift=6)), needs_bias=True)
