"""Accuracy against the bias and recall of each class, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csad.auditing.inputs import AuditRows, AuditSettings, LabelColumn, ModelOutputs
from csad.auditing.measure import measure
from csad.auditing.metrics.groups import conflicting_cells
from tests.support.metric_groups import cell_figures, conflict_figures, recalls


def split(cells: dict[tuple[int, int], tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, targets and attribute: cells (target, attribute) of so many rows, so many of them right."""
    y, b, right = (
        np.concatenate([np.array(part(cell, *counts)) for cell, counts in cells.items()])
        for part in (
            lambda cell, rows, _: [cell[0]] * rows,
            lambda cell, rows, _: [cell[1]] * rows,
            lambda _, rows, good: [1] * good + [0] * (rows - good),
        )
    )
    return np.where(right == 1, y, 1 - y), y, b


# As on CelebA: target blond, attribute male. Few blond men; women who are not blond are fewer than by chance.
CELEBA = {(0, 0): (50, 40), (0, 1): (60, 57), (1, 0): (20, 19), (1, 1): (4, 1)}


def test_cells_against_the_bias_are_those_in_which_target_and_attribute_are_alike_on_celeba() -> None:
    predicted, y, male = split(CELEBA)
    # The cells (0, 0) and (1, 1): 40 / 50 = .8 and 1 / 4 = .25.
    assert conflict_figures(predicted, y, {"male": male}) == {"bias_conflicting": pytest.approx(0.525)}
    # All four: .8, .95, .95 and .25.
    assert cell_figures(predicted, y, {"male": male})["unbiased"] == pytest.approx(0.7375)


def test_which_cells_are_against_the_bias_is_told_by_their_rows_not_by_equal_numbers() -> None:
    predicted, y, male = split(CELEBA)
    turned = conflict_figures(predicted, y, {"female": 1 - male})
    assert turned == conflict_figures(predicted, y, {"male": male})


def test_rows_of_an_unknown_attribute_do_not_count() -> None:
    predicted, y, male = split(CELEBA)
    more = conflict_figures(np.append(predicted, [0, 1]), np.append(y, [1, 0]), {"male": np.append(male, [-1, -1])})
    assert more == conflict_figures(predicted, y, {"male": male})


def test_two_attributes_make_cells_together() -> None:
    y = np.array([0] * 6 + [1] * 6)
    one = np.array([0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1])
    other = np.array([0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1])
    predicted = y.copy()
    predicted[[5, 6]] = 1 - y[[5, 6]]
    # Groups (0,0), (1,0), (1,1) have 4, 1, 1 rows of class 0 and 1, 1, 4 of class 1. Half of 5, 2, 5 is expected, so
    # (1,0) is as frequent as by chance; against the bias are (1,1) of class 0 and (0,0) of class 1, both wrong.
    assert conflict_figures(predicted, y, {"one": one, "other": other}) == {"bias_conflicting": 0.0}


@pytest.mark.parametrize(
    "biases",
    [{}, {"male": np.zeros(8, int)}, {"male": np.full(8, -1)}, {"male": np.tile([0, 0, 1, 1], 2)}],
    ids=["none", "one group", "unknown", "independent"],
)
def test_there_is_no_such_figure_where_nothing_is_against_a_bias(biases: dict[str, np.ndarray]) -> None:
    y = np.arange(8) % 2
    assert conflict_figures(y, y, biases) == {}


def test_there_is_none_either_where_every_cell_with_rows_goes_with_the_bias() -> None:
    y = np.array([0, 0, 1, 1])
    assert conflict_figures(y, y, {"age": y}) == {}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_it_is_the_mean_over_a_slow_count_of_cells(rows: list[tuple[int, int, int]]) -> None:
    y, b, predicted = np.array(rows).T
    shown = [row for row in rows if row[1] >= 0]
    against = []
    for target in {row[0] for row in shown}:
        for group in {row[1] for row in shown}:
            cell = [row for row in shown if row[:2] == (target, group)]
            of_target, of_group = (sum(row[k] == v for row in shown) for k, v in ((0, target), (1, group)))
            if cell and len(cell) * len(shown) < of_target * of_group:
                against.append(sum(row[2] == row[0] for row in cell) / len(cell))
    found = conflict_figures(predicted, y, {"b": b})
    assert found == ({"bias_conflicting": pytest.approx(sum(against) / len(against))} if against else {})


def test_recall_is_the_share_of_a_class_that_is_right() -> None:
    y, predicted = np.array([0, 0, 0, 2, 2, 2, 2]), np.array([0, 0, 1, 2, 0, 0, 0])
    assert recalls(predicted, y) == {"recall_0": pytest.approx(2 / 3), "recall_2": 0.25}


def test_each_row_is_told_the_cell_against_the_bias_that_it_is_in() -> None:
    _, y, male = split(CELEBA)
    expected = np.where(y != male, -1, 3 * y)  # of the cells 0 … 3 the first and the last
    np.testing.assert_array_equal(conflicting_cells(y, {"male": male}), expected)


def test_a_draw_has_the_cells_of_its_split_even_where_its_own_rows_would_say_otherwise() -> None:
    predicted, y, male = split(CELEBA)
    cells = conflicting_cells(y, {"male": male})
    # A blond man three hundred times, once right: no longer rare, yet against the bias all the same.
    blond_man = np.flatnonzero((y == 1) & (male == 1))[-1]
    drawn = np.append(np.arange(len(y)), np.full(300, blond_man))
    told = conflict_figures(predicted[drawn], y[drawn], {"male": male[drawn]}, cells[drawn])
    assert told == {"bias_conflicting": pytest.approx((40 / 50 + 1 / 304) / 2)}
    assert conflict_figures(predicted[drawn], y[drawn], {"male": male[drawn]}) != told


def test_a_cell_that_a_draw_lacks_does_not_count_in_it() -> None:
    predicted, y, male = split(CELEBA)
    drawn = np.flatnonzero((y != 1) | (male != 1))
    cells = conflicting_cells(y, {"male": male})[drawn]
    told = conflict_figures(predicted[drawn], y[drawn], {"male": male[drawn]}, cells)
    assert told == {"bias_conflicting": pytest.approx(0.8)}
    assert conflict_figures(predicted[:0], y[:0], {"male": male[:0]}, cells[:0]) == {}


def test_the_interval_of_the_figure_is_that_of_cells_decided_once() -> None:
    # 26 of 50 and 24 of 50: nearly independent, so that in every third draw the cells would change sides.
    predicted, y, b = split({(0, 0): (26, 26), (0, 1): (24, 0), (1, 0): (24, 0), (1, 1): (26, 26)})
    facts = AuditRows(LabelColumn("target", y, ("no", "yes")), (LabelColumn("b", b, ("f", "m")),))
    figure = measure(ModelOutputs(predicted), facts, AuditSettings(repeats=100))["bias_conflicting"]
    assert (figure.value, figure.low, figure.high) == (0.0, 0.0, 0.0)
