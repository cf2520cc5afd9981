"""csad simulate as a user types it: people who tap are made up, their files written, and trained on by csad train."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from csad.cli import completion
from csad.data.datasets.mpower_simulated import EFFECTS, ceiling, simulate
from csad.errors import unknown
from csad.messages import message
from tests.support.commands import SHORT, contents, typed
from tests.support.messages import Refusal

TINY = ["--set", "data.per_cell=1", "--set", "data.length=24", "--set", "net.filters=4", "--set", "net.layers=2"]


def made(*words: str) -> Any:
    result = typed("simulate", *words)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result


def test_csad_train_finds_the_people(tmp_path: Path) -> None:
    place = tmp_path / "mpower"
    shown = made(str(place), "--people", "150", "--effect", "large", "--age-bias", "-0.3").stdout
    assert shown.splitlines()[0].startswith(f"Written: {place} (150 people with a record each; ")
    assert "about 0.848" in shown
    command = shown.splitlines()[-1].split("csad ")[1].split()
    assert command == ["train", "mpower", "--data-root", str(tmp_path)]
    run = tmp_path / "run"
    quickly = ["--method", "vanilla", *SHORT, "--device", "cpu", "--json", "--quiet", "--out", str(run)]
    trained = typed(*command, *TINY, *quickly)
    assert trained.exit_code == 0, trained.output
    assert 0 <= json.loads(trained.stdout)["metrics"]["test"]["auc"] <= 1
    again = typed("evaluate", str(run), "--data-root", str(tmp_path), "--device", "cpu", "--json")
    assert json.loads(again.stdout)["metrics"] == json.loads(trained.stdout)["metrics"]


def test_a_folder_of_another_name_is_found_too(tmp_path: Path) -> None:
    shown = made(str(tmp_path / "my world"), "--people", "150", "--age-bias", "0").stdout
    assert shown.endswith(f"--data-root '{tmp_path / 'my world'}'\n")
    words = ["train", "mpower", "--data-root", str(tmp_path / "my world"), "--method", "vanilla", *TINY, *SHORT]
    trained = typed(*words, "--device", "cpu", "--quiet", "--out", str(tmp_path / "run"))
    assert trained.exit_code == 0, trained.output


def test_the_answer_as_json_is_the_truth_in_short_and_every_setting_counts(tmp_path: Path) -> None:
    words = ["--people", "30", "--effect", "small", "--age-effect", "0.5", "--age-bias", "0.3", "--seed", "4"]
    found = json.loads(made(str(tmp_path / "one"), *words, "--records", "2", "--json", "--quiet").stdout)
    world = {"people": 30, "effect": "small", "age_effect": 0.5, "age_bias": 0.3, "seed": 4}
    truth = simulate(tmp_path / "two", records=2, **world)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert found == {
        "folder": str(tmp_path / "one"),
        "data_root": str(tmp_path / "one"),
        "truth": str(tmp_path / "one" / "truth.json"),
        "records": 60,
        "parkinson": sum(person["parkinson"] for person in truth["people"].values()),
        "world": world,
        "disease_effect": 0.2,
        "ceiling_auc": ceiling("small"),
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--effect", "midium"], unknown("effect", "midium", EFFECTS).message),
        (["--people", "1"], message("people-below-two", people=1)),
        (["--records", "0"], message("records-below-one", records=0)),
        (["--age-effect", "11"], message("simulation-effect-out-of-range", setting="age_effect", value=11.0)),
        (["--age-bias", "nan"], message("simulation-effect-out-of-range", setting="age_bias", value=math.nan)),
        (["--seed", "-1"], message("negative-seed", seed=-1)),
    ],
)
def test_a_setting_out_of_range_is_told_and_nothing_is_made(tmp_path: Path, words: list[str], expected: str) -> None:
    result = typed("simulate", str(tmp_path / "new" / "mpower"), *words, "--json")
    assert (result.exit_code, result.stderr) == (2, f"csad: {expected}\n")
    assert json.loads(result.stdout) == {"error": expected, "exit": 2}
    assert contents(tmp_path) == {}


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mpower").mkdir()
    (tmp_path / "mpower" / "demographics.csv").write_text("mine")
    before = contents(tmp_path)
    file = tmp_path / "mpower" / "demographics.csv"
    for place, expected in (
        (tmp_path / "mpower", Refusal("simulation-folder-not-empty", folder=tmp_path / "mpower")),
        (file, Refusal("simulation-folder-not-empty", folder=file)),
        (file / "mpower", Refusal("simulation-folder-not-writable", folder=file / "mpower", reason="Not a directory")),
    ):
        result = typed("simulate", str(place), "--people", "5")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"csad: {place} ")
        assert expected.is_in(result.stderr), result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert contents(tmp_path) == before


def test_an_empty_folder_is_as_good_as_a_new_one(tmp_path: Path) -> None:
    made(str(tmp_path), "--people", "5")
    assert {"demographics.csv", "tapping.csv", "tapping", "truth.json"} <= contents(tmp_path).keys()


@pytest.mark.parametrize("words", [[], ["new", "--people", "many"], ["new", "--huge"]])
def test_a_slip_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "csad", "simulate", *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("csad: ")
    assert len(done.stderr.splitlines()) == 1
    assert contents(tmp_path) == {}


def test_effects_are_completed_and_the_command_is_told_of() -> None:
    assert set(completion.effects("")) == set(EFFECTS)
    assert completion.effects("m") == ["medium"]
    assert "simulate" in typed("--help").stdout
