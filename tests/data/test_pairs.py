from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from csad.data.pairs import Related, known, near_bias, of_one_class, same_bias, same_sample
from tests.support.messages import refused

TRIPLE = st.tuples(*[st.integers(0, 7)] * 3)


def test_same_bias_by_hand() -> None:
    b = torch.tensor([[0, 1], [0, 1], [0, 2], [1, 1]])
    assert same_bias(b).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_near_bias_by_hand() -> None:
    b = torch.tensor([[3, 3, 3], [4, 2, 3], [5, 3, 3], [4, 4, 4]])
    assert near_bias(b, (1, 1, 1)).tolist() == [[1, 1, 0, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]]


@pytest.mark.parametrize("width", [-1.0, float("nan")])
def test_a_tolerance_below_0_is_refused(width: float) -> None:
    with refused("negative-tolerance"):
        Related("near_bias", (1.0, width))


def test_near_bias_has_a_tolerance_for_each_column() -> None:
    b = torch.tensor([[30.0, 0.0], [34.5, 0.0], [36.0, 0.0], [30.0, 1.0]])
    assert near_bias(b, (5, 0))[0].tolist() == [1, 1, 0, 0]


def test_pairs_of_two_classes_or_of_an_unknown_one_are_in_neither_set() -> None:
    related = same_bias(torch.tensor([[0], [0], [1], [0], [-1]]))
    one_class = of_one_class(related, torch.tensor([0, 0, 0, 1, 0]))
    assert one_class.tolist() == [
        [1, 1, 0, -1, -1],
        [1, 1, 0, -1, -1],
        [0, 0, 1, -1, -1],
        [-1, -1, -1, 1, -1],
        [-1, -1, -1, -1, -1],
    ]
    assert of_one_class(related[:3, :3], torch.tensor([-1, 2, -1])).tolist() == [[-1, -1, -1], [-1, 1, -1], [-1] * 3]


def test_same_sample_by_hand() -> None:
    assert same_sample(torch.zeros(3, 1, dtype=torch.long)).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "related", [Related(), Related("near_bias", (1.0, 1.0)), Related("same_sample")], ids=lambda r: r.rule
)
@pytest.mark.parametrize("unknown", [-1, float("nan")])
def test_an_unknown_label_is_in_no_pair_not_even_with_itself(related: Related, unknown: float) -> None:
    b = torch.tensor([[0, 1], [0, unknown], [0, 1], [unknown, unknown]])
    omega = related(b.long() if unknown == -1 else b)
    assert omega.dtype == torch.int8
    assert (omega[[1, 3]] == -1).all()
    assert (omega[:, [1, 3]] == -1).all()
    assert (omega[[0, 2]][:, [0, 2]] >= 0).all()


@settings(deadline=None)
@given(st.lists(TRIPLE, min_size=2, max_size=12))
def test_near_bias_is_the_authors_squared_distance_below_four(rows: list[tuple[int, int, int]]) -> None:
    b = torch.tensor(rows)
    authors = ((b[:, None] - b[None, :]) ** 2).sum(-1) < 4
    assert torch.equal(near_bias(b, (1, 1, 1)).bool(), authors)


@settings(deadline=None)
@given(st.lists(TRIPLE, min_size=1, max_size=10), st.integers(0, 1000))
def test_permuting_the_batch_permutes_the_pairs(rows: list[tuple[int, int, int]], seed: int) -> None:
    b = torch.tensor(rows)
    order = torch.randperm(len(b), generator=torch.Generator().manual_seed(seed))
    for related in (Related(), Related("near_bias", (1, 1, 1)), Related("same_sample")):
        omega = related(b)
        assert torch.equal(omega, omega.T)
        assert torch.equal(related(b[order]), omega[order][:, order])


def test_known_is_neither_minus_one_nor_nan() -> None:
    assert known(torch.tensor([0, -1, 3])).tolist() == [True, False, True]
    assert known(torch.tensor([0.0, float("nan"), -1.0])).tolist() == [True, False, True]


def test_a_wrong_rule_names_the_nearest_and_near_bias_wants_a_tolerance() -> None:
    with refused("misspelled-name", name="same_bais", nearest="same_bias"):
        Related("same_bais")
    with refused("near-bias-without-tolerance"):
        Related("near_bias")
