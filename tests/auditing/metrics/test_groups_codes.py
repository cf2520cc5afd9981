"""Combinations of labels as numbers: those that numpy finds by sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csad.auditing.metrics.groups import cell_numbers, splitting, without_gaps

WHOLE = st.one_of(st.integers(0, 4), st.integers(0, 2**31))


@given(st.lists(WHOLE, max_size=30))
def test_dense_numbers_are_those_that_sorting_gives(labels: list[int]) -> None:
    values = np.array(labels, np.int64)
    np.testing.assert_array_equal(without_gaps(values), np.unique(values, return_inverse=True)[1])


@given(st.lists(st.tuples(WHOLE, WHOLE, WHOLE), min_size=1, max_size=30))
def test_cells_are_the_combinations_that_sorting_gives(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, np.int64)
    expected = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
    np.testing.assert_array_equal(cell_numbers(list(table.T)), expected)


def test_many_columns_of_many_values_do_not_overflow() -> None:
    columns = [np.array([0, 2**40, 2**40, 0]) for _ in range(12)]
    np.testing.assert_array_equal(cell_numbers(columns), [0, 1, 1, 0])


def test_bytes_and_truth_values_are_labels_too() -> None:
    np.testing.assert_array_equal(cell_numbers([np.array([200, 3], np.uint8), np.array([True, False])]), [1, 0])


def test_an_attribute_splits_where_two_of_its_groups_are_known() -> None:
    two, one, none = np.array([0, -1, 4]), np.array([3, 3, -1]), np.array([-1, -1, -1])
    found = splitting([two, one, none])
    assert len(found) == 1
    assert found[0] is two
