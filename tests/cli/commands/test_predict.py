"""csad predict as a user types it: one CSV file, nothing overwritten unasked, one sentence for what cannot be."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import csad
from csad.messages import message
from tests.support.commands import typed
from tests.support.csv_tables import read_rows
from tests.support.messages import Refusal, says
from tests.support.people_tables import PEOPLE, ROLES, SHORT, N, write_people


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("predict")
    write_people(place / "people.csv")
    result = typed("train", str(place / "people.csv"), *ROLES, *SHORT, "--out", str(place / "run"), "--quiet")
    assert result.exit_code == 0, result.stderr
    return place / "run"


@pytest.fixture
def here(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user stands: a run is there, and new.csv, which has its inputs and no labels."""
    shutil.copytree(trained, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "new.csv", without=["income", "gender", "fold", "family"])
    return tmp_path


def test_predictions_stand_beside_ids_as_the_file_writes_them(here: Path) -> None:
    result = typed("predict", "run", "new.csv", "--id", "who", "--device", "cpu")
    assert result.exit_code == 0, result.stderr
    rows = read_rows(here / "predictions.csv")
    assert [row["who"] for row in rows] == PEOPLE["who"]  # 007 is not 7
    assert list(rows[0]) == ["who", "prediction", "probability high", "probability low"]
    run = csad.load(here / "run", device="cpu")
    raw = {name: PEOPLE[name] for name in ("age", "city", "hours")}
    assert [row["prediction"] for row in rows] == [run.classes[k] for k in run.predict(raw)]
    shares = [[float(row[f"probability {name}"]) for name in ("high", "low")] for row in rows]
    np.testing.assert_allclose(shares, run.predict_proba(raw), atol=1e-6)
    right = np.mean([row["prediction"] == income for row, income in zip(rows, PEOPLE["income"], strict=True)])
    assert right > 0.9  # the hours tell the income


