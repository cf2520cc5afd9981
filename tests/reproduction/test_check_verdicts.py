"""Checks of a table: an interval with hand numbers, both its sides, and what is shown and told of them."""

from __future__ import annotations

import json
import math

import pytest

from csad.reproduction.check import (
    LEAST_STD,
    Check,
    check_as_json,
    check_as_rows,
    check_captions,
    check_cell,
    prediction_interval,
)
from csad.reproduction.result_table import Cell, ResultTable

COMMITTED = Cell("csad", "0.020", "accuracy", 0.9, 0.01, 3, 0.943, {"10": 0.89, "11": 0.9, "12": 0.91})


def fresh(mean: float, n: int = 3) -> Cell:
    return Cell("csad", "0.020", "accuracy", mean, 0.02 if n > 1 else None, n, 0.943)


def check_of(*means: float | None) -> Check:
    cells = [None if mean is None else fresh(mean) for mean in means]
    table = ResultTable(
        "digits", "Digits", "last epoch", "csad …", {"torch": "2"}, [cell for cell in cells if cell],
        {"csad": "CSAD"}, "σ²", ["A note."],
    )  # fmt: skip
    return Check("old.json", [check_cell(COMMITTED, cell) for cell in cells], table, [13, 14, 15])


@pytest.mark.parametrize(
    "n, m, t",
    [
        # Student's t has a closed form for one degree of freedom and for two.
        (2, 2, math.tan(0.475 * math.pi)),  # 12.71
        (3, 3, 0.95 * math.sqrt(2 / (1 - 0.95**2))),  # 4.303
        (3, 1, 0.95 * math.sqrt(2 / (1 - 0.95**2))),
        (31, 31, 2.0422724563),  # printed in any table, for 30
    ],
)
def test_the_interval_is_students(n: int, m: int, t: float) -> None:
    low, high = prediction_interval(0.9, 0.01, n, m)
    assert (low + high) / 2 == pytest.approx(0.9)
    assert (high - low) / 2 == pytest.approx(t * 0.01 * math.sqrt(1 / n + 1 / m), rel=1e-8)


def test_the_interval_by_hand() -> None:
    # t · s · √(1/3 + 1/3) = 4.3027 · .01 · .8165 = .03513
    assert prediction_interval(0.9, 0.01, 3, 3) == pytest.approx((0.86487, 0.93513), abs=1e-5)


def test_seeds_that_lie_together_by_chance_leave_some_room() -> None:
    assert prediction_interval(0.9, 0.0, 3, 3) == prediction_interval(0.9, LEAST_STD, 3, 3)
    assert prediction_interval(0.9, 0.0, 3, 3) == pytest.approx((0.89297, 0.90703), abs=1e-5)


@pytest.mark.parametrize(
    "mean, side", [(0.9, "within"), (0.865, "within"), (0.8648, "below"), (0.935, "within"), (0.9352, "above")]
)
def test_a_fresh_mean_passes_within_and_fails_on_either_side(mean: float, side: str) -> None:
    verdict = check_cell(COMMITTED, fresh(mean))
    assert (verdict.side, verdict.passed) == (side, side == "within")


def test_fewer_fresh_runs_may_lie_further_off() -> None:
    assert check_cell(COMMITTED, fresh(0.9352, n=1)).passed


def test_a_cell_whose_runs_were_all_lost_fails() -> None:
    verdict = check_cell(COMMITTED, None)
    assert (verdict.side, verdict.passed) == ("lost", False)


def test_a_single_committed_run_has_no_interval() -> None:
    with pytest.raises(ValueError, match="single run"):
        check_cell(fresh(0.9, n=1), fresh(0.9))


def test_a_check_passes_if_every_cell_does() -> None:
    assert check_of(0.9, 0.91).passed
    assert not check_of(0.9, 0.5).passed
    assert not check_of(0.9, None).passed


def test_people_see_both_figures_the_interval_and_the_side() -> None:
    check = check_of(0.905, 0.5, 0.99, None)
    headings, rows = check_as_rows(check)
    assert headings == ["Method", "σ²", "Figure", "Committed", "Fresh", "95 % interval", "Verdict"]
    names = ["CSAD", "0.020", "accuracy", "0.9000 ± 0.0100 (n = 3)"]
    assert rows == [
        [*names, "0.9050 ± 0.0200 (n = 3)", "0.8649 … 0.9351", "pass"],
        [*names, "0.5000 ± 0.0200 (n = 3)", "0.8649 … 0.9351", "fail: below"],
        [*names, "0.9900 ± 0.0200 (n = 3)", "0.8649 … 0.9351", "fail: above"],
        [*names, "–", "0.8649 … 0.9351", "fail: lost"],
    ]
    told = check_captions(check)
    assert told[0].startswith("Committed: old.json. Fresh: ")
    assert told[0].endswith(": 13, 14, 15.")
    assert all(words in told[1] for words in ("s at least 0.002.", "about one cell in 20 fails by chance."))
    assert told[2:] == ["A note.", "1 of 4 cells pass."]


def test_the_json_says_the_same() -> None:
    told = json.loads(json.dumps(check_as_json(check_of(0.5, None)), allow_nan=False))
    assert (told["table"], told["against"], told["passed"], told["seeds"]) == (
        "digits",
        "old.json",
        False,
        [13, 14, 15],
    )
    below, lost = told["cells"]
    assert below == {
        "method": "csad",
        "column": "0.020",
        "metric": "accuracy",
        "committed": {"mean": 0.9, "std": 0.01, "n": 3, "values": {"10": 0.89, "11": 0.9, "12": 0.91}},
        "fresh": {"mean": 0.5, "std": 0.02, "n": 3, "values": {}},
        "low": pytest.approx(0.86487, abs=1e-5),
        "high": pytest.approx(0.93513, abs=1e-5),
        "side": "below",
        "passed": False,
    }
    assert (lost["fresh"], lost["side"], lost["passed"]) == (None, "lost", False)
