"""Figures by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from csad.auditing.metrics import accuracy, balanced_accuracy, cell_accuracy, figures

Y = np.array([0, 0, 0, 1, 2, 2])
PREDICTED = np.array([0, 0, 1, 1, 0, 2])


def test_accuracy_is_the_share_that_is_right() -> None:
    assert accuracy(PREDICTED, Y) == 4 / 6


def test_balanced_accuracy_counts_every_class_alike() -> None:
    assert balanced_accuracy(PREDICTED, Y) == pytest.approx((2 / 3 + 1 / 1 + 1 / 2) / 3)


def test_a_class_that_is_predicted_but_absent_does_not_count() -> None:
    assert balanced_accuracy(np.array([5, 0]), np.array([0, 0])) == 0.5


def test_the_figures_are_scikit_learns() -> None:
    generator = np.random.default_rng(0)
    for classes in (2, 3, 10):
        y, predicted = generator.integers(classes, size=(2, 300))
        y[:classes] = np.arange(classes)
        found = figures(predicted, y)
        assert found["accuracy"] == pytest.approx(accuracy_score(y, predicted))
        assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))


def test_figures_are_plain_numbers() -> None:
    assert figures(Y, Y) == {"accuracy": 1.0, "balanced_accuracy": 1.0}
    assert all(type(value) is float for value in figures(PREDICTED, Y).values())


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
