from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.own.fit_preprocessor import Fitted, fit_inputs
from csad.data.tables.read_table import read_table_file
from csad.messages import message
from tests.support.csv_tables import write_table
from tests.support.messages import noticed, refused

N = 60


def fit(folder: Path, rows: Any = None, **columns: Any) -> Fitted:
    table = read_table_file(write_table(folder, {**columns, "n": [k % 7 for k in range(N)]}))
    return fit_inputs(table, [*columns], np.arange(N) if rows is None else np.array(rows))


@pytest.mark.parametrize(
    ("cells", "kind", "becomes"),
    [
        ([k / 2 for k in range(N)], "numbers", "input: standardised, 1 column"),
        (
            [k / 2 or None for k in range(N)],
            "numbers, 1 missing",
            "input: standardised, 2 columns, one of them for missing",
        ),
        ([1 if k % 2 else None for k in range(N)], "numbers, 30 missing", "input: standardised, 1 column"),
        (["ab"[k % 2] for k in range(N)], "2 different words", "input: one-hot, 2 columns"),
        (["X" if k % 2 else None for k in range(N)], "1 different word, 30 missing", "input: one-hot, 1 column"),
        ([bool(k % 2) for k in range(N)], "yes or no", "input: one-hot, 1 column"),
        (
            [["n", "y", None][k % 3] for k in range(N)],
            "yes or no, 20 missing",
            "input: one-hot, 2 columns, one of them for missing",
        ),
        ([f"2020-01-{1 + k % 28:02d}" for k in range(N)], "dates (ISO)", "input: a number of days, 1 column"),
        ([["1", "2", "3+"][k % 3] for k in range(N)], "3 different words", "input: one-hot, 3 columns"),
    ],
)
def test_each_kind_of_column_becomes_an_input(tmp_path: Path, cells: list[Any], kind: str, becomes: str) -> None:
    fitted = fit(tmp_path, a=cells)
    assert fitted.uses["a"].kind == kind
    assert fitted.uses["a"].becomes.startswith(becomes)


@pytest.mark.parametrize(
    ("cells", "advised"),
    [
        ([f"{10 + k}.5%" for k in range(N)], True),  # left out, as so many different words are
        ([f"{10 + k % 5}.5%" for k in range(N)], True),  # categories
        ([f"{10 + k}.5%" if k % 12 else f"n{k}" for k in range(N)], True),
        ([f"{10 + k}.5%" if k % 4 else f"n{k}" for k in range(N)], False),
        ([f"{10 + k}.5 %x" for k in range(N)], False),
    ],
)
def test_numbers_with_signs_about_them_are_told_how_to_be_numbers(
    tmp_path: Path, cells: list[Any], advised: bool
) -> None:
    notices = fit(tmp_path, a=cells, b=[k % 5 for k in range(N)]).notices
    number = "11.5" if cells[0] == "n0" else "10.5"
    assert any(f"; if '{number}%' means {number}, write " in notice for notice in notices) == advised
    assert any("; if " in notice for notice in notices) == advised
    assert len(notices) <= 1


def test_very_many_of_them_are_told_so_too(tmp_path: Path) -> None:
    rows = 10_001
    table = read_table_file(
        write_table(tmp_path, {"a": [f"{k:,}" for k in range(1000, 1000 + rows)], "n": [k % 7 for k in range(rows)]})
    )
    [notice] = fit_inputs(table, ["a", "n"], np.arange(rows)).notices
    assert noticed([notice], "column-not-used", column="a")
    assert "too many different words (such as '1,000' in line 2)" in notice
    assert "; if '1,000' means 1000, write " in notice
    texts = ["50%", *(f"text {k}" for k in range(rows - 1))]
    table = read_table_file(write_table(tmp_path, {"a": texts, "n": [k % 7 for k in range(rows)]}))
    [notice] = fit_inputs(table, ["a", "n"], np.arange(rows)).notices
    assert noticed([notice], "column-not-used", column="a")
    assert "; if " not in notice


@pytest.mark.parametrize(
    ("cells", "why", "reason"),
    [
        ([3] * N, "constant", "same value"),
        (["x"] * N, "constant", "same value"),
        ([None] * N, "empty", "empty"),
        ([f"u{k}" for k in range(N)], "an id or free text", "60 different words (such as 'u0' in line 2)"),
        ([N + 4 - k for k in range(N)], "row numbers", "row numbers"),
    ],
)
def test_what_tells_nothing_is_left_out_with_a_notice(tmp_path: Path, cells: list[Any], why: str, reason: str) -> None:
    fitted = fit(tmp_path, a=cells, b=[k % 5 for k in range(N)])
    assert fitted.preprocessor.names() == ("b",)
    assert fitted.uses["a"].becomes == f"left out: {why}"
    [notice] = fitted.notices
    assert noticed([notice], "column-not-used", column="a")
    assert reason in notice


def test_all_is_learned_from_the_training_rows_alone(tmp_path: Path) -> None:
    a = [k % 4 for k in range(30)] + [1000 + k for k in range(29)] + [None]
    b = ["u", "v"] * 15 + ["w", None] * 15
    fitted = fit(tmp_path, range(30), a=a, b=b)
    assert fitted.preprocessor.names() == ("a", "b=u", "b=v")
    scaled = fitted.preprocessor.columns[0].__dict__
    known = np.array(a[:30])
    assert (scaled["mean"], scaled["spread"], scaled["fill"]) == pytest.approx((known.mean(), known.std(), 1))


def test_notices_tell_what_is_read_otherwise_than_one_might_think(tmp_path: Path) -> None:
    fitted = fit(
        tmp_path,
        a=["NA" if k == 3 else k / 4 for k in range(N)],
        b=["01/02/2020" if k % 2 else "03/04/2020" for k in range(N)],
        c=[["1", "2", "3+"][k % 3] for k in range(N)],
    )
    assert fitted.notices == [
        message("values-read-as-missing", column="a", values="'NA'"),
        message("date-format-ambiguous", column="b", format="day/month/year", other="month/day/year"),
        message("numbers-mixed-with-text", column="c", value="3+"),
    ]


def test_words_among_many_numbers_are_an_error_that_says_where(tmp_path: Path) -> None:
    ages = [str(20 + k % 40) for k in range(N)]
    ages[7] = "unknown"
    with refused("text-in-number-column", column="a", value="'unknown' in line 9"):
        fit(tmp_path, a=ages)


def test_no_column_that_is_left_is_an_error(tmp_path: Path) -> None:
    with refused("no-input-columns"):
        fit(tmp_path, a=[1] * N)
