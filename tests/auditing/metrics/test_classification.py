"""Plain figures by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from csad.auditing.metrics.classification import accuracy, balanced_accuracy, cell_accuracy, consistency, f1
from tests.support.messages import refused

Y = np.array([0, 0, 0, 1, 2, 2])
PREDICTED = np.array([0, 0, 1, 1, 0, 2])


def test_accuracy_is_the_share_that_is_right() -> None:
    assert accuracy(PREDICTED, Y) == 4 / 6


def test_balanced_accuracy_counts_every_class_alike() -> None:
    assert balanced_accuracy(PREDICTED, Y) == pytest.approx((2 / 3 + 1 / 1 + 1 / 2) / 3)


def test_a_class_that_is_predicted_but_absent_does_not_count() -> None:
    assert balanced_accuracy(np.array([5, 0]), np.array([0, 0])) == 0.5


def test_f1_of_two_classes_is_that_of_class_1() -> None:
    # Class 1: three rows, two of them found, and one row that is not: precision 2/3, recall 2/3.
    y, predicted = np.array([1, 1, 1, 0, 0]), np.array([1, 1, 0, 1, 0])
    assert f1(predicted, y, 2) == pytest.approx(2 * (2 / 3) * (2 / 3) / (2 / 3 + 2 / 3))


def test_f1_of_many_classes_is_their_mean() -> None:
    # (right, rows, predicted): class 0 (2, 3, 3), class 1 (1, 1, 2), class 2 (1, 2, 1).
    assert f1(PREDICTED, Y, 3) == pytest.approx((2 * 2 / 6 + 2 * 1 / 3 + 2 * 1 / 3) / 3)


def test_a_class_that_is_nowhere_has_no_f1() -> None:
    assert f1(PREDICTED, Y, 7) == f1(PREDICTED, Y, 3)
    assert f1(np.array([0, 1]), np.array([0, 0]), 2) is None


def test_predicting_one_class_only_gives_the_others_an_f1_of_nought() -> None:
    assert f1(np.zeros(4, int), np.array([0, 1, 0, 1]), 2) == 0.0
    assert f1(np.zeros(4, int), np.array([0, 1, 2, 0]), 3) == pytest.approx((2 * 2 / 6 + 0 + 0) / 3)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_figures_are_scikit_learns(classes: int) -> None:
    generator = np.random.default_rng(classes)
    for rows in (10, 30, 300):
        y, predicted = generator.integers(classes, size=(2, rows))
        y[:classes] = np.arange(classes)
        average = "binary" if classes == 2 else "macro"
        assert accuracy(predicted, y) == pytest.approx(accuracy_score(y, predicted))
        assert balanced_accuracy(predicted, y) == pytest.approx(balanced_accuracy_score(y, predicted))
        assert f1(predicted, y, classes) == pytest.approx(f1_score(y, predicted, average=average))


def test_f1_counts_a_class_that_is_only_predicted_as_scikit_learn_does() -> None:
    predicted, y = np.array([0, 3, 1, 2]), np.array([0, 0, 1, 2])
    assert f1(predicted, y, 4) == pytest.approx((2 / 3 + 1 + 1 + 0) / 4)
    assert f1(predicted, y, 4) == pytest.approx(f1_score(y, predicted, average="macro"))


def test_consistency_is_the_share_of_rows_on_which_all_copies_agree() -> None:
    first, second, third = np.array([0, 1, 2, 1]), np.array([0, 1, 2, 0]), np.array([0, 2, 2, 1])
    assert consistency([first, second]) == 3 / 4
    assert consistency([first, second, third]) == 2 / 4
    assert consistency([first, first]) == consistency([first]) == 1.0


@pytest.mark.parametrize("copies", [[], [Y, Y[:3]], [Y[:0], Y[:0]]])
def test_copies_without_the_same_rows_are_an_input_error(copies: list[np.ndarray]) -> None:
    with refused("copies-unequal-length"):
        consistency(copies)


def test_cells_are_groups_by_classes_and_none_where_empty() -> None:
    group = np.array([0, 0, 1, 1, 1, 0])
    # Group 0: class 0 twice right, class 2 once right. Group 1: class 0 wrong, class 1 right, class 2 wrong.
    assert cell_accuracy(PREDICTED, Y, group, 3, 4) == [
        [1.0, None, 1.0, None],
        [0.0, 1.0, 0.0, None],
        [None, None, None, None],
    ]


def test_a_cell_holds_the_share_of_its_rows_that_is_right() -> None:
    y, predicted = np.array([1, 1, 1, 1]), np.array([1, 0, 0, 1])
    assert cell_accuracy(predicted, y, np.array([0, 0, 0, 1]), 2, 2) == [[None, 1 / 3], [None, 1.0]]


def test_rows_of_unknown_group_are_in_no_cell() -> None:
    assert cell_accuracy(np.array([0, 1]), np.array([0, 0]), np.array([0, -1]), 1, 1) == [[1.0]]
