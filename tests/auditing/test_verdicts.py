"""Verdicts by hand: Holm's correction, how many rows would do, the three states and their words."""

from __future__ import annotations

import pytest

from csad.auditing.verdicts import Reading, Rule, holm, judge, needed_rows, rows_to_read, untold

SURE = 0.6  # how a planted leak is read by a reader that sees well


def reading(score: float, low: float, high: float, p: float = 0.5, probe: str = "linear", rows: int = 1000) -> Reading:
    return Reading(probe, "h_y", "gender", score, 0.5, low, high, p, p, rows)


def test_holms_correction_by_hand() -> None:
    # Sorted: .005 × 4, .01 × 3, .03 × 2, .04 × 1; the last is raised to the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.4, 0.9]) == pytest.approx([0.8, 0.9])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_rows_that_would_do_by_hand() -> None:
    # One test: the half-width must be half the margin: (.1 / .025)² = 16 times the rows.
    assert needed_rows(100, 0.1, Rule()) == 1600
    assert needed_rows(1000, 0.025, Rule()) == 1000
    # Three tests at 5 %: z = 1.645 and 2.128, so (.1 / 1.645 · 3.773 / .05)² · 100 = 2104, up to two digits.
    assert needed_rows(100, 0.1, Rule(tests=3)) == 2200


def test_rows_to_read_a_planted_leak_by_hand() -> None:
    # Read as .525 of .60, a quarter is kept: c = 15 · rows, and half is kept at c / 3 rows.
    assert rows_to_read(1000, 0.525, Rule()) == 5000
    assert rows_to_read(1000, 0.55, Rule()) == 1000
    assert rows_to_read(1000, 0.48, Rule()) == 33_000


def test_it_leaks() -> None:
    verdict = judge([reading(0.52, 0.49, 0.55), reading(0.71, 0.68, 0.74, p=0.003, probe="mlp")], Rule(), planted=SURE)
    assert verdict.state == "leaks"
    assert verdict.words == "A fresh reader tells gender from h_y with AUC .71 (.68 … .74; chance .50): it leaks."
    assert verdict.needed_rows is None


@pytest.mark.parametrize("found", [reading(0.56, 0.49, 0.63, p=0.01), reading(0.56, 0.51, 0.61, p=0.06)])
def test_it_takes_both_the_interval_and_the_p_value_to_leak(found: Reading) -> None:
    assert judge([found], Rule(), planted=SURE).state == "cannot tell"


def test_an_interval_far_above_chance_whose_p_value_cannot_be_low_asks_for_more_rows_and_names_no_number() -> None:
    """As where 16 persons are all there are: the rows that would do follow from the interval, which is narrow here."""
    verdict = judge([reading(1, 1, 1, p=0.14), reading(0.6, 0.3, 0.9)], Rule(tests=12), planted=SURE)
    assert (verdict.state, verdict.needed_rows) == ("cannot tell", None)
    assert "the best reader has AUC 1.00 (1.00 … 1.00; chance .50), but so little is independent" in verdict.words
    assert "shuffled labels do as well too often (p .14, corrected): more are needed." in verdict.words


def test_a_leak_within_the_margin_is_one_and_says_so() -> None:
    verdict = judge([reading(0.52, 0.51, 0.53, p=0.001)], Rule(), planted=SURE)
    assert verdict.words.endswith("(.51 … .53; chance .50): it leaks, by less than the margin of .05.")


def test_there_is_no_evidence_of_leakage() -> None:
    verdict = judge([reading(0.51, 0.48, 0.54), reading(0.49, 0.46, 0.52)], Rule(), planted=SURE)
    assert verdict.state == "no evidence of leakage"
    assert verdict.words == (
        "No fresh reader tells gender from h_y: the best has AUC .51 (.48 … .54; chance .50), and none can be .05 "
        "above chance: no evidence of leakage."
    )


def test_one_wide_interval_is_enough_not_to_tell() -> None:
    verdict = judge([reading(0.51, 0.48, 0.54), reading(0.5, 0.4, 0.6, probe="mlp")], Rule(), planted=SURE)
    assert verdict.state == "cannot tell"
    assert verdict.needed_rows == 16_000
    assert verdict.words == (
        "Whether h_y tells gender cannot be told from 1,000 rows: the best reader has AUC .51 (.48 … .54; chance .50); "
        "about 16,000 would do."
    )


def test_a_score_below_chance_is_luck_and_does_not_excuse_a_wide_interval() -> None:
    assert judge([reading(0.4, 0.3, 0.5)], Rule(), planted=SURE).state == "cannot tell"
    assert judge([reading(0.48, 0.44, 0.52)], Rule(), planted=SURE).state == "no evidence of leakage"


def test_a_reader_that_would_not_see_a_leak_proves_nothing() -> None:
    verdict = judge([reading(0.5, 0.48, 0.52)], Rule(), planted=0.53)
    assert verdict.state == "cannot tell"
    assert verdict.needed_rows == 3400  # (1 / .3² − 1) / 3 times the rows
    assert verdict.words == (
        "Whether h_y tells gender cannot be told from 1,000 rows: the best reader has AUC .50 (.48 … .52; chance .50), "
        "but a leak of .60 planted there is read as .53; about 3,400 would do."
    )


def test_features_that_do_not_vary_hide_nothing() -> None:
    assert judge([reading(0.5, 0.5, 0.5, p=1.0, rows=20)], Rule()).state == "no evidence of leakage"


def test_the_level_and_the_margin_are_the_rules() -> None:
    found = reading(0.54, 0.51, 0.57, p=0.03)
    assert judge([found], Rule(level=0.99), planted=SURE).state == "cannot tell"
    assert judge([found], Rule(level=0.99, margin=0.1), planted=0.65).state == "no evidence of leakage"


def test_more_rows_are_wanted_than_there_are() -> None:
    verdict = judge([reading(0.54, 0.52, 0.56, p=0.06)], Rule(), planted=SURE)
    assert verdict.needed_rows == 1200


def test_where_nothing_can_be_read_it_is_said_why() -> None:
    verdict = untold("h", "age", "fewer than two labels", " among rows of the same target")
    assert verdict.words == "Whether h tells age among rows of the same target cannot be told: fewer than two labels."
    assert (verdict.state, verdict.needed_rows, verdict.readings) == ("cannot tell", None, ())
