"""csad audit as a user types it: the verdict first, a file in the run's folder, exit codes that a script can use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import typed

SHORT = ["--set", "train.target_epochs=2", "--set", "train.pretrain_rate=0.01"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two vanilla runs, kept, and one on other data."""
    place = tmp_path_factory.mktemp("audited")
    for name, words in {
        "one": ["--seed", "0"],
        "two": ["--seed", "1"],
        "other": ["--set", "data.agreement=0.6"],
    }.items():
        made = typed("train", "toy-table", "--method", "vanilla", *SHORT, *words, "--quiet", "--out", str(place / name))
        assert made.exit_code == 0, made.stderr
    return place


@pytest.fixture(scope="module")
def compared(runs: Path) -> Any:
    return typed("audit", str(runs / "one"), "--against", str(runs / "two"))


def test_the_verdict_comes_first_in_plain_words_then_the_tables(compared: Any, runs: Path) -> None:
    assert compared.exit_code == 0, compared.stderr
    lines = compared.stdout.splitlines()
    assert lines[0].startswith("vanilla on toy-table, test, ")
    assert lines[1].split(".")[0] in ("LEAKS", "CANNOT TELL", "NO EVIDENCE OF LEAKAGE")
    assert "vanilla seed 1 has AUC" in lines[2]
    for title in ("AUC of fresh readers among rows of the same target", "Figures against vanilla seed 1", "Groups"):
        assert title in compared.stdout
    assert lines[-1] == f"Written: {runs / 'one' / 'audit.json'}"
    assert "Reading" in compared.stderr


def test_the_file_holds_all_that_was_found(compared: Any, runs: Path) -> None:
    found = json.loads((runs / "one" / "audit.json").read_text())
    assert (found["task"], found["method"], found["split"]) == ("toy-table", "vanilla", "test")
    assert found["against"] == str(runs / "two")
    layers = {verdict["layer"] for verdict in found["leakage"]["verdicts"]}
    assert layers == {"x", "h", "h_y", "prediction"}
    result = json.loads((runs / "one" / "result.json").read_text())["metrics"]["test"]
    assert found["figures"]["accuracy"]["value"] == pytest.approx(result["accuracy"])
    difference = found["comparison"]["figures"]["accuracy"]
    assert difference["low"] <= difference["difference"] <= difference["high"]
    assert found["state"] in compared.stdout.lower()


def test_json_is_one_object_and_an_earlier_audit_is_replaced(runs: Path, tmp_path: Path) -> None:
    run = shutil.copytree(runs / "two", tmp_path / "run")
    (run / "audit.json").write_text("old")
    result = typed(
        "audit", str(run), "--json", "--quiet", "--split", "train", "--rows", "60", "--fail-on", "cannot-tell"
    )
    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert (result.exit_code, found["failed"]) == ((0, False) if found["state"].startswith("no") else (3, True))
    assert found["probed"] == 60
    assert any("trained on" in note for note in found["notes"])
    kept = json.loads((run / "audit.json").read_text())
    assert kept == {name: value for name, value in found.items() if name != "failed"}
    assert not (run / "audit.json.new").exists()


def test_a_leak_fails_with_exit_code_3_where_that_was_asked_for(runs: Path) -> None:
    # All rows compared: a model that knows the target knows the bias, which goes with it.
    words = ["audit", str(runs / "one"), "--split", "train", "--among", "all", "--rows", "200", "--quiet"]
    assert typed(*words, "--fail-on", "leaks").exit_code == 3
    shown = typed(*words)
    assert (shown.exit_code, shown.stdout.splitlines()[1][:6]) == (0, "LEAKS.")


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--split", "tset"], "No split is called 'tset'. Nearest: test."),
        (["--fail-on", "leak"], "No verdict to fail on is called 'leak'. Nearest: leaks."),
        (["--margin", "0.4"], "a margin between 0 and .25"),
        (["--among", "tagret"], "Nearest: target."),
        (["--rows", "0"], "one row at least"),
        (["--against", "nowhere"], "nowhere is not a run folder"),
        (["--against", "OTHER"], "Runs are compared on the same data, but their settings of data differ: "),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_written(
    words: list[str], sentence: str, runs: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(runs / "two", tmp_path / "run")
    (run / "audit.json").unlink(missing_ok=True)
    result = typed("audit", str(run), *[str(runs / "other") if word == "OTHER" else word for word in words], "--json")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert json.loads(result.stdout)["exit"] == 2
    assert not (run / "audit.json").exists()


def test_a_folder_in_the_place_of_the_file_is_told_before_the_work(runs: Path, tmp_path: Path) -> None:
    run = shutil.copytree(runs / "two", tmp_path / "run")
    (run / "audit.json").unlink(missing_ok=True)
    (run / "audit.json").mkdir()
    result = typed("audit", str(run))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "audit.json cannot be written" in result.stderr
    assert "Reading" not in result.stderr
