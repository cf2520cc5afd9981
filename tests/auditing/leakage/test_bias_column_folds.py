"""Dealing and shuffling: who is learnt from before whom, and what stays together."""

from __future__ import annotations

import numpy as np
import pytest

from csad.auditing.leakage.bias_column import BLOCKS, Folds, assign_folds, shuffled


def persons(whole: bool = True, equal: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray, Folds]:
    """Labels, persons and strata of rows in random order, and the deal."""
    generator = np.random.default_rng(0)
    size = np.full(60, 4) if equal else generator.integers(1, 6, size=60)
    unit = generator.permutation(np.repeat(np.arange(60), size))
    codes = generator.integers(2, size=60)[unit] if whole else generator.integers(2, size=len(unit))
    strata = np.arange(60)[unit] % 2
    return codes, unit, strata, assign_folds(codes, unit, strata, generator)


@pytest.mark.parametrize("whole", [True, False])
def test_the_rows_of_a_person_are_never_both_learnt_from_and_read(whole: bool) -> None:
    _, unit, _, dealt = persons(whole)
    read = []
    for seen, rows in dealt.turns():
        assert not set(unit[seen]) & set(unit[rows])
        read.append(rows)
    assert dealt.whole == whole
    assert np.sort(np.concatenate(read)).tolist() == np.flatnonzero(dealt.block > 0).tolist()


def test_each_block_is_read_by_who_learnt_from_all_blocks_before() -> None:
    *_, dealt = persons()
    for number, (seen, rows) in enumerate(dealt.turns(), start=1):
        assert set(dealt.block[seen]) == set(range(number))
        assert set(dealt.block[rows]) == {number}


def test_labels_are_spread_evenly_over_the_blocks() -> None:
    codes = np.repeat([0, 1, 2], [5, 50, 145])
    dealt = assign_folds(codes, np.arange(200), np.zeros(200, int), np.random.default_rng(0))
    counts = np.array([np.bincount(codes[dealt.block == block], minlength=3) for block in range(BLOCKS)])
    assert counts.tolist() == [[1, 10, 29]] * BLOCKS


def test_cells_are_blocks_and_strata_without_the_first_block() -> None:
    _, _, strata, dealt = persons()
    for rows in dealt.cells():
        assert len({(dealt.block[row], strata[row]) for row in rows}) == 1
    assert len(dealt.cells()) == 2 * (BLOCKS - 1)
    assert np.sort(np.concatenate(dealt.cells())).tolist() == np.flatnonzero(dealt.block > 0).tolist()


def test_shuffled_labels_stay_in_their_cell_and_the_first_block_keeps_its_own() -> None:
    generator = np.random.default_rng(1)
    codes, strata = generator.integers(3, size=200), generator.integers(2, size=200)
    dealt = assign_folds(codes, np.arange(200), strata, generator)
    drawn = shuffled(codes, dealt, 50, generator)
    assert (drawn[:, dealt.block == 0] == codes[dealt.block == 0]).all()
    for rows in dealt.cells():
        assert (np.sort(drawn[:, rows]) == np.sort(codes[rows])).all()
    assert (drawn != codes).any(1).all()


def test_a_person_with_one_label_gets_one_label() -> None:
    codes, unit, _, dealt = persons()
    drawn = shuffled(codes, dealt, 20, np.random.default_rng(2))
    for one in range(60):
        assert (drawn[:, unit == one] == drawn[:, unit == one][:, :1]).all()


def test_labels_that_vary_within_a_person_move_together() -> None:
    codes, unit, _, dealt = persons(whole=False, equal=True)
    drawn = shuffled(codes, dealt, 20, np.random.default_rng(3))
    own = {tuple(codes[unit == one]) for one in range(60)}
    assert {tuple(labels[unit == one]) for labels in drawn for one in range(60)} <= own
    assert (np.sort(drawn) == np.sort(codes)).all()


def test_every_order_of_the_labels_is_as_likely() -> None:
    # Four rows in the last block, two of each label: six orders.
    codes = np.tile([0, 1], 10)
    dealt = Folds(np.repeat(np.arange(5), 4), np.arange(20), np.zeros(20, int), True)
    drawn = shuffled(codes, dealt, 6000, np.random.default_rng(4))[:, 16:]
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert abs(counts - 1000).max() < 120
