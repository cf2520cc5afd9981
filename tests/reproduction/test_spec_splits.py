"""Columns that look at several splits of the same runs: trained once, and each cell has the figures of its split."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from csad.messages import message
from csad.reproduction.check import check
from csad.reproduction.reproduce import reproduce
from csad.reproduction.spec import read_spec
from tests.support.messages import refused
from tests.support.own_data import toy_table

QUICK = {"train.target_epochs": 1, "train.epochs": 1, "train.batch_size": 32, "data.rows": 64}
COLUMNS = ["weak→validation", "weak→test", "strong→test"]
ROWS = '[rows.vanilla]\n[rows.fast]\nmethod = "vanilla"\nset = { "train.rate" = 0.01 }\n'
SET = 'set = { "data.agreement" = [0.6, 0.6, 0.9] }\n'


@pytest.fixture
def table(declare: Callable[[str], None]) -> None:
    facts = {"column": "", "columns": COLUMNS, "split": ["validation", "test", "test"], "metrics": ["accuracy", "auc"]}
    declare(SET + toy_table(ROWS, **facts))


def results(place: Path) -> dict[str, dict[str, Any]]:
    return {str(path.parent.relative_to(place)): json.loads(path.read_text()) for path in place.rglob("result.json")}


def test_a_column_is_kept_under_the_first_that_has_its_settings(table: None) -> None:
    found = read_spec("toys")
    row = found.rows[0]
    assert [row.trained_in(found, column) for column in COLUMNS] == [COLUMNS[0], COLUMNS[0], COLUMNS[2]]
    assert [found.split_in(column) for column in COLUMNS] == ["validation", "test", "test"]
    assert [row.settings_for(found, column, 3) for column in COLUMNS] == [
        {"data.agreement": a} for a in (0.6, 0.6, 0.9)
    ]


def test_columns_that_choose_the_split_do_not_train_twice(table: None, tmp_path: Path, heard: Any) -> None:
    place = tmp_path / "out"
    made = reproduce("toys", settings=QUICK, out=place, device="cpu", listener=heard).table
    assert heard.said[0] == message("runs-planned", name="toys", runs=8)  # two rows, two training sets, two seeds
    runs = results(place)
    assert sorted(runs) == sorted(
        f"{row}/{column}/{seed}"
        for row in ("vanilla", "fast")
        for column in (COLUMNS[0], COLUMNS[2])
        for seed in (3, 4)
    )
    cells = {(cell.method, cell.column, cell.metric): cell.values for cell in made.cells}
    assert len(cells) == 2 * 3 * 2
    for (row, column, metric), values in cells.items():
        kept, split = (COLUMNS[0], column.partition("→")[2]) if column.startswith("weak") else (column, "test")
        expected = {str(seed): runs[f"{row}/{kept}/{seed}"]["metrics"][split][metric] for seed in (3, 4)}
        assert values == expected
    assert cells["vanilla", COLUMNS[0], "accuracy"] != cells["vanilla", COLUMNS[1], "accuracy"]

    again = reproduce("toys", settings=QUICK, columns=[COLUMNS[1]], out=place, device="cpu", listener=heard)
    assert heard.said[-1] == message("runs-finished-before", name="toys", runs=4, finished=4)
    assert [cell.values for cell in again.table.cells] == [
        cells[row, COLUMNS[1], metric] for row in ("vanilla", "fast") for metric in ("accuracy", "auc")
    ]


def test_a_column_may_come_first_that_shares_its_runs_with_another(table: None, tmp_path: Path, heard: Any) -> None:
    options: dict[str, Any] = {"settings": QUICK, "rows": ["vanilla"], "out": tmp_path / "out", "device": "cpu"}
    reproduce("toys", columns=[COLUMNS[1]], seeds=1, listener=heard, **options)
    assert list(results(tmp_path / "out")) == [f"vanilla/{COLUMNS[0]}/3"]
    reproduce("toys", columns=COLUMNS[:2], seeds=1, listener=heard, **options)
    assert heard.said[-1] == message("runs-finished-before", name="toys", runs=1, finished=1)


def test_fresh_runs_are_held_against_every_column(table: None, tmp_path: Path, heard: Any) -> None:
    options: dict[str, Any] = {"settings": QUICK, "rows": ["vanilla"], "columns": COLUMNS[:2], "device": "cpu"}
    made = reproduce("toys", out=tmp_path / "made", **options)
    found = check(
        "toys", against=tmp_path / "made" / "toys-part.json", out=tmp_path / "fresh", listener=heard, **options
    )
    assert made.table.table == "toys"
    assert len(found.check.verdicts) == 4
    assert sorted(results(tmp_path / "fresh")) == [f"vanilla/{COLUMNS[0]}/{seed}" for seed in (5, 6)]


def test_what_makes_the_columns_cannot_be_set_for_all(table: None) -> None:
    for name in ("data.agreement", "agreement"):
        with refused("setting-fixed-by-table", setting=name, parts="columns", table="toys"):
            read_spec("toys").with_settings({name: "0.7"})
