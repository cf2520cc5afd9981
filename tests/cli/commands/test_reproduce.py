"""Tables as a user makes them: one command, stopped by whatever comes, given again until it is there."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from csad.messages import message
from tests.support.commands import typed

LENGTHS = {"target_epochs": 1, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1, "batch_size": 120}
NET = {"filters": 2, "branch": 8, "estimator": "8,8"}
SETTINGS = {f"train.{name}": value for name, value in LENGTHS.items()} | {f"net.{n}": v for n, v in NET.items()}
TABLE = [
    *("reproduce", "digits", "--methods", "vanilla,csad", "--columns", ".02", "--seeds", "2", "--device", "cpu"),
    *(word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")),
]
VANILLA = [word.replace("vanilla,csad", "vanilla") for word in TABLE]
RUNS = [f"{row}/0.020/{seed}" for row in ("csad", "vanilla") for seed in (10, 11)]


def answer(*words: str) -> tuple[dict[str, Any], list[str]]:
    """The one JSON object on stdout, and the lines on stderr."""
    result = typed(*words, "--json")
    assert result.exit_code == 0, result.stderr + repr(result.exception)
    assert result.stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found, result.stderr.splitlines()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], list[str]]:
    """The table that nobody stopped: its folder, its answer, what it said."""
    place = tmp_path_factory.mktemp("whole") / "out"
    return place, *answer(*TABLE, "--out", str(place))


def finished(place: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(place)) for path in place.rglob("result.json"))


def results(place: Path) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in place.rglob("result.json")}


def lines_of(log: Path) -> list[dict[str, Any]]:
    text = log.read_text() if log.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def test_a_table_is_written_in_three_forms_and_answered_as_one_object(
    whole: tuple[Path, dict[str, Any], list[str]],
) -> None:
    place, found, _ = whole
    assert finished(place) == RUNS
    assert found == json.loads((place / "digits-part.json").read_text()) | {"out": str(place), "lost": []}
    assert found["table"] == "digits"
    assert [(row["method"], row["column"], row["n"], row["paper"]) for row in found["rows"]] == [
        ("vanilla", "0.020", 2, None),
        ("csad", "0.020", 2, None),
    ]
    assert {path.name for path in place.iterdir() if path.is_file()} == {
        "digits-part.json",
        "digits-part.md",
        "digits-part.tex",
    }
    assert not list(place.rglob("*.new"))


def test_the_command_in_the_table_makes_it_again(whole: tuple[Path, dict[str, Any], list[str]]) -> None:
    told = whole[1]["command"]
    assert told.startswith("csad reproduce digits --methods vanilla,csad --columns .02 --seeds 2 --set ")
    assert all(f"--set {name}={value}" in told for name, value in SETTINGS.items())


def test_before_it_begins_it_says_how_many_runs_how_long_and_how_much_memory(
    whole: tuple[Path, dict[str, Any], list[str]],
) -> None:
    said = whole[2]
    assert said[0] == "digits: 4 runs."
    assert re.fullmatch(r"4 runs in 2 programs on the CPU .* \d+(\.\d)? (s|min|h) and \d+ MiB of memory\.", said[1]), (
        said[1]
    )
    assert said[2].startswith("vanilla 0.020 seed 10 and 1 more target ")


def test_given_again_it_trains_nothing_and_answers_the_same(whole: tuple[Path, dict[str, Any], list[str]]) -> None:
    place, found, _ = whole
    before = results(place)
    again, said = answer(*TABLE, "--out", str(place))
    assert again == found
    assert said == ["digits: 4 runs, 4 of them already finished."]
    assert results(place) == before


def test_people_get_the_table_and_what_it_means(whole: tuple[Path, dict[str, Any], list[str]]) -> None:
    place, found, _ = whole
    shown = typed(*TABLE, "--out", str(place), "--quiet")
    assert (shown.exit_code, shown.stderr) == (0, "")
    for row in found["rows"]:
        line = next(text for text in shown.stdout.splitlines() if f" {found['labels'][row['method']]} " in text)
        assert f"{row['mean']:.3f}".removeprefix("0")[:3] in line
    assert "Cells: accuracy, mean ± standard deviation over 2 runs" in shown.stdout
    assert f"Written: {place / 'digits-part'}.json, .md, .tex" in shown.stdout


def test_a_table_has_a_place_of_its_own_if_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word if word != "2" else "1" for word in VANILLA]
    found, said = answer(*words)
    assert found["out"] == "runs/digits"
    assert said[0] == "digits: 1 run."
    assert finished(tmp_path / "runs" / "digits") == ["vanilla/0.020/10"]
    assert found["rows"][0]["std"] is None


@contextmanager
def begun(place: Path) -> Iterator[subprocess.Popen[str]]:
    """The command as a program of its own, never left behind."""
    words = [sys.executable, "-m", "csad", *TABLE, "--out", str(place), "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def wait_until_in_the_middle(running: subprocess.Popen[str], place: Path) -> None:
    """Until vanilla's runs are finished and csad's estimators, too, so that debiasing has begun."""
    while not any(line["stage"] == "estimator" for line in lines_of(place / "csad/0.020/11/log.jsonl")):
        assert running.poll() is None, running.communicate()
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_table_that_was_stopped_in_the_middle_goes_on_and_comes_to_the_same(
    number: int, whole: tuple[Path, dict[str, Any], list[str]], tmp_path: Path
) -> None:
    place = tmp_path / "out"
    with begun(place) as running:
        wait_until_in_the_middle(running, place)
        running.send_signal(number)
        stdout, stderr = running.communicate()
    assert finished(place) == ["vanilla/0.020/10", "vanilla/0.020/11"]
    assert not (place / "digits-part.json").exists()
    if number == signal.SIGKILL:
        assert running.returncode == -signal.SIGKILL
    else:
        assert running.returncode == 130
        sentence = stderr.splitlines()[-1].removeprefix("csad: ")
        assert re.fullmatch("Stopped. .*the same command again.*", sentence)
        assert json.loads(stdout) == {"error": sentence, "exit": 130}
        assert "Traceback" not in stderr
    before = results(place)

    again, said = answer(*TABLE, "--out", str(place))
    assert said[0] == "digits: 4 runs, 2 of them already finished."
    assert {path: value for path, value in results(place).items() if path in before} == before
    assert finished(place) == RUNS
    _, found, _ = whole
    assert again["rows"] == found["rows"]
    assert again | {"out": ""} == found | {"out": ""}
    for run in RUNS:
        told, wanted = (lines_of(folder / run / "log.jsonl") for folder in (place, whole[0]))
        assert [(line["step"], line["losses"]) for line in told] == [(line["step"], line["losses"]) for line in wanted]
    assert not list(place.glob("shared/stacks/*"))


def test_ctrl_c_before_training_says_how_to_go_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(*about: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("csad.sweeps.forecast.forecast", impatient)
    result = typed(*VANILLA, "--out", str(tmp_path))
    assert result.exit_code == 130
    assert re.fullmatch("csad: Stopped. .*the same command again.*", result.stderr.splitlines()[-1])


TWICE = {
    "a row twice": ["--methods", "vanilla,vanilla", "--columns", ".02"],
    "a column twice": ["--methods", "vanilla", "--columns", ".02,0.020"],
}


@pytest.mark.parametrize("words", TWICE.values(), ids=TWICE)
def test_what_is_named_twice_is_made_once(words: list[str], tmp_path: Path) -> None:
    short = ["--set", "train.target_epochs=1", "--set", "train.epochs=0", "--set", "train.batch_size=300"]
    result = typed("reproduce", "digits", "--seeds", "1", *short, *words, "--out", str(tmp_path), "--json", "--quiet")
    assert result.exit_code == 0, repr(result.exception)
    assert [(row["method"], row["column"]) for row in json.loads(result.stdout)["rows"]] == [("vanilla", "0.020")]


REFUSED = {
    "a setting that some rows lack": ["--methods", "csad,vanilla", "--set", "debias_weight=2"],
    "a setting out of range": ["--methods", "vanilla,csad", "--set", "train.epochs=-1"],
    "the setting of the columns": [
        "--methods",
        "vanilla",
        "--set",
        "train.epochs=0",
        "--set",
        "data.color_variance=0.03",
    ],
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_what_a_table_cannot_be_given_is_one_sentence_and_leaves_nothing(words: list[str], tmp_path: Path) -> None:
    short = ["--seeds", "1", "--set", "train.target_epochs=1", "--set", "train.batch_size=300"]
    result = typed("reproduce", "digits", *short, *words, "--out", str(tmp_path / "out"))
    assert (result.exit_code, result.stdout) == (2, ""), repr(result.exception)
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_table_all_of_whose_runs_diverge_says_so(tmp_path: Path) -> None:
    result = typed(*VANILLA, "--set", "train.pretrain_rate=1e30", "--out", str(tmp_path), "--json")
    assert result.exit_code == 1
    assert "No run of digits" in json.loads(result.stdout)["error"]
    assert "is not a number at step" in result.stderr


CHECK = [*VANILLA, "--check"]


@pytest.fixture
def committed(whole: tuple[Path, dict[str, Any], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table where --check looks for it, its runs so far apart that any others will do."""
    monkeypatch.chdir(tmp_path)
    table = json.loads((whole[0] / "digits-part.json").read_text())
    for row in table["rows"]:
        row["std"] = 0.5
    place = tmp_path / "docs" / "results" / "digits.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(table))
    return place


