"""Pictures of one's own at the command line: trained on and predicted for, from wherever."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from commands import typed
from csv_tables import read_rows, write_rows
from PIL import Image

import csad
from csad.data.tables.own_pictures import from_pictures
from csad.experiments.reading import data_of

N = 60
SHORT = [
    "--method", "vanilla", "--set", "train.target_epochs=4", "--set", "train.epochs=1", "--set", "train.batch_size=16",
    "--set", "data.size=16", "--device", "cpu",
]  # fmt: skip
ROLES = ["--target", "bright", "--bias", "hue", "--image", "file"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with faces.csv, whose pictures lie in faces.zip, and a run on them."""
    place = tmp_path_factory.mktemp("pictures")
    rows = [["file", "bright", "hue"]]
    with pytest.MonkeyPatch.context() as patch, zipfile.ZipFile(place / "faces.zip", "w") as archive:
        for k in range(N):
            color = [40 + 160 * (k % 2)] * 3
            color[0] += 30 * (k // 2 % 2)
            with archive.open(f"f/{k}.png", "w") as stream:
                Image.fromarray(np.full((16, 16, 3), color, np.uint8)).save(stream, "PNG")
            rows.append([f"f/{k}.png", "yes" if k % 2 else "no", "red" if k // 2 % 2 else "grey"])
        archive.close()
        write_rows(place / "faces.csv", rows)
        patch.chdir(place)
        patch.setenv("CSAD_CACHE", str(place / "cache"))
        result = typed(
            "train", "faces.csv", *ROLES, "--images", "faces.zip", *SHORT, "--out", "run", "--json", "--quiet"
        )
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["data"]["inputs"] == "pictures of 16 × 16 pixels"
    return place


@pytest.fixture
def elsewhere(home: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_list_of_pictures_is_predicted_for_from_another_folder(home: Path, elsewhere: Path) -> None:
    write_rows(elsewhere / "list.csv", [["file"], ["f/1.png"], ["f/2.png"], ["f/1.png"]])
    result = typed("predict", str(home / "run"), "list.csv", "--id", "file", "--device", "cpu")
    assert result.exit_code == 0, result.stderr
    rows = read_rows(elsewhere / "predictions.csv")
    assert [row["file"] for row in rows] == ["f/1.png", "f/2.png", "f/1.png"]
    assert rows[0] == rows[2] != rows[1]
    assert [row["prediction"] for row in rows] == ["yes", "no", "yes"]  # bright ones were yes


def test_rows_without_a_picture_have_no_prediction(home: Path, elsewhere: Path) -> None:
    write_rows(elsewhere / "list.csv", [["file", "x"], ["f/1.png", "1"], ["", "2"]])
    result = typed("predict", str(home / "run"), "list.csv", "--json", "--quiet")
    assert json.loads(result.stdout)["notices"] == ["1 row has no picture, so nothing is predicted there."]
    assert list(read_rows(elsewhere / "predictions.csv")[1].values()) == ["2", "", "", ""]


def test_pictures_may_lie_in_another_place_than_in_training(home: Path, elsewhere: Path) -> None:
    Image.new("RGB", (20, 10), (230, 230, 230)).save(elsewhere / "new.jpg")
    write_rows(elsewhere / "list.csv", [["file"], ["new.jpg"]])
    assert typed("predict", str(home / "run"), "list.csv", "--images", ".", "--quiet").exit_code == 0
    assert read_rows(elsewhere / "predictions.csv")[0]["prediction"] == "yes"


def test_pictures_that_were_moved_are_found_in_the_data_root(home: Path, elsewhere: Path) -> None:
    shutil.copytree(home / "run", elsewhere / "run")
    shutil.copy(home / "faces.zip", elsewhere / "faces.zip")
    config = elsewhere / "run" / "config.toml"
    config.write_text(config.read_text().replace(str(home / "faces.zip"), "/gone/faces.zip"))
    write_rows(elsewhere / "list.csv", [["file"], ["f/1.png"]])
    result = typed("predict", "run", "list.csv")
    assert "/gone/faces.zip, which this run was trained on, is not there: give --data-root FOLDER" in result.stderr
    assert typed("predict", "run", "list.csv", "--data-root", ".", "--quiet").exit_code == 0
    assert read_rows(elsewhere / "predictions.csv")[0]["prediction"] == "yes"


def test_the_place_of_pictures_that_were_given_from_python_has_to_be_said(home: Path, elsewhere: Path) -> None:
    data = from_pictures(
        home / "faces.csv", target="bright", bias="hue", image="file", images=home / "faces.zip", size=16
    )
    csad.train(data, "vanilla", target_epochs=1, epochs=1, out="run", device="cpu")
    write_rows(elsewhere / "list.csv", [["file"], ["f/1.png"]])
    result = typed("predict", "run", "list.csv")
    assert result.exit_code == 2
    assert "trained on pictures given from Python: say where those lie with --images" in result.stderr
    assert typed("predict", "run", "list.csv", "--images", str(home / "faces.zip"), "--quiet").exit_code == 0


def test_the_run_is_evaluated_from_another_folder(home: Path, elsewhere: Path) -> None:
    run = csad.load(home / "run", device="cpu")
    assert run.config["data"]["images"] == str(home / "faces.zip")
    assert csad.evaluate(run, data_of(run)) == run.result["metrics"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../f/1.png", "Image '../f/1.png' lies outside its folder or archive"),
        ("f/1000.png", "lacks 1 of the 1 images that are listed, the first is 'f/1000.png'"),
        ("", "names no picture in any row."),
    ],
)
def test_pictures_that_cannot_be_read_are_one_sentence(home: Path, elsewhere: Path, name: str, says: str) -> None:
    write_rows(elsewhere / "list.csv", [["file", "x"], [name, "1"]])
    result = typed("predict", str(home / "run"), "list.csv")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr
    assert not (elsewhere / "predictions.csv").exists()


def test_a_column_of_pictures_that_is_not_there_is_named_by_its_nearest(home: Path, elsewhere: Path) -> None:
    write_rows(elsewhere / "list.csv", [["files", "x"], ["f/1.png", "1"]])
    result = typed("predict", str(home / "run"), "list.csv")
    assert result.stderr == "csad: Column 'file' is not in list.csv. Nearest: files.\n"
