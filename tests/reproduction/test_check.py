"""A committed table held against fresh runs: new seeds, two sides, and what cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import csad
from csad.messages import message
from csad.reproduction.check import Checked
from csad.reproduction.reproduce import reproduce
from tests.support.messages import Refusal, refused
from tests.support.own_data import toy_table

ROWS = """
[rows.plain]
method = "vanilla"

[rows.wild]
method = "vanilla"
set = { "train.pretrain_rate" = [0.001, 1e30] }
"""
QUICK = {"train.target_epochs": 1, "train.epochs": 1, "train.batch_size": 32, "data.rows": 64}


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declare: Callable[[str], None]) -> Path:
    """Where the user stands: a table called toys can be made, and is committed with three seeds."""
    declare(toy_table(ROWS, metrics=["accuracy", "balanced_accuracy"]))
    monkeypatch.chdir(tmp_path)
    made = reproduce("toys", rows=["plain"], seeds=3, settings=QUICK, out="runs/toys", device="cpu")
    target = tmp_path / "docs" / "results" / "toys.json"
    target.parent.mkdir(parents=True)
    target.write_text(made.path.with_suffix(".json").read_text())
    return target


def check(**options: Any) -> Checked:
    return csad.check("toys", **{"rows": ["plain"], "settings": QUICK, "device": "cpu", **options})


def edited(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def shifted(by: float) -> Callable[[dict[str, Any]], None]:
    """Every run of the first cell came to so much more."""

    def change(value: dict[str, Any]) -> None:
        value["rows"][0]["mean"] += by

    return change


def test_fresh_runs_have_the_seeds_that_follow_all_committed_ones(toys: Path, heard: Any) -> None:
    before = toys.read_bytes()
    made = check(listener=heard)
    assert made.check.seeds == [6, 7, 8], "3 and 4 are the table's own, 5 was committed too"
    assert heard.said[0] == message("runs-planned", name="toys", runs=6)
    place = Path("runs") / "toys-check"
    runs = sorted(str(path.parent.relative_to(place)) for path in place.rglob("result.json"))
    assert runs == [f"plain/{column}/{seed}" for column in ("0.7", "0.9") for seed in (6, 7, 8)]
    assert made.path == place / "toys-check"
    assert {path.name for path in place.iterdir() if path.is_file()} == {
        f"toys-check.{end}" for end in ("json", "md", "tex")
    }
    assert toys.read_bytes() == before


def test_every_cell_of_every_metric_has_a_verdict_on_its_own_runs(toys: Path) -> None:
    made = check(columns=["0.9"])
    assert [(v.committed.column, v.committed.metric) for v in made.check.verdicts] == [
        ("0.9", "accuracy"),
        ("0.9", "balanced_accuracy"),
    ]
    for verdict in made.check.verdicts:
        assert verdict.fresh is not None
        assert verdict.fresh.values.keys() == {"6", "7", "8"}
        found = [
            json.loads(path.read_text()) for path in sorted(Path("runs/toys-check/plain/0.9").glob("*/result.json"))
        ]
        figures = [one["metrics"]["test"][verdict.committed.metric] for one in found]
        assert list(verdict.fresh.values.values()) == figures


def test_given_again_it_trains_nothing_and_says_the_same(toys: Path, heard: Any) -> None:
    first = check()
    again = check(listener=heard)
    assert again == first
    assert heard.steps == []
    assert heard.said == [message("runs-finished-before", name="toys", runs=6, finished=6)]


@pytest.mark.parametrize("by, side", [(0.5, "below"), (-0.5, "above")])
def test_a_figure_that_moved_either_way_fails(by: float, side: str, toys: Path) -> None:
    edited(toys, shifted(by))
    edited(toys, lambda value: value["rows"][0].update(std=0.01))
    made = check(columns=["0.7"])
    assert made.check.verdicts[0].side == side
    assert not made.check.passed


def test_a_figure_that_stayed_passes(toys: Path) -> None:
    edited(toys, lambda value: [row.update(std=0.5) for row in value["rows"]])
    assert check().check.passed


def test_fewer_seeds_and_another_file_and_place_can_be_asked_for(toys: Path) -> None:
    other = toys.rename("other.json")
    made = check(columns=["0.7"], seeds=1, against=other, out="here")
    assert made.check.seeds == [6]
    assert made.check.verdicts[0].fresh is not None
    assert made.check.verdicts[0].fresh.n == 1
    assert made.path == Path("here") / "toys-check"
    assert made.check.against == "other.json"


def test_runs_that_are_lost_fail_their_cell(toys: Path) -> None:
    def invent(value: dict[str, Any]) -> None:
        value["rows"] += [row | {"method": "wild"} for row in value["rows"]]

    edited(toys, invent)
    with pytest.warns(csad.TrainingWarning):
        made = check(rows=["plain", "wild"], columns=["0.9"], seeds=1)
    assert made.lost == ["wild 0.9 seed 6"]
    assert [verdict.side for verdict in made.check.verdicts][2:] == ["lost", "lost"]
    assert not made.check.passed


def test_a_table_without_seeds_by_run_is_taken_to_have_had_those_that_follow(toys: Path) -> None:
    edited(toys, lambda value: [row.pop("values") for row in value["rows"]])
    assert check(columns=["0.7"], seeds=1).check.seeds == [6]


INVALID = Refusal("reference-file-invalid", file="docs/results/toys.json")
REFUSED: dict[str, tuple[Callable[[Path], Any], dict[str, Any], Refusal]] = {
    "no file": (
        lambda path: path.unlink(),
        {},
        Refusal("reference-file-unreadable", file="docs/results/toys.json", reason="No such file or directory"),
    ),
    "a folder": (
        lambda path: None,
        {"against": "docs"},
        Refusal("reference-file-unreadable", file="docs", reason="Is a directory"),
    ),
    "no JSON": (
        lambda path: path.write_text("{"),
        {},
        INVALID,
    ),
    "a list": (
        lambda path: path.write_text("[]"),
        {},
        INVALID,
    ),
    "another JSON": (
        lambda path: path.write_text("{}"),
        {},
        INVALID,
    ),
    "a word for a mean": (
        lambda path: edited(path, lambda value: value["rows"][0].update(mean="many")),
        {},
        INVALID,
    ),
    "another table": (
        lambda path: edited(path, lambda value: value.update(table="dolls")),
        {},
        Refusal("wrong-reference-table", found="dolls", expected="toys"),
    ),
    "a row that was not committed": (
        lambda path: None,
        {"rows": ["wild"]},
        Refusal("reference-cell-missing", metric="accuracy", method="wild", column="0.7"),
    ),
    "a single run": (
        lambda path: edited(path, lambda value: value["rows"][0].update(std=None, n=1)),
        {},
        Refusal("reference-single-run", method="plain", column="0.7"),
    ),
    "no seeds": (lambda path: None, {"seeds": 0}, Refusal("seed-count-below-one", count=0)),
}


@pytest.mark.parametrize("spoil, options, says", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_compared_is_told_before_anything_is_trained(
    spoil: Callable[[Path], Any], options: dict[str, Any], says: Refusal, toys: Path
) -> None:
    spoil(toys)
    with refused(says):
        check(**options)
    assert not Path("runs/toys-check").exists()
