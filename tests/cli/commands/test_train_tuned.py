"""The choice of debias_weight at the command line, and the guide to tables of one's own, followed from A to Z."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.support.commands import typed
from tests.support.messages import Refusal, says
from tests.support.paths import GUIDES

GUIDE = GUIDES / "own-table.md"
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
    default = {"setting": "debias_weight", "value": 3}
    swept = typed("train", *several, "--out", "a").stderr
    assert says(swept, "weight-not-tuned", **default, reason=re.compile("several runs"))
    none = typed("train", *several, "--split", "0.8,0,0.2", "--out", "e").stderr
    assert says(none, "weight-not-tuned", **default, reason=re.compile("validation split has 0 rows, .*50"))
    given = typed("train", *several, "--set", "debias_weight=3", "--out", "b")
    plain = typed("train", *[*ROLES, *BRIEF, "--seed", "0,1"], "--method", "vanilla", "--out", "c")
    named = typed("train", "toy-table", *CSAD, "--seed", "0,1", "--out", "d")
    for result in (given, plain, named):
        assert result.exit_code == 0, result.stderr
        assert not says(result.stderr, "weight-not-tuned")


def test_what_was_chosen_and_why_is_said(here: Path) -> None:
    result = typed("train", *ROLES, *CSAD, "--out", "run")
    assert result.exit_code == 0, result.output
    found = json.loads((here / "run" / "choice.json").read_text())
    assert re.search(".* of debias_weight on 60 validation rows", result.stdout)
    assert f"debias_weight: {found['why']}" in " ".join(result.stdout.split())
    assert says(result.stderr, "tuning-started", setting="debias_weight", weights="0.3, 0.9, 3, 9, 30")
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
    assert not says(result.stderr, "tuning-started")
    assert not says(result.stderr, "weight-not-tuned")
    assert not (here / "run" / "choice.json").exists()


def test_with_few_validation_rows_it_is_said_that_nothing_is_chosen(here: Path) -> None:
    result = typed("train", *ROLES, *CSAD, "--split", "0.9,0.05,0.05", "--out", "run", "--json")
    assert result.exit_code == 0, result.output
    facts = {"setting": "debias_weight", "value": 3, "reason": re.compile("validation split has 30 rows")}
    assert says(result.stderr, "weight-not-tuned", **facts)
    assert json.loads(result.stdout)["settings"]["settings"]["debias_weight"] == 3


def untuned(reason: str) -> Refusal:
    return Refusal("cost-without-tuning", setting="debias_weight", reason=re.compile(reason))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([*ROLES, "--cost", "2"], Refusal("cost-out-of-range", cost=2.0)),
        (
            [*ROLES, "--cost", "0.1", "--set", "debias_weight=1"],
            untuned("debias_weight"),
        ),
        ([*ROLES, "--cost", "0.1", "--method", "vanilla"], untuned("this method")),
        ([*ROLES, "--cost", "0.1", "--seed", "0,1"], Refusal("cost-with-several-runs")),
        (["toy-table", "--cost", "0.1"], untuned("named data set")),
        ([*ROLES, "--cost", "0.1", "--split", "0.8,0.2"], untuned("validation split has 0 rows, .*50")),
        ([*ROLES, "--resume"], Refusal("no-run-to-resume", folder="run")),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(here: Path, words: list[str], expected: Refusal) -> None:
    before = sorted(here.rglob("*"))
    result = typed("train", *words, "--out", "run", "--quiet")
    assert result.exit_code == 2, result.output
    assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)
    assert expected.is_in(result.stderr), result.stderr
    assert sorted(here.rglob("*")) == before
