"""Bias columns: what is unknown, rare or too much, and how a number becomes questions."""

from __future__ import annotations

import numpy as np
import pytest

from csad.auditing.leakage.bias_column import BiasColumn, numbered, select_bias_rows
from tests.support.messages import Refusal, codes, noticed, refused


def seen(labels: np.ndarray, units: np.ndarray | None = None, most_rows: int = 10_000) -> BiasColumn | str:
    units = np.arange(len(labels)) if units is None else units
    return select_bias_rows(labels, units, np.ones(len(labels), bool), most_rows, np.random.default_rng(0))


def column(labels: np.ndarray, units: np.ndarray | None = None, most_rows: int = 10_000) -> BiasColumn:
    found = seen(labels, units, most_rows)
    assert isinstance(found, BiasColumn)
    return found


def test_two_classes_are_one_question_and_more_are_one_each() -> None:
    two, three = column(np.tile([3, 7], 10)), column(np.tile([0, 4, 9], 10))
    assert two.positives.tolist() == [[False], [True]]
    assert two.targets[:, 0].tolist() == [0.0, 1.0] * 10
    assert three.positives.tolist() == np.eye(3, dtype=bool).tolist()
    assert three.codes.tolist() == [0, 1, 2] * 10


def test_unknown_labels_are_left_out_and_counted() -> None:
    labels = np.tile([0, 1, -1], 10)
    found = column(labels)
    assert found.rows.tolist() == np.flatnonzero(labels >= 0).tolist()
    assert codes(found.notes) == ["rows-without-label-dropped"]
    assert noticed(found.notes, "rows-without-label-dropped", rows=10)
    numbers = np.where(labels < 0, np.nan, np.arange(30.0))
    assert column(numbers).rows.tolist() == found.rows.tolist()


def test_rare_classes_are_left_out_and_counted() -> None:
    found = column(np.repeat([0, 1, 2, 3], [10, 10, 4, 3]))
    assert found.codes.tolist() == [0] * 10 + [1] * 10
    assert codes(found.notes) == ["rare-labels-dropped"]
    assert noticed(found.notes, "rare-labels-dropped", rows=7, labels=2)


def test_a_class_is_rare_by_persons_not_by_rows() -> None:
    labels, persons = np.repeat([0, 1], 20), np.concatenate([np.arange(20), np.repeat([20, 21, 22, 23], 5)])
    assert isinstance(seen(labels), BiasColumn)
    assert "fewer than two of its labels" in str(seen(labels, persons))


def test_one_label_gives_no_column_but_says_so() -> None:
    assert seen(np.zeros(30, int)) == "all rows with a known label have the same label"
    assert seen(np.where(np.arange(30) < 9, -1, 2)) == "all rows with a known label have the same label"


@pytest.mark.parametrize(
    "labels, why",
    [
        (np.full(30, -1), "fewer than two of its labels"),
        (np.ones(30), "no cut of its values"),
        (np.full(30, np.nan), "no cut of its values"),
        (np.arange(0), "fewer than two of its labels"),
        (np.arange(30) // 29, "fewer than two of its labels"),
    ],
)
def test_fewer_than_two_labels_give_no_column_but_say_why(labels: np.ndarray, why: str) -> None:
    assert why in str(seen(labels))


def test_words_and_truth_values_are_classes() -> None:
    assert column(np.tile(["f", "m"], 10)).codes.tolist() == [0, 1] * 10
    assert column(np.tile([False, True], 10)).codes.tolist() == [0, 1] * 10


def test_a_number_is_asked_at_the_cuts_between_its_fifths() -> None:
    found = column(np.arange(100.0)[::-1] ** 3)
    assert np.bincount(found.codes).tolist() == [20] * 5
    assert found.positives[found.codes].sum(0).tolist() == [80, 60, 40, 20]
    assert found.reads.tolist() == [0, 0, 0, 0]
    assert found.targets[:, 0] == pytest.approx((np.arange(100)[::-1] + 0.5) / 100)


def test_a_number_of_two_values_is_one_question() -> None:
    found = column(np.tile([0.0, 0.0, 1.0], 20))
    assert found.positives.tolist() == [[False], [True]]
    assert found.targets[:3, 0] == pytest.approx([1 / 3, 1 / 3, 5 / 6])


def test_of_too_many_rows_whole_persons_are_drawn_and_it_is_said() -> None:
    persons = np.repeat(np.arange(50), 3)
    found = column(np.arange(50)[persons] % 2, persons, most_rows=100)
    assert len(found.rows) == 99
    assert set(np.bincount(persons[found.rows])) == {0, 3}
    assert codes(found.notes) == ["bias-rows-sampled"]
    assert noticed(found.notes, "bias-rows-sampled", most=100, rows=150)


def test_unknown_classes_are_numbered_minus_one() -> None:
    assert numbered(np.array([5, -1, 7, 5]), 4, "given").tolist()[1] == -1
    assert numbered(None, 2, "given").tolist() == [0, 0]


@pytest.mark.parametrize(
    "labels, words",
    [(np.zeros(3), Refusal("real-number-labels")), (np.zeros(2, int), Refusal("label-count-mismatch", rows=3))],
)
def test_classes_that_are_none_are_an_input_error(labels: np.ndarray, words: str) -> None:
    with refused(words):
        numbered(labels, 3, "given")
