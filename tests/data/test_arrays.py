from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from csad.data.arrays import from_arrays
from csad.data.pairs import Related
from csad.data.samples import Classes
from tests.support.messages import Refusal, refused

N = 200
X = np.arange(2.0 * N).reshape(N, 2)
Y = np.arange(N) % 2
B = np.arange(N) // 2 % 2


def labels_of(dataset: Any) -> dict[float, tuple[int, ...]]:
    """(y, b …) of every row, by its first x, over all splits."""
    return {
        x[0].item(): (y.item(), *b.tolist())
        for samples in dataset.splits.values()
        for x, y, b in zip(samples.x, samples.y, samples.b, strict=True)
    }


def test_words_and_numbers_become_classes_that_keep_their_names() -> None:
    y = np.where(Y == 1, "sick", "healthy")
    b = np.column_stack([10 * B, np.arange(N) % 3 - 1])
    dataset = from_arrays(X, y, b, bias_names=("age", "site"))
    assert dataset.task.target == Classes(2, ("healthy", "sick"))
    assert dataset.task.biases == (Classes(2, ("0", "10")), Classes(2, ("0", "1")))
    assert dataset.task.bias_names == ("age", "site")
    assert dataset.task.related == Related("same_bias")
    assert dataset.task.shape == (2,)
    found = labels_of(dataset)
    assert all(found[X[row, 0]] == (Y[row], B[row], row % 3 - 1) for row in range(N))


def test_near_bias_keeps_the_numbers_so_that_distances_stay() -> None:
    b = [0, 1, 5, -1]
    dataset = from_arrays(X[:4], Y[:4], b, related=Related("near_bias", (1,)), fractions=(1, 0, 0))
    assert dataset.train.b.flatten().tolist() == b
    assert dataset.task.biases[0] == Classes(6, tuple("012345"))
    with refused("near-bias-needs-numbers"):
        from_arrays(X[:4], Y[:4], list("abcd"), related=Related("near_bias", (1,)))
    with refused("tolerance-count-mismatch", columns=1, count=2):
        from_arrays(X, Y, B, related=Related("near_bias", (1, 1)))


def test_every_cell_of_target_and_bias_is_split_alike() -> None:
    dataset = from_arrays(X, Y, B)
    assert {split: len(rows) for split, rows in dataset.splits.items()} == {
        "train": 140,
        "validation": 20,
        "test": 40,
    }
    assert len(labels_of(dataset)) == N
    for rows in dataset.splits.values():
        cells = torch.bincount(2 * rows.y + rows.b[:, 0], minlength=4)
        assert int(cells.max() - cells.min()) <= 2


def test_a_seed_decides_the_split() -> None:
    one, again, other = (from_arrays(X, Y, B, seed=seed).splits["test"].x for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_cells_of_a_single_row_do_no_harm() -> None:
    dataset = from_arrays(X[:10], np.arange(10) % 2, np.arange(10))
    assert [len(rows) for rows in dataset.splits.values()] == [7, 1, 2]


def test_a_split_of_nothing_is_left_out() -> None:
    assert list(from_arrays(X, Y, B, fractions=(0.8, 0, 0.2)).splits) == ["train", "test"]
    assert list(from_arrays(X, Y, B, fractions=(1, 0, 0)).splits) == ["train"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ((X, np.zeros(N), B), Refusal("training-target-constant", value=0)),
        ((X, Y[:-1], B), Refusal("array-shape-mismatch", array="y", expected="(200,)", shape="(199,)")),
        ((X, Y, B[:-1]), Refusal("array-shape-mismatch", array="b", expected="(200,) or (200, columns)")),
        ((X, Y, None), Refusal("array-shape-mismatch", array="b")),
        ((X, Y, np.zeros((N, 0))), Refusal("array-shape-mismatch", array="b")),
        ((X[:, 0], Y, B), Refusal("x-needs-two-dimensions", shape="(200,)")),
        ((X.astype(str), Y, B), Refusal("values-not-numeric", name="x")),
        ((np.where(X == 8, np.nan, X), Y, B), Refusal("x-not-finite", row=4)),
        ((X, np.where(Y == 1, 0.5, 0), B), Refusal("labels-not-classes", labels="y", row=1, value="0.5")),
        ((X, np.where(np.arange(N) == 7, np.nan, Y), B), Refusal("target-missing-in-rows", count=1, row=7)),
        ((X, Y, B * 1.5), Refusal("labels-not-classes", labels="bias 'bias'")),
        (([[1, 2], [3]], [0, 1], [0, 1]), Refusal("ragged-arrays")),
        ((X[:0], Y[:0], B[:0]), Refusal("no-rows")),
    ],
)
def test_what_cannot_be_used_is_an_input_error(given: tuple[Any, Any, Any], complaint: Refusal) -> None:
    with refused(complaint):
        from_arrays(*given)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"fractions": (0, 0.5, 0.5)}, Refusal("fractions-invalid")),
        ({"fractions": (1.2, -0.1, -0.1)}, Refusal("fractions-invalid")),
        ({"fractions": (0.5, 0.5)}, Refusal("fractions-invalid")),
        ({"fractions": (0.999, 0.0005, 0.0005)}, Refusal("too-few-rows-for-fractions", count=200, units="rows")),
        ({"bias_names": ("a", "b")}, Refusal("bias-names-parameter-mismatch", columns=1, count=2, names="a, b")),
        ({"test": (X, Y, np.column_stack([B, B]))}, Refusal("test-bias-columns-differ", columns=1, test_columns=2)),
        ({"test": (X, Y[:-1], B)}, Refusal("array-shape-mismatch")),
        ({"test": (X[:, :1], Y, B)}, Refusal("split-row-shape-mismatch", split="test")),
    ],
)
def test_settings_that_do_not_fit_are_input_errors(settings: dict[str, Any], complaint: Refusal) -> None:
    with refused(complaint):
        from_arrays(X, Y, B, **settings)


def test_a_bias_may_be_wholly_unknown() -> None:
    dataset = from_arrays(X, Y, np.full(N, -1), bias_names="sex")
    assert dataset.task.biases == (Classes(1),)
    assert dataset.task.bias_names == ("sex",)
