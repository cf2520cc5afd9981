"""Which cells a bias goes with is told by the training rows; accuracy is then counted on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from csad.auditing.inputs import AuditRows, AuditSettings, LabelColumn, ModelOutputs
from csad.auditing.measure import by_alignment, leanings

NAMES = ("0", "1")
QUICK = AuditSettings(repeats=30)


def crossed(counts: list[list[int]]) -> tuple[LabelColumn, LabelColumn]:
    """Labels with so many rows in each cell, targets down and groups across."""
    y = np.repeat([0, 0, 1, 1], np.ravel(counts))
    b = np.repeat([0, 1, 0, 1], np.ravel(counts))
    return LabelColumn("target", y, NAMES), LabelColumn("gender", b, NAMES)


def test_cells_that_hold_more_than_independence_makes_likely_are_aligned() -> None:
    # Expected are 50 in each cell; the residual is 30 / √(50 · ½ · ½) = 8.5.
    assert leanings(*crossed([[80, 20], [20, 80]])).tolist() == [[1, -1], [-1, 1]]


def test_cells_that_chance_may_have_filled_are_neither() -> None:
    # 5 / √(50 · ½ · ½) = 1.4 standard deviations.
    assert leanings(*crossed([[55, 45], [45, 55]])).tolist() == [[0, 0], [0, 0]]


def test_a_residual_is_adjusted_for_the_shares_of_both_target_and_group() -> None:
    # Targets 200 and 300, groups 100 and 400 of 500: expected are 40, 160, 60 and 240, from which all cells are 14 off.
    # √(40 · .6 · .8) = √19.2 = 4.38 in all four, so that 14 is 3.2 of them. Without the groups' shares at most
    # 14 / √(40 · .6) = 2.9, without the targets' at most 14 / √(40 · .8) = 2.5: none would be on a side.
    assert leanings(*crossed([[54, 146], [46, 254]])).tolist() == [[1, -1], [-1, 1]]


def test_accuracy_is_counted_on_both_sides_as_the_training_rows_tell_them() -> None:
    target, gender = crossed([[10, 10], [10, 10]])  # independent where it is tested
    said = gender.values  # the bias, and nothing else
    facts = AuditRows(target, (gender,), trained=(lambda t: (t[0], (t[1],)))(crossed([[80, 20], [20, 80]])))
    (found,) = by_alignment(ModelOutputs(said), facts, QUICK)
    assert (found.aligned.value, found.conflicting.value, found.difference.value) == (1.0, 0.0, 1.0)
    assert (found.aligned_rows, found.conflicting_rows) == (20, 20)
    assert by_alignment(ModelOutputs(said), AuditRows(target, (gender,)), QUICK) == ()


def test_unknown_groups_are_on_no_side() -> None:
    target, gender = crossed([[80, 20], [20, 80]])
    hidden = LabelColumn("gender", np.where(np.arange(200) % 2, gender.values, -1), NAMES)
    (found,) = by_alignment(ModelOutputs(target.values), AuditRows(target, (hidden,)), QUICK)
    assert (found.aligned_rows, found.conflicting_rows) == (80, 20)
    assert found.aligned.value == found.conflicting.value == 1.0


def test_a_number_goes_with_the_target_by_its_fifths() -> None:
    generator = np.random.default_rng(0)
    y = np.arange(1000) % 2
    age = generator.normal(size=1000) + 3 * y
    facts = AuditRows(LabelColumn("target", y, NAMES), (LabelColumn("age", age),))
    (found,) = by_alignment(ModelOutputs((age > 1.5).astype(int)), facts, QUICK)
    assert found.aligned.value > 0.9
    assert found.conflicting.value == pytest.approx(0.0, abs=0.3)


def test_numbers_that_are_tested_are_in_the_fifths_of_those_trained_on() -> None:
    # Trained on ages 0 … 99 with target 1 from 50: of the fifths 0–19, …, 80–99 the first two go with 0, the last two
    # with 1 (residual (20 − 10) / √(10 · ½ · .8) = 5). Those tested are 60 … 69, all in the fourth: six with 1, four
    # with 0. By their own fifths 60 … 63 would be in the first two, and none would be conflicting.
    trained = (LabelColumn("target", np.repeat([0, 1], 50), NAMES), (LabelColumn("age", np.arange(100.0)),))
    target, age = LabelColumn("target", np.repeat([0, 1], [4, 6]), NAMES), LabelColumn("age", np.arange(60.0, 70.0))
    (found,) = by_alignment(ModelOutputs(np.ones(10, int)), AuditRows(target, (age,), trained=trained), QUICK)
    assert (found.aligned_rows, found.conflicting_rows) == (6, 4)
    assert (found.aligned.value, found.conflicting.value) == (1.0, 0.0)


def test_classes_and_groups_that_were_never_trained_on_are_on_no_side() -> None:
    their_target, theirs = crossed([[80, 20], [20, 80]])
    target = LabelColumn("target", np.array([0, 0, 1, 1, 2, 2, 0]), ("0", "1", "2"))
    gender = LabelColumn("gender", np.array([0, 1, 1, 1, 0, 1, 2]), ("0", "1", "2"))
    facts = AuditRows(target, (gender,), trained=(their_target, (theirs,)))
    (found,) = by_alignment(ModelOutputs(target.values), facts, QUICK)
    assert (found.aligned_rows, found.conflicting_rows) == (3, 1)  # (0, 0), (1, 1) twice; (0, 1)
