"""The data of a run, read again: from another folder, from a new place, and never others unnoticed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import csad
from csad.runs.build import name_of
from csad.runs.run import data_of
from tests.support.messages import Refusal, refused
from tests.support.own_data import PLAIN, arrays
from tests.support.people_tables import PEOPLE, write_people

SETTINGS = {"data.target": "income", "data.bias": ("gender",), "data.split": "fold", **PLAIN}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> csad.Run:
    """A run on people.csv that was trained in the folder of the file, and is looked at from another."""
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    write_people(home / "people.csv")
    monkeypatch.chdir(home)
    csad.train("people.csv", "vanilla", settings=SETTINGS, out="run", device="cpu")
    monkeypatch.chdir(other)
    return csad.load(home / "run", device="cpu")


def test_a_run_is_evaluated_from_another_folder(run: csad.Run, tmp_path: Path) -> None:
    assert run.config["task"] == str(tmp_path / "home" / "people.csv")
    assert csad.evaluate(run, data_of(run)) == run.result["metrics"]
    assert run.result["task"] == "people.csv"


def test_it_goes_on_from_another_folder_too(run: csad.Run, tmp_path: Path) -> None:
    again = csad.train("../home/people.csv", "vanilla", settings=SETTINGS, out="../home/run", resume=True, device="cpu")
    assert again.result == run.result
    assert again.preparation == run.preparation


def test_a_preparation_that_is_lost_is_written_again_where_a_run_goes_on(run: csad.Run, tmp_path: Path) -> None:
    file = tmp_path / "home" / "run" / "preparation.json"
    before = file.read_bytes()
    file.unlink()
    csad.train("../home/people.csv", "vanilla", settings=SETTINGS, out="../home/run", resume=True, device="cpu")
    assert file.read_bytes() == before


def test_changed_training_rows_are_noticed(run: csad.Run, tmp_path: Path) -> None:
    ages = [age + (k == 5) for k, age in enumerate(PEOPLE["age"])]
    write_people(tmp_path / "home" / "people.csv", {"age": ages})
    with refused("training-rows-changed", data=tmp_path / "home" / "people.csv"):
        data_of(run)


@pytest.mark.parametrize(
    ("setting", "code"), [("path", "unknown-name"), ("data_root", "misspelled-name"), ("no_such", "unknown-name")]
)
def test_a_config_decides_no_more_of_the_data_than_a_user_may_set(run: csad.Run, setting: str, code: str) -> None:
    run.config["data"][setting] = "elsewhere"
    with refused(code, kind="setting of data", name=setting):
        data_of(run)


def test_the_same_rows_written_otherwise_are_no_change(run: csad.Run, tmp_path: Path) -> None:
    write_people(tmp_path / "home" / "people.csv", {"age": [f"{age}.0" for age in PEOPLE["age"]]})
    assert csad.evaluate(run, data_of(run)) == run.result["metrics"]


def test_a_file_that_was_moved_is_found_in_the_data_root(run: csad.Run, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    shutil.move(tmp_path / "home" / "people.csv", tmp_path / "new" / "people.csv")
    says = Refusal("training-file-not-found", name="people.csv")
    for root in (None, tmp_path / "home"):
        with refused(says):
            data_of(run, root)
    assert csad.evaluate(run, data_of(run, tmp_path / "new")) == run.result["metrics"]


def test_other_arrays_of_an_npz_file_are_noticed(tmp_path: Path) -> None:
    x, y, b = arrays()
    np.savez(tmp_path / "own.npz", x=x, y=y, b=b)
    run = csad.train(tmp_path / "own.npz", "vanilla", settings=PLAIN, device="cpu")
    assert len(data_of(run).train) == 84
    np.savez(tmp_path / "own.npz", x=x + 1, y=y, b=b)
    with refused("training-rows-changed", data=tmp_path / "own.npz"):
        data_of(run)


def test_a_file_is_called_by_its_name_and_a_data_set_by_its_own() -> None:
    assert [name_of(task) for task in ("/a/b/people.csv", "c/own.npz", "toy-table", "own")] == [
        "people.csv", "own.npz", "toy-table", "own",
    ]  # fmt: skip
