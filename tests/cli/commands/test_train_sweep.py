"""Sweeps as a user types them: which folders, which answer, which sentence, which exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest

from tests.support.commands import contents, typed
from tests.support.csv_tables import write_columns
from tests.support.messages import says

LENGTHS = {"target_epochs": 1, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1, "batch_size": 32}
SHORT = [word for name, value in LENGTHS.items() for word in ("--set", f"train.{name}={value}")]
TRAIN = ["train", "toy-table", *SHORT, "--set", "data.rows=64", "--device", "cpu"]
FOUR = ["--set", "debias_weight=0.5,4", "--seed", "0,1"]
NAMES = [f"debias_weight={weight},seed={seed}" for weight in ("0.5", "4") for seed in (0, 1)]


def answer(*words: str) -> dict[str, Any]:
    result = typed(*words, "--json")
    assert result.exit_code == 0, result.stderr + repr(result.exception)
    assert result.stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """A sweep of four runs whose weights are kept: its folder, its answer and what it said."""
    place = tmp_path_factory.mktemp("sweep") / "runs"
    result = typed(*TRAIN, *FOUR, "--keep-weights", "--out", str(place), "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1
    return place, json.loads(result.stdout), result.stderr


def test_one_value_and_one_seed_are_an_ordinary_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--set", "debias_weight=2", "--seed", "3", "--set", "net.head=8,4", "--set", "hidden=6,5"]
    found = answer(*TRAIN, *words, "--quiet")
    assert found["run"] == "runs/toy-table-csad-3"
    assert "stacked" not in found
    assert (found["settings"]["net"]["head"], found["settings"]["net"]["hidden"]) == ([8, 4], [6, 5])
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["toy-table-csad-3"]
    assert (tmp_path / "runs" / "toy-table-csad-3" / "checkpoint" / "state.safetensors").exists()


def test_a_sweep_has_a_place_of_its_own_if_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = answer(*TRAIN, "--method", "vanilla", "--seed", "0,1", "--quiet")
    assert found["out"] == "runs/toy-table-vanilla-sweep"
    kept = sorted(path.name for path in (tmp_path / "runs" / "toy-table-vanilla-sweep").iterdir())
    assert kept == ["seed=0", "seed=1", "shared"]


def test_finished_runs_without_weights_are_named_and_stay_as_they_are(tmp_path: Path) -> None:
    words = [*TRAIN, "--method", "vanilla", "--seed", "0,1", "--out", str(tmp_path / "runs"), "--json", "--quiet"]
    first = answer(*words)
    before = contents(tmp_path / "runs")
    again = typed(*words, "--resume", "--keep-weights")
    assert again.exit_code == 0
    assert says(again.stderr, "weights-of-runs-missing", problem="2 finished runs have no weights", run="seed=0")
    assert json.loads(again.stdout)["summary"] == first["summary"]
    assert contents(tmp_path / "runs") == before
    more = typed(*[word.replace("0,1", "0,1,2") for word in words], "--resume", "--keep-weights")
    assert says(more.stderr, "weights-of-runs-missing", problem="2 finished runs have no weights")
    assert (tmp_path / "runs" / "seed=2" / "checkpoint" / "state.safetensors").exists()
    whole = typed(*[word.replace("0,1", "2,3") for word in words], "--resume", "--keep-weights")
    assert not says(whole.stderr, "weights-of-runs-missing")


def test_lines_of_a_sweep_that_lack_a_figure_show_a_dash(tmp_path: Path) -> None:
    """Where only one bias is tested, there is no figure of how the other one fares."""
    rows = np.arange(60)
    tested = rows % 3 == 0
    folds = [np.where(tested, "test", "train"), np.where(tested & (rows < 50), "test", "train")]
    columns = {"x": rows * 7 % 11, "y": rows % 2, "b": rows < 50, "one": folds[0], "other": folds[1]}
    write_columns(tmp_path / "own.csv", {name: list(values) for name, values in columns.items()})
    words = ["train", str(tmp_path / "own.csv"), "--target", "y", "--bias", "b", "--method", "vanilla", *SHORT[:-2]]
    words += ["--set", "train.batch_size=8", "--device", "cpu", "--quiet"]
    for order in ("one,other", "other,one"):
        shown = typed(*words, "--set", f"data.split={order}", "--out", str(tmp_path / order))
        assert shown.exit_code == 0, shown.stderr + repr(shown.exception)
        lines = [line for line in shown.stdout.splitlines() if line.startswith(("│ one", "│ other"))]
        assert len(lines) == 2
        assert sum("–" in line for line in lines) == 1, shown.stdout


def test_the_answer_is_one_object_that_names_every_run(swept: tuple[Path, dict[str, Any], str]) -> None:
    place, found, _ = swept
    assert (found["task"], found["method"], found["seeds"]) == ("toy-table", "csad", [0, 1])
    assert (found["varied"], found["lost"], found["out"]) == (["debias_weight"], [], str(place))
    assert [run["name"] for run in found["runs"]] == NAMES
    for run in found["runs"]:
        assert run["result"] == json.loads((place / run["name"] / "result.json").read_text())
    assert [line["values"] for line in found["summary"]] == [{"debias_weight": "0.5"}, {"debias_weight": "4"}]
    for line, runs in zip(found["summary"], (found["runs"][:2], found["runs"][2:]), strict=True):
        values = [run["result"]["metrics"]["test"]["accuracy"] for run in runs]
        assert line["mean"]["test"]["accuracy"] == pytest.approx(mean(values))
        assert line["std"]["test"]["accuracy"] == pytest.approx(stdev(values))


def test_progress_and_forecast_go_to_stderr(swept: tuple[Path, dict[str, Any], str]) -> None:
    lines = swept[2].splitlines()
    assert lines[0] == "toy-table csad: 4 runs."
    assert lines[1].startswith("4 runs in 1 program on the CPU ")
    assert lines[-1].startswith("debias_weight=0.5,seed=0 and 3 more debias 8/8")


def test_people_get_a_line_for_each_value(swept: tuple[Path, dict[str, Any], str]) -> None:
    place, found, _ = swept
    shown = typed(*TRAIN, *FOUR, "--out", str(place), "--resume", "--quiet")
    assert (shown.exit_code, shown.stderr) == (0, "")
    for line in found["summary"]:
        row = next(text for text in shown.stdout.splitlines() if f" {line['values']['debias_weight']} │" in text)
        for figure in ("accuracy", "bias_conflicting", "equalized_odds_group", "equalized_odds_region"):
            middle, spread = (line[part]["test"][figure] for part in ("mean", "std"))
            assert f"{middle:.4f} ± {spread:.4f}" in row
        assert " 2 " in row
    assert f"Runs: {place}" in shown.stdout


def test_targets_of_two_kinds_have_a_figure_each(tmp_path: Path) -> None:
    rows = np.arange(80)
    columns = {"x": rows * 7 % 11, "y": rows % 2, "pay": rows * 31 % 77, "b": rows // 2 % 2}
    write_columns(tmp_path / "own.csv", {name: list(values) for name, values in columns.items()})
    words = ["train", str(tmp_path / "own.csv"), "--bias", "b", "--method", "vanilla", *SHORT, "--device", "cpu"]
    shown = typed(*words, "--set", "data.target=y,pay", "--out", str(tmp_path / "runs"), "--quiet")
    assert shown.exit_code == 0, shown.stderr
    y, pay = (
        next(line for line in shown.stdout.splitlines() if line.startswith(f"│ {name} ")) for name in ("y", "pay")
    )
    for line in (y, pay):
        assert re.search(r"\d\.\d{4}", line)
        assert "–" in line


def test_a_sweep_on_training_rows_alone_shows_its_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "own.npz", x=rng.normal(size=(40, 3)), y=np.arange(40) % 2, b=np.arange(40) // 2 % 2)
    words = ["train", str(tmp_path / "own.npz"), "--set", "data.fractions=1,0,0", "--method", "vanilla", *SHORT]
    shown = typed(*words, "--seed", "0,1", "--device", "cpu", "--out", str(tmp_path / "runs"), "--quiet")
    assert shown.exit_code == 0, shown.stderr
    assert "runs" in shown.stdout
    assert "accuracy" not in shown.stdout


def test_a_run_of_a_sweep_is_trained_again_alone_by_the_same_words(
    swept: tuple[Path, dict[str, Any], str], tmp_path: Path
) -> None:
    words = ["--set", "debias_weight=4", "--seed", "1", "--out", str(tmp_path / "run"), "--quiet"]
    alone = answer(*TRAIN, *words)
    metrics = swept[1]["runs"][3]["result"]["metrics"]
    assert alone["metrics"].keys() == metrics.keys()
    for split, figures in metrics.items():
        assert figures == pytest.approx(alone["metrics"][split], abs=1e-6)


def test_a_run_whose_weights_were_kept_is_evaluated_to_its_figures(swept: tuple[Path, dict[str, Any], str]) -> None:
    place, found, _ = swept
    for run in found["runs"]:
        evaluated = answer("evaluate", str(place / run["name"]), "--device", "cpu")
        assert evaluated["metrics"] == run["result"]["metrics"]
        assert (evaluated["seed"], evaluated["method"]) == (run["seed"], "csad")


def test_a_run_without_weights_is_told_in_one_sentence_that_helps(tmp_path: Path) -> None:
    typed(*TRAIN, "--method", "vanilla", "--seed", "0,1", "--out", str(tmp_path), "--quiet")
    result = typed("evaluate", str(tmp_path / "seed=1"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("csad: ")
    assert str(tmp_path / "seed=1") in result.stderr
    assert "--keep-weights" in result.stderr
    assert "--resume" not in result.stderr


def test_an_existing_sweep_is_refused_and_goes_on_with_resume(swept: tuple[Path, dict[str, Any], str]) -> None:
    place, found, _ = swept
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    refused = typed(*TRAIN, *FOUR, "--out", str(place))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert len(refused.stderr.splitlines()) == 1
    assert says(refused.stderr, "run-exists-already", folder=place / "debias_weight=0.5,seed=0")
    again = typed(*TRAIN, *FOUR, "--out", str(place), "--resume", "--json")
    assert json.loads(again.stdout) == found
    assert again.stderr == "toy-table csad: 4 runs, 4 of them already finished.\n"
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()} == before


def test_a_lost_run_is_named_and_the_others_are_answered(tmp_path: Path) -> None:
    result = typed(*TRAIN, "--set", "train.rate=1e-3,1e30", "--out", str(tmp_path), "--json")
    found = json.loads(result.stdout)
    assert found["lost"] == ["train.rate=1e30,seed=0"]
    assert [run["result"] is None for run in found["runs"]] == [False, True]
    assert [line["values"] for line in found["summary"]] == [{"train.rate": "1e-3"}]
    assert "train.rate=1e30,seed=0: The loss of the update 'estimator' is not a number" in result.stderr
    assert not (tmp_path / "train.rate=1e30,seed=0" / "result.json").exists()


@pytest.mark.parametrize("rates", ["1e-3,1e30", "1e30,1e31"])
def test_a_sweep_that_lost_runs_ends_with_their_names_and_another_exit_code(rates: str, tmp_path: Path) -> None:
    result = typed(*TRAIN, "--set", f"train.rate={rates}", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "train.rate=1e30,seed=0" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        ["--seed", f"0,{10**30}"],
        ["--set", "debias_weight=1,-1"],
        ["--set", "debias_weight=1,1"],
        ["--set", "train.rate=1,0"],
        ["--set", "net.branch=8,-1"],
    ],
    ids=lambda words: words[1],
)
def test_one_bad_value_among_good_ones_is_one_sentence_and_leaves_nothing(words: list[str], tmp_path: Path) -> None:
    result = typed(*TRAIN, *words, "--out", str(tmp_path / "runs"))
    assert (result.exit_code, result.stdout) == (2, ""), repr(result.exception)
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "runs").exists()
