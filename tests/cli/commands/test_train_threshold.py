"""The threshold between two classes at the command line: told, given, kept, and refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import typed
from tests.support.csv_tables import read_rows, write_columns
from tests.support.messages import Refusal

PLAIN = ["--method", "vanilla", "--set", "train.target_epochs=6", "--set", "train.epochs=2", "--device", "cpu"]
PLAIN += ["--set", "train.pretrain_rate=0.01"]
ROLES = ["people.csv", "--target", "ill", "--bias", "sex"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in which few are ill, a run that was trained on it as it is, and a file of new rows."""
    folder, generator = tmp_path_factory.mktemp("rare"), np.random.default_rng(0)
    ill = generator.random(1500) < 0.15
    columns = {
        "fever": [f"{value:.2f}" for value in generator.normal(37 + ill, 0.7)],
        "sex": np.where(generator.random(1500) < 0.5, "man", "woman").tolist(),
        "ill": np.where(ill, "yes", "no").tolist(),
    }
    write_columns(folder / "people.csv", columns)
    write_columns(folder / "new.csv", {"fever": columns["fever"][:100]})
    return folder


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    if not (place / "run").exists():
        result = typed("train", *ROLES, *PLAIN, "--set", "train.balance=", "--out", "run")
        assert result.exit_code == 0, result.output
        (place / "said.txt").write_text(result.stdout)
    return place


def said(path: Path) -> tuple[list[str], list[float]]:
    rows = read_rows(path)
    return [row["prediction"] for row in rows], [float(row["probability yes"]) for row in rows]


def test_a_threshold_that_was_chosen_is_told_and_used(here: Path) -> None:
    found = json.loads((here / "run" / "result.json").read_text())["threshold"]
    assert f"threshold: {found['why']}" in (here / "said.txt").read_text()
    result = typed("predict", "run", "new.csv", "--out", "chosen.csv", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert f"'yes' when its probability exceeds {found['value']:.3g}." in result.stdout
    names, shares = said(here / "chosen.csv")
    assert names == ["yes" if share > found["value"] else "no" for share in shares]
    assert any(name == "yes" and share < 0.5 for name, share in zip(names, shares, strict=True))


@pytest.mark.parametrize("value", ["0.5", "0.9"])
def test_a_threshold_that_is_given_to_predict_is_used_instead(here: Path, value: str) -> None:
    out = f"given-{value}.csv"
    result = typed("predict", "run", "new.csv", "--out", out, "--device", "cpu", "--threshold", value, "--json")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    answer = json.loads(result.stdout)
    names, shares = said(here / out)
    assert names == ["yes" if share > float(value) else "no" for share in shares]
    assert (answer["threshold"], answer["counts"]["yes"]) == (float(value), names.count("yes"))


def test_an_exported_file_decides_as_the_run_does(here: Path) -> None:
    made = typed("export", "run", "--format", "onnx", "--out", "model.onnx", "--quiet")
    assert made.exit_code == 0, made.output
    for model, out in (("run", "by-run.csv"), ("model.onnx", "by-file.csv")):
        assert typed("predict", model, "new.csv", "--out", out, "--quiet").exit_code == 0
    assert said(here / "by-file.csv")[0] == said(here / "by-run.csv")[0]


def test_a_threshold_that_is_given_to_train_is_kept(here: Path) -> None:
    result = typed("train", *ROLES, *PLAIN, "--threshold", "0.3", "--out", "given", "--json", "--quiet")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    answer = json.loads(result.stdout)["threshold"]
    assert answer["value"] == json.loads((here / "given" / "result.json").read_text())["threshold"]["value"] == 0.3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", *ROLES, "--threshold", "1.5", "--out", "no"], Refusal("threshold-out-of-range", threshold=1.5)),
        (
            ["train", *ROLES, "--threshold", "0.2", "--seed", "0,1", "--out", "no"],
            Refusal("threshold-with-several-runs"),
        ),
        (
            ["train", "people.csv", "--target", "fever", "--bias", "sex", "--threshold", "0.2"],
            Refusal("threshold-needs-two-classes", kind="a number"),
        ),
        (
            ["predict", "run", "new.csv", "--threshold", "0", "--out", "no.csv"],
            Refusal("threshold-out-of-range", threshold=0.0),
        ),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(here: Path, words: list[str], expected: Refusal) -> None:
    before = sorted(here.rglob("*"))
    result = typed(*words, "--quiet")
    assert result.exit_code == 2, result.output
    assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)
    assert expected.is_in(result.stderr), result.stderr
    assert sorted(here.rglob("*")) == before
