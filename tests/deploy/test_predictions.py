"""Predictions in a spreadsheet: names and ids that it would run as formulas are told, and made safe if asked for."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.deploy.predictions import Predictions, excel_safe, formula_notice, write_predictions
from csad.messages import message
from tests.support.messages import noticed

LINK = '=HYPERLINK("http://localhost:9/?"&A1,"see")'


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (LINK, "'" + LINK),
        (" =1+1", "' =1+1"),
        ('"=1+1', "'\"=1+1"),
        ("＝1+1", "'＝1+1"),
        ("a;=1+1", "a;'=1+1"),  # where a semicolon ends a cell
        ("a\n=1+1", "a\n'=1+1"),
        ("+49 30 123", "'+49 30 123"),
        ("-inf", "'-inf"),
        ("-1+cmd", "'-1+cmd"),
        ("-1,=cmd", "-1,'=cmd"),
        # what spreadsheets pass over: a NUL, the mark at the beginning of a file, spaces that nobody sees
        ("\x00=1+1", "'\x00=1+1"),
        ("\ufeff=1+1", "'\ufeff=1+1"),
        ("\u200b\xa0=1+1", "'\u200b\xa0=1+1"),
        # what no spreadsheet runs
        ("-2", "-2"),
        ("+2.5e-3", "+2.5e-3"),
        ("-.5", "-.5"),
        (" -5 ", " -5 "),
        ("-", "-"),
        ("--", "--"),
        ("-1,234.5", "-1,234.5"),
        ("-5%", "-5%"),
        ("48.137,-11.575", "48.137,-11.575"),
        ("12;-3", "12;-3"),
        ("1=1", "1=1"),
        ("a-b", "a-b"),
        ("mail@localhost", "mail@localhost"),
        ("2026-01-31", "2026-01-31"),
        ("a; b", "a; b"),
        ("'=1", "'=1"),
        ("", ""),
    ],
)
def test_a_cell_is_made_safe_and_stays_so(cell: str, safe: str) -> None:
    assert excel_safe(cell) == safe
    assert excel_safe(safe) == safe


def predictions(**changes: Any) -> Predictions:
    given: dict[str, Any] = {
        "id_name": "@who",
        "ids": ["=1+1", "-7", "plain"],
        "classes": ("+high", "low"),
        "scores": np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]),
        "notices": (),
    }
    return Predictions(**(given | changes))


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_headings_ids_and_classes_are_made_safe_only_if_that_is_asked_for(tmp_path: Path) -> None:
    write_predictions(tmp_path / "plain.csv", predictions())
    write_predictions(tmp_path / "safe.csv", predictions(), safe=True)
    assert rows(tmp_path / "plain.csv") == [
        ["@who", "prediction", "probability +high", "probability low"],
        ["=1+1", "+high", "0.75", "0.25"],
        ["-7", "+high", "0.5", "0.5"],
        ["plain", "low", "0.25", "0.75"],
    ]
    assert rows(tmp_path / "safe.csv") == [
        ["'@who", "prediction", "probability +high", "probability low"],
        ["'=1+1", "'+high", "0.75", "0.25"],
        ["-7", "'+high", "0.5", "0.5"],
        ["plain", "low", "0.25", "0.75"],
    ]


def test_a_sentence_names_the_first_such_cell_and_counts_the_rest() -> None:
    told = formula_notice(predictions(), Path("p.csv"))
    assert told == message("csv-formula-cells", value="@who", more=" and 2 more", file="p.csv")
    one = formula_notice(predictions(id_name="who", classes=("high", "low"), ids=["=" + "1" * 99, "b", "c"]), Path("p"))
    assert noticed([one], "csv-formula-cells", value=f"={'1' * 39}…", more="", file="p")
    assert formula_notice(predictions(id_name="who", classes=("high", "low"), ids=["-1", "2", "3"]), Path("p")) == ""


def test_numbers_below_zero_are_numbers(tmp_path: Path) -> None:
    found = predictions(id_name="row", ids=["1", "2"], classes=(), scores=np.array([[-2.5], [1e-12]]))
    assert formula_notice(found, Path("p")) == ""
    write_predictions(tmp_path / "p.csv", found, safe=True)
    assert rows(tmp_path / "p.csv")[1:] == [["1", "-2.5"], ["2", "1e-12"]]
