"""csad audit as a user types it: the verdict first, a file in the run's folder, exit codes that a script can use."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import typed
from tests.support.messages import Refusal, says

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
    for title in (
        "AUC of fresh probes among rows with the same target",
        "Metrics, compared with vanilla seed 1",
        "Metrics by group",
    ):
        assert title in compared.stdout
    assert lines[-1] == f"Written: {runs / 'one' / 'audit.json'}"
    assert "Predicting" in compared.stderr


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
    "words, expected",
    [
        (["--split", "tset"], Refusal("misspelled-name", kind="split", name="tset", nearest="test")),
        (["--fail-on", "leak"], Refusal("misspelled-name", name="leak", nearest="leaks")),
        (["--margin", "0.4"], Refusal("audit-settings-out-of-range", margin=0.4)),
        (["--among", "tagret"], Refusal("misspelled-name", nearest="target")),
        (["--rows", "0"], Refusal("audit-settings-out-of-range", most_rows=0)),
        (["--against", "nowhere"], Refusal("run-config-missing", folder="nowhere")),
        (["--against", "OTHER"], Refusal("runs-trained-on-different-data", difference=re.compile("agreement"))),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_written(
    words: list[str], expected: Refusal, runs: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(runs / "two", tmp_path / "run")
    (run / "audit.json").unlink(missing_ok=True)
    result = typed("audit", str(run), *[str(runs / "other") if word == "OTHER" else word for word in words], "--json")
    assert result.exit_code == 2
    assert expected.is_in(result.stderr), result.stderr
    assert json.loads(result.stdout)["exit"] == 2
    assert not (run / "audit.json").exists()


def test_a_folder_in_the_place_of_the_file_is_told_before_the_work(runs: Path, tmp_path: Path) -> None:
    run = shutil.copytree(runs / "two", tmp_path / "run")
    (run / "audit.json").unlink(missing_ok=True)
    (run / "audit.json").mkdir()
    result = typed("audit", str(run))
    assert (result.exit_code, result.stdout) == (2, "")
    assert says(result.stderr, "audit-file-not-writable", file=re.compile(r"audit\.json"))
    assert "Reading" not in result.stderr
