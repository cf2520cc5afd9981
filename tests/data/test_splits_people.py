from __future__ import annotations

import re

import numpy as np
import pytest

from csad.data.splits import check_share, draw_people, split_people
from tests.support.messages import refused

CELLS = np.repeat(np.arange(3), (10, 20, 70))


def test_as_many_people_of_each_cell_are_drawn_as_asked_for() -> None:
    chosen = draw_people(CELLS, (3, 0, 30), np.random.default_rng(0))
    assert np.bincount(CELLS[chosen]).tolist() == [3, 0, 30]
    assert len(set(chosen.tolist())) == 33
    assert chosen.tolist() == sorted(chosen.tolist())
    assert chosen.tolist() != draw_people(CELLS, (3, 0, 30), np.random.default_rng(1)).tolist()


@pytest.mark.parametrize("validation", [0.0, 0.3])
def test_everyone_is_in_one_split_and_every_cell_is_held_out_alike(validation: float) -> None:
    test = np.arange(0, 100, 10)
    parts = split_people(CELLS, test, validation, np.random.default_rng(0))
    assert sorted(np.concatenate([*parts.values()]).tolist()) == list(range(100))
    assert parts["test"].tolist() == test.tolist()
    if validation:
        assert np.abs(np.bincount(CELLS[parts["validation"]]) - 0.3 * np.array([9, 18, 63])).max() <= 1


@pytest.mark.parametrize(("validation", "held"), [(0.001, 0), (0.999, 90)])
def test_a_share_that_leaves_a_split_empty_is_an_input_error(validation: float, held: int) -> None:
    problem = re.compile(f"share of {validation} holds out {held} of 90 people")
    with refused("validation-share-leaves-none", problem=problem):
        split_people(CELLS, np.arange(10), validation, np.random.default_rng(0))


def test_nobody_left_to_train_on_is_an_input_error() -> None:
    with refused("no-people-left-to-train", count=100):
        split_people(CELLS, np.arange(100), 0.0, np.random.default_rng(0))


@pytest.mark.parametrize("validation", [-0.1, 1.0, float("nan")])
def test_what_is_no_share_is_an_input_error(validation: float) -> None:
    with refused("validation-share-out-of-range", units="people"):
        check_share(validation, of="people")
