"""Runs on tables of one's own: raw values in, classes and numbers out, here and after loading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import csad
from csad.data.own.preprocessor import Preprocessor
from csad.data.tables.read_table import read_table_file
from csad.runs.predict import predict_file
from tests.support.messages import Refusal, refused
from tests.support.own_data import DATASET, PLAIN, X
from tests.support.people_tables import PEOPLE, N, write_people

SETTINGS = {"data.target": "income", "data.bias": ("gender",), "data.drop": ("who", "family", "fold"), **PLAIN}
RAW = {name: PEOPLE[name] for name in ("age", "city", "hours")}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    place = tmp_path_factory.mktemp("people")
    return csad.train(write_people(place / "people.csv"), "vanilla", settings=SETTINGS, out=place / "run", device="cpu")


def test_a_loaded_run_reads_raw_values_as_the_trained_one_does(run: csad.Run) -> None:
    assert run.folder is not None
    again = csad.load(run.folder, device="cpu")
    assert again.preparation == run.preparation
    np.testing.assert_array_equal(again.predict_proba(RAW), run.predict_proba(RAW))


def test_columns_rows_and_one_row_are_the_same_raw_values(run: csad.Run) -> None:
    rows = [{name: values[k] for name, values in RAW.items()} for k in range(N)]
    np.testing.assert_array_equal(run.predict_proba(rows), run.predict_proba(RAW))
    np.testing.assert_allclose(run.predict_proba(rows[3]), run.predict_proba(RAW)[3:4], atol=1e-6)
    assert run.transform(rows).shape == (N, 32)


def test_raw_values_become_the_x_that_was_trained_on(run: csad.Run) -> None:
    assert run.folder is not None
    dataset = csad.from_table(
        run.folder.parent / "people.csv", target="income", bias="gender", drop=("who", "family", "fold")
    )
    for rows in dataset.splits.values():
        raw = [{name: RAW[name][k] for name in RAW} for k in rows.extra["row"].tolist()]
        np.testing.assert_array_equal(run.predict_proba(raw), run.predict_proba(rows.x))


def test_a_data_frame_is_raw_values_too(run: csad.Run) -> None:
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(run.predict_proba(pandas.DataFrame(RAW)), run.predict_proba(RAW))


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (
            {"age": [1], "city": ["Rome"], "hour": [3]},
            Refusal("unknown-column", column="hours", file="the given rows", advice="Nearest: hour."),
        ),
        ({"age": [1, 2], "city": ["Rome"], "hours": [3]}, Refusal("column-lengths-differ", low=1, high=2)),
        ({"age": [], "city": [], "hours": []}, Refusal("no-rows-given")),
        (
            {"age": ["old"], "city": ["Rome"], "hours": [3]},
            Refusal("column-kind-changed", column="age", file="the given rows", expected="numbers"),
        ),
    ],
)
def test_raw_values_that_cannot_be_read_are_told(run: csad.Run, raw: dict[str, list[Any]], says: Refusal) -> None:
    with refused(says):
        run.predict(raw)


def test_a_run_on_arrays_takes_no_columns(tmp_path: Path) -> None:
    run = csad.train(DATASET, "vanilla", settings=PLAIN, device="cpu")
    with refused("run-takes-no-columns"):
        run.predict({"x": X})
    np.savez(tmp_path / "x.npz", x=X)
    np.save(tmp_path / "x.npy", X)
    for name in ("x.npz", "x.npy"):
        found = predict_file(run, tmp_path / name)
        assert found.names() == [run.classes[k] for k in run.predict(X)]
        assert sum(found.counts().values()) == len(X)


def test_classes_without_names_are_called_by_their_numbers() -> None:
    nameless = replace(DATASET, task=replace(DATASET.task, target=csad.Classes(3)))
    assert csad.train(nameless, "vanilla", settings=PLAIN, device="cpu").classes == ("0", "1", "2")


def test_a_number_is_predicted_as_it_stands_in_the_table(tmp_path: Path) -> None:
    pay = [1000.0 + 5 * k + 300 * (k % 2) for k in range(N)]
    path = write_people(tmp_path / "people.csv", {"pay": pay})
    settings = SETTINGS | {"data.target": "pay", "target_epochs": 30}
    run = csad.train(path, "vanilla", settings=settings, out=tmp_path / "run", device="cpu")
    found = predict_file(csad.load(tmp_path / "run", device="cpu"), path, id_column="who")
    assert (found.classes, found.id_name, found.ids) == ((), "who", PEOPLE["who"])
    assert next(iter(found.table())) == ["who", "prediction"]
    written = np.array([float(name) for name in found.names()])
    np.testing.assert_allclose(written, run.predict(path_columns(pay)), rtol=1e-5)
    assert np.abs(written - pay).mean() < np.abs(np.mean(pay) - pay).mean()  # better than always the mean
    assert found.counts() == {}
    assert isinstance(run.preparation, Preprocessor)
    np.savez(tmp_path / "x.npz", x=run.preparation.apply(read_table_file(path)))
    np.testing.assert_array_equal(predict_file(run, tmp_path / "x.npz").scores, found.scores)


def path_columns(pay: list[float]) -> dict[str, list[Any]]:
    return {name: PEOPLE[name] for name in ("age", "city", "hours", "income")} | {"pay": pay}