def test_rows_are_numbered_from_one_where_no_id_is_named(here: Path) -> None:
    result = typed("predict", "run", "new.csv", "--out", "p.csv", "--json", "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [row["row"] for row in read_rows(here / "p.csv")] == [str(k) for k in range(1, N + 1)]
    answer = json.loads(result.stdout)
    assert (answer["rows"], answer["id"], answer["out"]) == (N, "row", "p.csv")
    assert answer["classes"] == ["high", "low"]
    assert sum(answer["counts"].values()) == N
    city, hours = answer["notices"]
    assert says(city, "input-column-missing-values", column="city", rows=1)
    assert says(hours, "input-column-missing-values", column="hours", rows=1, outcome=re.compile(r"40\.5"))


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_words_that_training_did_not_know_are_told(here: Path, quiet: tuple[str, ...]) -> None:
    write_people(here / "new.csv", {"city": ["Bonn"] * 2 + ["Rome"] * (N - 2)})
    result = typed("predict", "run", "new.csv", *quiet)
    assert result.exit_code == 0
    assert says(result.stderr, "values-unknown-to-model", column="city", file="new.csv", rows=2, values="'Bonn'")


def test_an_npz_file_of_prepared_rows_is_predicted_for_too(here: Path) -> None:
    run = csad.load(here / "run", device="cpu")
    x = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    np.savez(here / "rows.npz", x=x, name=np.array(list("abcde")))
    assert typed("predict", "run", "rows.npz", "--id", "name", "--quiet").exit_code == 0
    rows = read_rows(here / "predictions.csv")
    assert [row["name"] for row in rows] == list("abcde")
    assert [row["prediction"] for row in rows] == [run.classes[k] for k in run.predict(x)]


def test_an_existing_file_is_written_over_only_where_that_is_asked_for(here: Path) -> None:
    (here / "p.csv").write_text("mine\n")
    result = typed("predict", "run", "new.csv", "--out", "p.csv")
    assert result.exit_code == 2
    assert says(result.stderr, "out-file-exists", file="p.csv")
    assert len(result.stderr.splitlines()) == 1
    assert (here / "p.csv").read_text() == "mine\n"
    assert typed("predict", "run", "new.csv", "--out", "p.csv", "--force", "--quiet").exit_code == 0
    assert len(read_rows(here / "p.csv")) == N


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_ids_that_a_spreadsheet_would_run_are_told_and_can_be_made_safe(here: Path, quiet: tuple[str, ...]) -> None:
    write_people(here / "new.csv", {"who": ["=1+1", "@a", *PEOPLE["who"][2:]]}, without=["income", "gender"])
    result = typed("predict", "run", "new.csv", "--id", "who", *quiet)
    assert result.exit_code == 0, result.stderr
    notice = message("csv-formula-cells", value="=1+1", more=" and 1 more", file="predictions.csv")
    assert notice in result.stderr
    assert [row["who"] for row in read_rows(here / "predictions.csv")][:3] == ["=1+1", "@a", "002"]
    as_json = typed("predict", "run", "new.csv", "--id", "who", "--force", "--json", *quiet)
    assert notice in json.loads(as_json.stdout)["notices"][-1]
    safe = typed("predict", "run", "new.csv", "--id", "who", "--force", "--excel-safe", *quiet)
    assert "spreadsheet" not in safe.output
    assert [row["who"] for row in read_rows(here / "predictions.csv")][:3] == ["'=1+1", "'@a", "002"]


def without(column: str) -> Callable[[Path], Any]:
    return lambda here: write_people(here / "new.csv", {column + "s": PEOPLE[column]}, without=[column])


def npz(**arrays: Any) -> Callable[[Path], Any]:
    return lambda here: np.savez(here / "x.npz", **arrays)


def lacks(column: str, nearest: str) -> Refusal:
    return Refusal("unknown-column", column=column, file="new.csv", advice=f"Nearest: {nearest}.")


def nothing(here: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("words", "expected", "before"),
    [
        (
            ["new.csv"],
            lacks("hours", "hourss"),
            without("hours"),
        ),
        (
            ["new.csv", "--id", "whom"],
            lacks("whom", "who"),
            nothing,
        ),
        (["gone.csv"], Refusal("file-unreadable", file="gone.csv", reason="No such file or directory"), nothing),
        (["new.xlsx"], Refusal("prediction-input-unknown", file="new.xlsx"), nothing),
        (["new.csv", "--out", "new.csv", "--force"], Refusal("out-is-input", file="new.csv"), nothing),
        (["new.csv", "--out", "p.parquet"], Refusal("predictions-not-csv", name="p.parquet"), nothing),
        (["new.csv", "--out", "no/p.csv"], Refusal("out-path-invalid", file="no/p.csv"), nothing),
        (["new.csv", "--out", "d.csv"], Refusal("out-path-invalid", file="d.csv"), lambda f: (f / "d.csv").mkdir()),
        (["new.csv", "--images", "run"], Refusal("file-place-not-needed"), nothing),
        (["new.csv", "--id", "prediction"], Refusal("id-column-name-taken", column="prediction"), nothing),
        (
            ["new.csv"],
            Refusal("column-kind-changed", expected="numbers", found=re.compile("'old' in line 2")),
            lambda f: write_people(f / "new.csv", {"age": ["old", *PEOPLE["age"][1:]]}),
        ),
        (["x.npz"], Refusal("npz-array-missing", file="x.npz", array="x", known="z"), npz(z=np.ones(3))),
        (["x.npz"], Refusal("x-row-shape-mismatch", expected="(6,)", shape="(2,)"), npz(x=np.ones((3, 2)))),
        (
            ["x.npz", "--id", "n"],
            Refusal("id-count-mismatch", rows=3, column="n", count=2),
            npz(x=np.ones((3, 6)), n=np.ones(2)),
        ),
        (["x.npz"], Refusal("file-without-rows", file="x.npz"), npz(x=np.ones((0, 6)))),
        (
            ["new.csv"],
            Refusal("run-file-unreadable", file="run/preparation.json"),
            lambda f: (f / "run" / "preparation.json").write_text("{"),
        ),
        (
            ["new.csv"],
            Refusal("preparation-damaged", inputs="table"),
            lambda f: (f / "run" / "preparation.json").write_text('{"version": 1}'),
        ),
        (
            ["new.csv"],
            Refusal("model-takes-no-table", model="This run"),
            lambda f: (f / "run" / "preparation.json").unlink(),
        ),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(
    here: Path, words: list[str], expected: Refusal, before: Callable[[Path], Any]
) -> None:
    before(here)
    was = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    result = typed("predict", "run", *words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert expected.is_in(result.stderr), result.stderr
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == was
