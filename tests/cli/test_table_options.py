"""A table of one's own at the command line: options that stand for settings, and what is said before training."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from csad.cli import app
from csad.messages import message
from tests.support.messages import Refusal, says
from tests.support.people_tables import PEOPLE, ROLES, SHORT, write_people

READ_AS_MISSING = message("values-read-as-missing", column="city", values="'?'")
DRAWN = ["--target", "income", "--bias", "gender", "--drop", "who,family,fold"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user stands: people.csv is there."""
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    return tmp_path


def typed(*words: str) -> Any:
    return CliRunner().invoke(app, ["train", *words])


def data_section(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((run / "config.toml").read_text())["data"]
    return found


def test_options_are_the_settings_they_stand_for(here: Path) -> None:
    words = [
        "--target", "income", "--bias", "gender", "--bias", "age", "--drop", "who,fold", "--group", "family",
        "--split", "0.6,0.4", "--bins", "age=30,50", "--target-kind", "class", "--keep-bias",
    ]  # fmt: skip
    result = typed("people.csv", *words, *SHORT, "--out", "run", "--json", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert data_section(here / "run") == {
        "target": "income", "bias": ["gender", "age"], "drop": ["who", "fold"], "group": "family", "split": "",
        "fractions": [0.6, 0.0, 0.4], "seed": 0, "bins": ["age=30,50"], "widths": [], "target_kind": "class",
        "keep_bias_in_x": True,
    }  # fmt: skip
    assert json.loads(result.stdout)["data"]["rows"] == {"train": 48, "test": 32}


def test_a_name_that_has_a_comma_stands_in_quotes(here: Path) -> None:
    gender, who = PEOPLE["gender"], PEOPLE["who"]
    write_people(here / "people.csv", {"sex, as told": gender, "who, by number": who}, without=("gender", "who"))
    words = ["--target", "income", "--split", "fold", *SHORT, "--out", "run"]
    told = typed("people.csv", *words, "--bias", "sex, as told")
    assert told.exit_code == 2
    assert says(told.stderr, "column-name-with-comma", column="sex", file="people.csv", nearest="sex, as told")
    quoted = ["--bias", '"sex, as told"', "--drop", 'family,"who, by number"']
    assert typed("people.csv", *words, *quoted).exit_code == 0
    assert data_section(here / "run")["bias"] == ["sex, as told"]
    assert data_section(here / "run")["drop"] == ["family", "who, by number"]


def test_the_same_run_comes_of_options_and_of_settings(here: Path) -> None:
    settings = ["data.target=income", "data.bias=gender", "data.drop=who,family", "data.split=fold"]
    words = [word for setting in settings for word in ("--set", setting)]
    for out, own in (("a", ROLES), ("b", words)):
        assert typed("people.csv", *own, *SHORT, "--out", out, "--quiet").exit_code == 0
    assert (here / "a" / "config.toml").read_text() == (here / "b" / "config.toml").read_text()
    assert (here / "a" / "preparation.json").read_bytes() == (here / "b" / "preparation.json").read_bytes()


def test_the_unit_of_an_error_is_told(here: Path) -> None:
    words = ["people.csv", "--target", "age", "--bias", "gender", "--split", "fold", "--drop", "who,family", *SHORT]
    shown = typed(*words, "--out", "run", "--quiet")
    trained = [age for age, fold in zip(PEOPLE["age"], PEOPLE["fold"], strict=True) if fold == "train"]
    spread = float(np.std(trained))
    assert f"times {spread:,.6g}, is in the unit of the target." in shown.stdout
    told = json.loads(typed(*words, "--out", "again", "--quiet", "--json").stdout)
    assert told["data"]["target_spread"] == pytest.approx(spread)
    plain = typed("people.csv", *ROLES, *SHORT, "--out", "classes", "--quiet")
    assert "Errors:" not in plain.stdout


def test_what_was_found_is_said_before_training_begins(here: Path) -> None:
    result = typed("people.csv", *ROLES, *SHORT, "--out", "run")
    assert result.exit_code == 0, result.stderr
    lines = result.stderr.splitlines()
    assert lines[:9] == [
        "who     numbers                       dropped as requested",
        "income  2 different words             target: 2 classes (high, low)",
        "gender  2 different words             bias: 2 classes (f, m)",
        "age     numbers                       input: standardised, 1 column",
        "city    3 different words, 1 missing  input: one-hot, 3 columns",
        "hours   numbers, 1 missing            "
        "input: standardised, 2 columns, one of them for missing values; missing values become the median 40.5",
        "family  20 different words            dropped as requested",
        "fold    2 different words             names the split",
        "Rows: train 40, test 40. Inputs: 6 columns.",
    ]
    assert any("people vanilla seed 0" in line for line in lines[9:])
    assert "Run: run" in result.stdout


def test_for_programs_it_stands_in_the_answer_and_nothing_is_said(here: Path) -> None:
    cities = ["?" if city is None else city for city in PEOPLE["city"]]
    write_people(here / "people.csv", {"city": cities})
    result = typed("people.csv", *ROLES, *SHORT, "--out", "run", "--json", "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert (found["task"], found["run"]) == ("people.csv", "run")
    data = found["data"]
    assert data["target"] == ["high", "low"]
    assert data["biases"] == {"gender": ["f", "m"]}
    trained = [k for k, fold in enumerate(PEOPLE["fold"]) if fold == "train"]
    known = {name: [PEOPLE[name][k] for k in trained if PEOPLE[name][k] is not None] for name in ("age", "hours")}
    medians = {name: np.median(values) for name, values in known.items()}
    assert data["fills"] == medians
    assert data["notices"] == [READ_AS_MISSING]
    assert data["columns"][0] == {"column": "who", "kind": "numbers", "becomes": "dropped as requested"}


def test_a_quiet_training_says_what_its_user_may_not_expect(here: Path) -> None:
    write_people(here / "people.csv", {"city": ["?" if city is None else city for city in PEOPLE["city"]]})
    result = typed("people.csv", *ROLES, *SHORT, "--out", "run", "--quiet")
    assert (result.exit_code, result.stderr) == (0, f"{READ_AS_MISSING}\n")


def test_a_bias_that_is_a_number_takes_a_width(here: Path) -> None:
    words = ["--target", "income", "--bias", "age", "--width", "age=5", "--drop", "who"]
    assert typed("people.csv", *words, *SHORT, "--out", "run", "--quiet").exit_code == 0
    about = tomllib.loads((here / "run" / "config.toml").read_text())["about"]
    assert (about["related"], about["biases"]) == ("near_bias", [0])


def test_several_seeds_are_a_sweep_whose_runs_each_keep_the_preparation(here: Path) -> None:
    result = typed("people.csv", *ROLES, *SHORT, "--seed", "0,1", "--out", "many", "--json", "--quiet")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["data"]["rows"] == {"train": 40, "test": 40}
    kept = [(here / "many" / run["name"] / "preparation.json").read_text() for run in found["runs"]]
    assert len(kept) == 2
    assert kept[0] == kept[1]
    assert [column["column"] for column in json.loads(kept[0])["columns"]] == ["age", "city", "hours"]


def test_a_comma_in_the_name_of_a_column_makes_no_sweep(here: Path) -> None:
    write_people(here / "people.csv", {"pay, yearly": PEOPLE["income"]}, without=["income"])
    words = ["--target", "pay, yearly", "--bias", "gender", "--drop", "who,family,fold"]
    result = typed("people.csv", *words, *SHORT, "--out", "run", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert data_section(here / "run")["target"] == "pay, yearly"


def test_a_folder_of_several_runs_is_told_from_none(here: Path) -> None:
    assert typed("people.csv", *ROLES, *SHORT, "--seed", "0,1", "--out", "runs", "--quiet").exit_code == 0
    result = CliRunner().invoke(app, ["evaluate", "runs"])
    assert result.exit_code == 2
    assert says(result.stderr, "folder-holds-several-runs", folder="runs", example="runs/seed=0")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["toy-table", "--target", "y", "--keep-bias"],
            Refusal("table-options-without-table", options="--target, --keep-bias"),
        ),
        (["own.npz", "--bias", "b"], Refusal("table-options-without-table", task="own.npz")),
        (["people.csv", "--target", "income"], Refusal("bias-column-missing")),
        (["people.csv", "--bias", "gender"], Refusal("target-column-missing")),
        (
            ["people.csv", *ROLES, "--set", "data.target=x"],
            Refusal("option-and-set-conflict", option="--target", setting="data.target"),
        ),
        (
            ["people.csv", *ROLES, "--set", "drop=x"],
            Refusal("option-and-set-conflict", option="--drop", setting="drop"),
        ),
        (
            ["people.csv", "--split", ".7,.3", "--set", "data.fractions=1,0,0"],
            Refusal("option-and-set-conflict", option="--split", setting="data.fractions"),
        ),
        (
            ["people.csv", *ROLES[:-1], "whom"],
            Refusal("unknown-column", column="whom", file="people.csv", advice="Nearest: who."),
        ),
        (["people.csv", *DRAWN, "--split", "1,2,3,4"], Refusal("split-option-invalid", value="1,2,3,4")),
        (["people.csv", *DRAWN, "--split", "0.8,-0.2"], Refusal("fractions-invalid", fractions="(0.8, 0.0, -0.2)")),
        (
            ["people.csv", *ROLES, "--width", "gender"],
            Refusal("column-number-option-invalid", option="width", value="gender"),
        ),
        (
            ["people.csv", *ROLES, "--width", "age=5,hours=2"],
            Refusal("option-with-several-columns", option="width", example="age=5"),
        ),
        (
            ["people.csv", *DRAWN, "--split", "0.7"],
            Refusal("split-not-column-or-shares", split="0.7", file="people.csv"),
        ),
        (["people.csv", *DRAWN, "--split", "70%,10%,20%"], Refusal("split-not-column-or-shares", split="70%,10%,20%")),
        (["people.csv", *ROLES, "--bins", "age=30"], Refusal("unknown-name", kind="bias", name="age")),
        (
            ["people.csv", *ROLES, "--target-kind", "klass"],
            Refusal("misspelled-name", kind="kind of target", name="klass", nearest="class"),
        ),
        (
            ["people.csv", *ROLES, "--images", "faces"],
            Refusal("file-column-option-missing", option="--images", files="pictures"),
        ),
        (
            ["people.csv", *ROLES, "--image", "city"],
            Refusal("option-conflicts-with-source", option="--drop", source="--image", content="pictures"),
        ),
        (
            ["people.csv", *ROLES, "--set", "data.size=32"],
            Refusal("misspelled-name", kind="setting of data", name="size"),
        ),
        (["nobody.csv", *ROLES], Refusal("file-unreadable", file="nobody.csv", reason="No such file or directory")),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(here: Path, words: list[str], expected: Refusal) -> None:
    before = sorted(here.rglob("*"))
    result = typed(*words, "--out", "run")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert expected.is_in(result.stderr), result.stderr
    assert sorted(here.rglob("*")) == before
