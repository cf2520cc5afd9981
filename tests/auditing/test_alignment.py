"""Which cells a bias goes with is told by the training rows; accuracy is then counted on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from csad.auditing.alignment import by_alignment, leanings
from csad.auditing.audited import Facts, Labels, Outputs, Settings

NAMES = ("0", "1")
QUICK = Settings(repeats=30)


def crossed(counts: list[list[int]]) -> tuple[Labels, Labels]:
    """Labels with so many rows in each cell, targets down and groups across."""
    y = np.repeat([0, 0, 1, 1], np.ravel(counts))
    b = np.repeat([0, 1, 0, 1], np.ravel(counts))
    return Labels("target", y, NAMES), Labels("gender", b, NAMES)


def test_cells_that_hold_more_than_independence_makes_likely_are_aligned() -> None:
    # Expected are 50 in each cell; the residual is 30 / √(50 · ½ · ½) = 8.5.
    assert leanings(*crossed([[80, 20], [20, 80]])).tolist() == [[1, -1], [-1, 1]]


def test_cells_that_chance_may_have_filled_are_neither() -> None:
    # 5 / √(50 · ½ · ½) = 1.4 standard deviations.
    assert leanings(*crossed([[55, 45], [45, 55]])).tolist() == [[0, 0], [0, 0]]


def test_accuracy_is_counted_on_both_sides_as_the_training_rows_tell_them() -> None:
    target, gender = crossed([[10, 10], [10, 10]])  # independent where it is tested
    said = gender.values  # the bias, and nothing else
    facts = Facts(target, (gender,), trained=(lambda t: (t[0], (t[1],)))(crossed([[80, 20], [20, 80]])))
    (found,) = by_alignment(Outputs(said), facts, QUICK)
    assert (found.aligned.value, found.conflicting.value, found.difference.value) == (1.0, 0.0, 1.0)
    assert (found.aligned_rows, found.conflicting_rows) == (20, 20)
    assert by_alignment(Outputs(said), Facts(target, (gender,)), QUICK) == ()


def test_unknown_groups_are_on_no_side() -> None:
    target, gender = crossed([[80, 20], [20, 80]])
    hidden = Labels("gender", np.where(np.arange(200) % 2, gender.values, -1), NAMES)
    (found,) = by_alignment(Outputs(target.values), Facts(target, (hidden,)), QUICK)
    assert (found.aligned_rows, found.conflicting_rows) == (80, 20)
    assert found.aligned.value == found.conflicting.value == 1.0


def test_a_number_goes_with_the_target_by_its_fifths() -> None:
    generator = np.random.default_rng(0)
    y = np.arange(1000) % 2
    age = generator.normal(size=1000) + 3 * y
    facts = Facts(Labels("target", y, NAMES), (Labels("age", age),))
    (found,) = by_alignment(Outputs((age > 1.5).astype(int)), facts, QUICK)
    assert found.aligned.value > 0.9
    assert found.conflicting.value == pytest.approx(0.0, abs=0.3)
