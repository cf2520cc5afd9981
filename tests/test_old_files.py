"""What an earlier version wrote is read by this one: runs, exports, classifiers and pickles say what they said then."""

from __future__ import annotations

import csv
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.base import clone

import csad
from csad.deploy import Model
from csad.export.formats import load_exported
from tests.files.make import REPRODUCE, RUNS, STOPPED, SWEEP, arithmetic, asked, plain
from tests.support.commands import contents, typed

OLD = Path(__file__).parent / "files" / "22e8846"
EXPECTED = json.loads((OLD / "expected.json").read_text(encoding="utf-8"))
# Last bits of a net's answers are those of the torch and the CPU; weights are the same everywhere.
CLOSE = 0.0 if arithmetic() == EXPECTED["arithmetic"] else 1e-6
SWEPT = sorted(str(path.parent.relative_to(OLD)) for path in OLD.glob("sweep/*/config.toml"))
TRAINED = [*RUNS, *SWEPT]
WITH_DATA = [name for name in RUNS if not name.startswith("methods/")]
CLASSIFIERS = sorted(EXPECTED["classifiers"])


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the old files, in which the user stands: their paths are relative to it."""
    shutil.copytree(OLD, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    monkeypatch.setenv("CSAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "old"


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user stands among the old files themselves, to read them only."""
    monkeypatch.chdir(OLD)