def test_a_check_makes_fresh_runs_and_passes_where_they_agree(committed: Path) -> None:
    found, said = answer(*CHECK)
    assert said[0] == "digits: 2 runs."
    assert finished(Path("runs/digits-check")) == ["vanilla/0.020/13", "vanilla/0.020/14"]
    assert (found["passed"], found["seeds"], found["lost"]) == (True, [13, 14], [])
    (cell,) = found["cells"]
    assert (cell["method"], cell["column"], cell["side"], cell["passed"]) == ("vanilla", "0.020", "within", True)
    assert cell["low"] <= cell["fresh"]["mean"] <= cell["high"]
    assert found["command"].startswith("csad reproduce digits --check --methods vanilla --columns .02 --seeds 2 --set ")

    shown = typed(*CHECK, "--quiet")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert re.search(r"Vanilla +│ +0\.020 +│ accuracy +│ 0\.\d{4} ± 0\.5000 \(n = 2\) +│", shown.stdout)
    assert re.search("^Committed: .*Fresh: .*: 13, 14\\.$", shown.stdout, re.MULTILINE)
    assert "1 of 1 cells pass." in shown.stdout
    assert "Written: runs/digits-check/digits-check.json, .md, .tex" in shown.stdout


def test_a_check_fails_where_they_do_not(committed: Path) -> None:
    table = json.loads(committed.read_text())
    table["rows"][0].update(mean=0.99, std=0.01)
    other = committed.rename("mine.json")
    other.write_text(json.dumps(table))
    words = [*CHECK, "--against", "mine.json", "--out", "here"]
    result = typed(*words, "--json", "--quiet")
    assert (result.exit_code, result.stderr) == (1, "")
    found = json.loads(result.stdout)
    assert (found["passed"], found["cells"][0]["side"], found["out"]) == (False, "below", "here")
    shown = typed(*words)
    assert shown.exit_code == 1
    assert "fail: below" in shown.stdout
    assert "0 of 1 cells pass." in shown.stdout


def test_a_check_of_a_cell_that_was_never_committed_is_told_at_once(committed: Path) -> None:
    words = [word.replace("vanilla", "vanilla,grey") for word in CHECK]
    result = typed(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    facts = {"file": "docs/results/digits.json", "metric": "accuracy", "method": "grey", "column": "0.020"}
    assert result.stderr == f"csad: {message('reference-cell-missing', **facts)}\n"
    assert not Path("runs").exists()
