"""The choice of debias_weight at the command line, and the guide to tables of one's own, followed from A to Z."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from commands import typed

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "own-table.md"
ROLES = ["people.csv", "--target", "income", "--bias", "gender", "--drop", "person"]
COMMON = {"target_epochs": 4, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1, "pretrain_rate": 0.01}
BRIEF = [word for name, value in COMMON.items() for word in ("--set", f"train.{name}={value}")] + ["--device", "cpu"]
CSAD = [*BRIEF, "--set", "inner_steps=1"]


def blocks(language: str) -> list[str]:
    return [text for kind, text in re.findall(r"```(\w*)\n(.*?)```", GUIDE.read_text(), flags=re.S) if kind == language]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user stands, with the guide's tables, but smaller ones."""
    monkeypatch.chdir(tmp_path)
    (made,) = blocks("python")
    assert "rows, rng = 3000," in made
    exec(compile(made.replace("rows, rng = 3000,", "rows, rng = 600,"), "guide", "exec"), {"__name__": "guide"})
    return tmp_path


def test_the_guide_can_be_followed(here: Path) -> None:
    done = []
    for line in "".join(blocks("")).splitlines():
        name, *words = shlex.split(line, comments=True)
        assert name == "csad"
        brief = (BRIEF if "vanilla" in words else CSAD) if words[0] == "train" else []
        result = typed(*words, *brief, "--quiet")
        assert result.exit_code == 0, result.output
        done.append(words[0])
    assert done == ["train", "train", "audit", "predict", "export"]
    assert (here / "runs" / "people-csad-0" / "choice.json").exists()
    assert not (here / "runs" / "people-vanilla-0" / "choice.json").exists()
    assert len((here / "predictions.csv").read_text().splitlines()) == 21
    assert (here / "people.safetensors").exists()


def test_the_rule_of_the_guide_is_the_rule() -> None:
    text = " ".join(GUIDE.read_text().replace("\n>", "").split())
    assert "of the weights and epochs that cost at most .02 of balanced accuracy below vanilla's, the one with" in text
    assert "of those within .01 of it, the most accurate one. If all cost more, the one that costs least." in text


def test_that_nothing_is_chosen_for_several_runs_is_said(here: Path) -> None:
    several = [*ROLES, *CSAD, "--seed", "0,1"]
    assert "is 3, the default, and not chosen: there are several runs" in typed("train", *several, "--out", "a").stderr
    none = typed("train", *several, "--split", "0.8,0,0.2", "--out", "e").stderr
    assert "is 3, the default, and not chosen: the validation split has 0 rows, and 50 are needed." in none
    given = typed("train", *several, "--set", "debias_weight=3", "--out", "b")
    plain = typed("train", *[*ROLES, *BRIEF, "--seed", "0,1"], "--method", "vanilla", "--out", "c")
    named = typed("train", "toy-table", *CSAD, "--seed", "0,1", "--out", "d")
    for result in (given, plain, named):
        assert result.exit_code == 0, result.stderr
        assert "the default" not in result.stderr


def test_what_was_chosen_and_why_is_said(here: Path) -> None:
    result = typed("train", *ROLES, *CSAD, "--out", "run")
    assert result.exit_code == 0, result.output
    found = json.loads((here / "run" / "choice.json").read_text())
    assert "Choice of debias_weight on 60 validation rows" in result.stdout
    assert f"debias_weight: {found['why']}" in " ".join(result.stdout.split())
    assert "debias_weight is chosen on the validation split: 0.3, 0.9, 3, 9, 30 are tried" in result.stderr
    for one in (found["vanilla"], *found["tried"]):
        assert f"{one['score']:.3f}" in result.stdout


def test_for_programs_it_stands_in_the_answer(here: Path) -> None:
    result = typed("train", *ROLES, *CSAD, "--out", "run", "--json", "--quiet", "--cost", "0.1")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)["choice"]
    assert found == json.loads((here / "run" / "choice.json").read_text())
    assert found["cost"] == 0.1
    assert found.keys() >= {"rule", "why", "debias_weight", "within", "vanilla", "tried", "lost", "rows", "score"}


def test_a_weight_that_is_given_is_the_weight(here: Path) -> None:
    result = typed("train", *ROLES, *CSAD, "--set", "debias_weight=7", "--out", "run", "--json")
    assert result.exit_code == 0, result.output
    assert "choice" not in json.loads(result.stdout)
    assert "chosen" not in result.stderr
    assert not (here / "run" / "choice.json").exists()


def test_with_few_validation_rows_it_is_said_that_nothing_is_chosen(here: Path) -> None:
    result = typed("train", *ROLES, *CSAD, "--split", "0.9,0.05,0.05", "--out", "run", "--json")
    assert result.exit_code == 0, result.output
    assert "debias_weight is 3, the default, and not chosen: the validation split has 30 rows" in result.stderr
    assert json.loads(result.stdout)["settings"]["settings"]["debias_weight"] == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*ROLES, "--cost", "2"], "The cost must be a share of the score, from 0 and below 1, not 2.0."),
        (
            [*ROLES, "--cost", "0.1", "--set", "debias_weight=1"],
            "but it is not: debias_weight is given. Leave the cost",
        ),
        ([*ROLES, "--cost", "0.1", "--method", "vanilla"], "this method has no debias_weight"),
        ([*ROLES, "--cost", "0.1", "--seed", "0,1"], "--cost says how debias_weight is chosen for one run"),
        (["toy-table", "--cost", "0.1"], "a named data set has settings of its own"),
        ([*ROLES, "--cost", "0.1", "--split", "0.8,0.2"], "the validation split has 0 rows, and 50 are needed"),
        ([*ROLES, "--resume"], "run holds no run to go on with"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(here: Path, words: list[str], says: str) -> None:
    before = sorted(here.rglob("*"))
    result = typed("train", *words, "--out", "run", "--quiet")
    assert result.exit_code == 2, result.output
    assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)
    assert says in result.stderr, result.stderr
    assert sorted(here.rglob("*")) == before
