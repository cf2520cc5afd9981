"""Verdicts by hand: Holm's correction, how many rows would do, the three states and their words."""

from __future__ import annotations

import pytest

from csad.auditing.leakage.verdicts import Reading, Rule, needed_rows, rows_to_read, undecided, verdict_for

SURE = 0.6  # how a planted leak is read by a reader that sees well


def reading(score: float, low: float, high: float, p: float = 0.5, probe: str = "linear", rows: int = 1000) -> Reading:
    return Reading(probe, "h_y", "gender", score, 0.5, low, high, p, p, rows)


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
    verdict = verdict_for(
        [reading(0.52, 0.49, 0.55), reading(0.71, 0.68, 0.74, p=0.003, probe="mlp")], Rule(), planted=SURE
    )
    assert verdict.state == "leaks"
    assert verdict.words == (
        "A probe predicts gender from h_y with AUC .71 (.68 … .74; chance .50), so h_y leaks gender."
    )
    assert verdict.needed_rows is None


@pytest.mark.parametrize("found", [reading(0.56, 0.49, 0.63, p=0.01), reading(0.56, 0.51, 0.61, p=0.06)])
def test_it_takes_both_the_interval_and_the_p_value_to_leak(found: Reading) -> None:
    assert verdict_for([found], Rule(), planted=SURE).state == "cannot tell"


def test_an_interval_far_above_chance_whose_p_value_cannot_be_low_asks_for_more_rows_and_names_no_number() -> None:
    """As where 16 persons are all there are: the rows that would do follow from the interval, which is narrow here."""
    verdict = verdict_for([reading(1, 1, 1, p=0.14), reading(0.6, 0.3, 0.9)], Rule(tests=12), planted=SURE)
    assert (verdict.state, verdict.needed_rows) == ("cannot tell", None)
    assert "has AUC 1.00 (1.00 … 1.00; chance .50), but with so few independent rows or persons" in verdict.words
    assert verdict.words.endswith("shuffled labels often score as well (corrected p = .14). More data are needed.")


def test_a_leak_within_the_margin_is_one_and_says_so() -> None:
    verdict = verdict_for([reading(0.52, 0.51, 0.53, p=0.001)], Rule(), planted=SURE)
    assert verdict.words.endswith("(.51 … .53; chance .50), so h_y leaks gender, but by less than the margin of .05.")


def test_there_is_no_evidence_of_leakage() -> None:
    verdict = verdict_for([reading(0.51, 0.48, 0.54), reading(0.49, 0.46, 0.52)], Rule(), planted=SURE)
    assert verdict.state == "no evidence of leakage"
    assert verdict.words == (
        "No probe predicts gender from h_y significantly better than chance. The best probe has AUC .51 (.48 … .54; "
        "chance .50), and every interval ends less than .05 above chance, so there is no evidence of leakage."
    )


def test_one_wide_interval_is_enough_not_to_tell() -> None:
    verdict = verdict_for([reading(0.51, 0.48, 0.54), reading(0.5, 0.4, 0.6, probe="mlp")], Rule(), planted=SURE)
    assert verdict.state == "cannot tell"
    assert verdict.needed_rows == 16_000
    assert verdict.words == (
        "1,000 rows are too few to say whether h_y leaks gender. The best probe has AUC .51 (.48 … .54; chance .50). "
        "About 16,000 rows are needed."
    )


def test_a_score_below_chance_is_luck_and_does_not_excuse_a_wide_interval() -> None:
    assert verdict_for([reading(0.4, 0.3, 0.5)], Rule(), planted=SURE).state == "cannot tell"
    assert verdict_for([reading(0.48, 0.44, 0.52)], Rule(), planted=SURE).state == "no evidence of leakage"


def test_a_reader_that_would_not_see_a_leak_proves_nothing() -> None:
    verdict = verdict_for([reading(0.5, 0.48, 0.52)], Rule(), planted=0.53)
    assert verdict.state == "cannot tell"
    assert verdict.needed_rows == 3400  # (1 / .3² − 1) / 3 times the rows
    assert verdict.words == (
        "1,000 rows are too few to say whether h_y leaks gender. The best probe has AUC .50 (.48 … .52; chance .50), "
        "but a probe scores only .53 on a planted leak of AUC .60. About 3,400 rows are needed."
    )


def test_features_that_do_not_vary_hide_nothing() -> None:
    assert verdict_for([reading(0.5, 0.5, 0.5, p=1.0, rows=20)], Rule()).state == "no evidence of leakage"


def test_the_level_and_the_margin_are_the_rules() -> None:
    found = reading(0.54, 0.51, 0.57, p=0.03)
    assert verdict_for([found], Rule(level=0.99), planted=SURE).state == "cannot tell"
    assert verdict_for([found], Rule(level=0.99, margin=0.1), planted=0.65).state == "no evidence of leakage"


def test_more_rows_are_wanted_than_there_are() -> None:
    verdict = verdict_for([reading(0.54, 0.52, 0.56, p=0.06)], Rule(), planted=SURE)
    assert verdict.needed_rows == 1200


def test_where_nothing_can_be_read_it_is_said_why() -> None:
    verdict = undecided("h", "age", "fewer than two labels", " among rows with the same target")
    assert verdict.words == "It is unclear whether h leaks age among rows with the same target: fewer than two labels."
    assert (verdict.state, verdict.needed_rows, verdict.readings) == ("cannot tell", None, ())