def command(*words: str) -> Any:
    """What a command answers as JSON."""
    done = typed(*words, "--quiet", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def american(figures: Any) -> Any:
    """Figures under the names that they have now, or had before their spelling changed."""
    if not isinstance(figures, dict):
        return figures
    return {name.replace("equalised", "equalized"): american(value) for name, value in figures.items()}


def numbers(value: Any) -> list[float]:
    """All numbers in nested lists and dicts, whatever the dicts call them, in order of size."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return sorted(number for part in value for number in numbers(part))
    return [float(value)] if isinstance(value, int | float) else []


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=0, atol=CLOSE)


def says_the_same(name: str, run: csad.Run, expected: dict[str, Any]) -> None:
    rows = asked("people" if name.startswith("people") else name, run)
    same(run.predict(rows), expected["predict"])
    same(run.transform(rows), expected["transform"])
    if "probabilities" in expected:
        same(run.predict_proba(rows), expected["probabilities"])


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.usefixtures("before")
def test_a_run_has_its_weights_its_figures_and_says_what_it_said(name: str) -> None:
    run = csad.load(name, device="cpu")
    read, kept = run.method.state_dict(), load_file(f"{name}/checkpoint/state.safetensors")
    weights = {key.removeprefix("method/"): value for key, value in kept.items() if key.startswith("method/")}
    assert read.keys() <= weights.keys()
    assert all(torch.equal(read[key], weights[key]) for key in read)
    told = json.loads(Path(name, "result.json").read_text(encoding="utf-8"))
    assert american(run.result["metrics"]) == american(told["metrics"])
    says_the_same(name, run, EXPECTED["runs"][name])


@pytest.mark.parametrize("name", WITH_DATA)
def test_its_data_are_read_again_and_give_the_figures_that_it_had(there: Path, name: str) -> None:
    found = command("evaluate", name, "--device", "cpu")["metrics"]
    kept = american(json.loads(Path(name, "result.json").read_text(encoding="utf-8"))["metrics"])
    for split, figures in american(found).items():
        assert figures == pytest.approx(kept[split], abs=CLOSE)


def test_data_that_have_moved_are_found_in_the_data_root(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there / "moved").mkdir()
    for name in ("people.csv", "faces.csv", "faces.zip"):
        (there / name).rename(there / "moved" / name)
    for run in ("people-csad", "faces"):
        kept = american(json.loads(Path(run, "result.json").read_text(encoding="utf-8"))["metrics"])
        found = american(command("evaluate", run, "--data-root", "moved")["metrics"])
        assert found["test"] == pytest.approx(kept["test"], abs=CLOSE)


@pytest.mark.parametrize("name", ["methods/csad", "toy-series", "people-csad", "people-number", "faces", "arrays"])
def test_a_finished_run_is_known_as_the_same_and_left_alone(there: Path, name: str) -> None:
    home, task = there / name, RUNS[name][0]
    if (there / task).is_file():  # a config tells where a file lies from the root; here that depends on the test
        for place in (task, "faces.zip"):
            text = (home / "config.toml").read_text(encoding="utf-8")
            (home / "config.toml").write_text(text.replace(f'"{place}"', json.dumps(str(there / place))))
    before = contents(home)
    found = command("train", *RUNS[name], "--out", name, "--resume", "--device", "cpu")
    assert contents(home) == before
    kept = json.loads((home / "result.json").read_text(encoding="utf-8"))
    assert american(found["metrics"]) == american(kept["metrics"])
    assert found.get("choice", {}).get("why") == kept.get("choice", {}).get("why")
    assert found.get("threshold", {}).get("value") == kept.get("threshold", {}).get("value")


def test_a_sweep_that_is_finished_is_left_alone(there: Path) -> None:
    found = command("train", *SWEEP, "--out", "sweep", "--resume", "--device", "cpu")
    for name in SWEPT:
        assert contents(there / name) == contents(OLD / name)
    assert [run["name"] for run in found["runs"]] == [Path(name).name for name in SWEPT]


def test_a_stopped_run_goes_on_to_where_it_would_have_come(there: Path) -> None:
    assert not (there / "stopped" / "result.json").exists()
    command("train", *STOPPED, "--out", "stopped", "--resume", "--device", "cpu")
    run, expected = csad.load("stopped", device="cpu"), EXPECTED["runs"]["whole"]
    steps = [json.loads(line)["step"] for line in (there / "stopped" / "log.jsonl").read_text().splitlines()]
    assert steps == sorted(set(steps))
    for told in ("predict", "transform", "probabilities"):  # many steps make more of a last bit than one answer does
        rows = run.predict_proba(plain((5, 8))) if told == "probabilities" else getattr(run, told)(plain((5, 8)))
        np.testing.assert_allclose(rows, expected[told], rtol=0, atol=1e3 * CLOSE)


def predictions(path: Path) -> tuple[list[list[str]], np.ndarray[Any, Any]]:
    """Of a file that csad predict wrote: rows and classes, and probabilities."""
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    return [header, *(row[:2] for row in rows)], np.array([row[2:] for row in rows], float)


@pytest.mark.parametrize("model", ["people-csad", "people.onnx"])
def test_csad_predict_says_what_it_said(there: Path, model: str) -> None:
    command("predict", model, "people.csv", "--out", "now.csv", "--device", "cpu")
    (classes, found), (as_before, expected) = predictions(Path("now.csv")), predictions(OLD / "predictions.csv")
    assert classes == as_before
    assert len(classes) == 301
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("before")
def test_exported_files_say_what_the_run_said() -> None:
    expected = EXPECTED["runs"]["people-csad"]
    again = load_exported("people.safetensors", device="cpu")
    says_the_same("people-csad", again, expected)
    model = Model("people.onnx")
    rows = asked("people", again)
    np.testing.assert_allclose(model.predict_proba(rows), expected["probabilities"], rtol=0, atol=1e-6)
    assert model.predict(rows).tolist() == expected["predict"]
    inside = {"csad.json": ""}
    program = torch.export.load("people.pt2", extra_files=inside)
    x = torch.from_numpy(plain((5, *again.method.task.shape)))
    np.testing.assert_allclose(program.module()(x).detach(), again.outputs(x), rtol=0, atol=1e-6)
    assert tuple(json.loads(inside["csad.json"])["classes"]) == again.classes == model.classes == ("high", "low")


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("ending", ["safetensors", "pickle"])
def test_a_classifier_says_what_it_said_and_is_one_of_today(tmp_path: Path, name: str, ending: str) -> None:
    # The pickles name DebiasedClassifier of csad.estimator.classifier, Trained of csad.estimator.trained (and its
    # from_bytes), and Related of csad.data.pairs: these must be found there for ever.
    path, x = OLD / f"classifier-{name}.{ending}", plain((5, 3))
    found = pickle.loads(path.read_bytes()) if ending == "pickle" else csad.DebiasedClassifier.load(path)
    expected = EXPECTED["classifiers"][name]
    same(found.predict_proba(x), expected)
    assert found.predict(x).tolist() == [["no", "yes"][int(row[1] > row[0])] for row in expected]
    assert found.transform(x).shape == (5, 4)
    assert repr(found).startswith("DebiasedClassifier(")
    assert clone(found).get_params()["settings"] == found.get_params()["settings"]
    found.save(tmp_path / "again")
    for again in (csad.DebiasedClassifier.load(tmp_path / "again"), pickle.loads(pickle.dumps(found))):
        assert np.array_equal(again.predict_proba(x), found.predict_proba(x))


def test_an_audit_is_shown_in_a_report_with_its_comparison(there: Path) -> None:
    found = command("report", "people-csad", "--against", "people-vanilla", "--card", "card.md", "--device", "cpu")
    kept = json.loads((OLD / "people-csad" / "audit.json").read_text(encoding="utf-8"))
    assert (found["state"], found["words"]) == (kept["state"], kept["words"])
    assert contents(there / "people-vanilla") == contents(OLD / "people-vanilla")
    assert (there / "people-csad" / "audit.json").read_bytes() == (OLD / "people-csad" / "audit.json").read_bytes()
    assert "income" in (there / "people-csad" / "report.html").read_text(encoding="utf-8")


def test_an_audit_made_again_finds_the_same_and_keeps_the_comparison(there: Path) -> None:
    text = (OLD / "people-csad" / "audit.json").read_text(encoding="utf-8")
    kept = json.loads(text.replace("equalised", "equalized").replace("neighbours", "neighbors"))
    alone = command("audit", "people-csad", "--device", "cpu")
    assert alone["comparison"] == kept["comparison"]
    found = command("audit", "people-csad", "--against", "people-vanilla", "--device", "cpu")
    for name in ("state", "against", "weights", "split_rows"):
        assert found[name] == kept[name]
    found.pop("failed")
    assert numbers(found) == pytest.approx(numbers(kept), abs=CLOSE)


def test_a_table_is_made_of_the_runs_that_are_there(there: Path) -> None:
    csad.reproduce("mpower-simulated", **REPRODUCE, out="table", device="cpu")
    kept = contents(OLD / "table")
    now = contents(there / "table")
    (table,) = (name for name in kept if name.endswith("-part.json"))
    runs = [name for name in kept if name != table]
    assert sum(name.endswith("result.json") for name in runs) == 4
    assert {name: now[name] for name in runs} == {name: kept[name] for name in runs}
    found, expected = (json.loads((place / "table" / table).read_text()) for place in (there, OLD))
    for part in ("rows", "differences"):
        assert numbers(american(found[part])) == pytest.approx(numbers(expected[part]), abs=CLOSE)


def test_the_files_hold_the_names_of_their_time() -> None:
    assert 'optimiser = "sgd"' in (OLD / "methods" / "vanilla" / "config.toml").read_text(encoding="utf-8")
    for name in ("people-csad/result.json", "people-csad/audit.json"):
        assert '"equalised_odds_gender"' in (OLD / name).read_text(encoding="utf-8")
    for name in CLASSIFIERS:
        assert b"standardise" in (OLD / f"classifier-{name}.pickle").read_bytes()
