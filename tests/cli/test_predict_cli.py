"""csad predict as a user types it: one CSV file, nothing overwritten unasked, one sentence for what cannot be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import typed
from csv_tables import read_rows
from people_tables import PEOPLE, ROLES, SHORT, N, write_people

import csad


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
    assert answer["notices"] == [
        "Column 'city' is missing in 1 row: they count as none of the words.",
        "Column 'hours' is missing in 1 row: the median of training 40.5 stands there.",
    ]


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_words_that_training_did_not_know_are_told(here: Path, quiet: tuple[str, ...]) -> None:
    write_people(here / "new.csv", {"city": ["Bonn"] * 2 + ["Rome"] * (N - 2)})
    result = typed("predict", "run", "new.csv", *quiet)
    assert result.exit_code == 0
    assert "Column 'city' of new.csv holds words that training did not know, in 2 rows ('Bonn')" in result.stderr


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
    assert result.stderr == "csad: p.csv exists: give --force to write over it, or another --out.\n"
    assert (here / "p.csv").read_text() == "mine\n"
    assert typed("predict", "run", "new.csv", "--out", "p.csv", "--force", "--quiet").exit_code == 0
    assert len(read_rows(here / "p.csv")) == N


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_ids_that_a_spreadsheet_would_run_are_told_and_can_be_made_safe(here: Path, quiet: tuple[str, ...]) -> None:
    write_people(here / "new.csv", {"who": ["=1+1", "@a", *PEOPLE["who"][2:]]}, without=["income", "gender"])
    result = typed("predict", "run", "new.csv", "--id", "who", *quiet)
    assert result.exit_code == 0, result.stderr
    told = "A spreadsheet would run '=1+1' and 1 more in predictions.csv as a formula: give --excel-safe"
    assert told in result.stderr
    assert [row["who"] for row in read_rows(here / "predictions.csv")][:3] == ["=1+1", "@a", "002"]
    as_json = typed("predict", "run", "new.csv", "--id", "who", "--force", "--json", *quiet)
    assert told in json.loads(as_json.stdout)["notices"][-1]
    safe = typed("predict", "run", "new.csv", "--id", "who", "--force", "--excel-safe", *quiet)
    assert "spreadsheet" not in safe.output
    assert [row["who"] for row in read_rows(here / "predictions.csv")][:3] == ["'=1+1", "'@a", "002"]


def without(column: str) -> Callable[[Path], Any]:
    return lambda here: write_people(here / "new.csv", {column + "s": PEOPLE[column]}, without=[column])


def npz(**arrays: Any) -> Callable[[Path], Any]:
    return lambda here: np.savez(here / "x.npz", **arrays)


def nothing(here: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("words", "says", "before"),
    [
        (["new.csv"], "Column 'hours' is not in new.csv. Nearest: hourss.", without("hours")),
        (["new.csv", "--id", "whom"], "Column 'whom' is not in new.csv. Nearest: who.", nothing),
        (["gone.csv"], "gone.csv cannot be read: No such file or directory; check its path", nothing),
        (["new.xlsx"], "new.xlsx cannot be read: give a table (.csv, .parquet), an .npy array or an .npz", nothing),
        (["new.csv", "--out", "new.csv", "--force"], "new.csv is the file that is read", nothing),
        (["new.csv", "--out", "p.parquet"], "Predictions are written as CSV: give --out a name that ends", nothing),
        (["new.csv", "--out", "no/p.csv"], "no/p.csv cannot be written: it is a folder, or lies in none", nothing),
        (["new.csv", "--out", "d.csv"], "d.csv cannot be written: it is a folder", lambda f: (f / "d.csv").mkdir()),
        (["new.csv", "--images", "run"], "--images is for what was trained on pictures", nothing),
        (["new.csv", "--id", "prediction"], "Ids cannot stand in a column called 'prediction'", nothing),
        (["new.csv"], "must hold numbers, as in training, but it holds words, such as 'old' in line 2",
         lambda f: write_people(f / "new.csv", {"age": ["old", *PEOPLE["age"][1:]]})),
        (["x.npz"], "x.npz has no array 'x', only z: add it.", npz(z=np.ones(3))),
        (["x.npz"], "x must have rows of shape (6,), not (2,).", npz(x=np.ones((3, 2)))),
        (["x.npz", "--id", "n"], "has 3 rows but 'n' has 2 ids", npz(x=np.ones((3, 6)), n=np.ones(2))),
        (["x.npz"], "x.npz holds no rows.", npz(x=np.ones((0, 6)))),
        (["new.csv"], "preparation.json cannot be read", lambda f: (f / "run" / "preparation.json").write_text("{")),
        (["new.csv"], "The preparation of the table is not whole",
         lambda f: (f / "run" / "preparation.json").write_text('{"version": 1}')),
        (["new.csv"], "This run was not trained on a table of your own",
         lambda f: (f / "run" / "preparation.json").unlink()),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(
    here: Path, words: list[str], says: str, before: Callable[[Path], Any]
) -> None:
    before(here)
    was = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    result = typed("predict", "run", *words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr, result.stderr
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == was
