"""Pictures of one's own at the command line: trained on and predicted for, from wherever."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import csad
from csad.data.own.from_files import from_pictures
from csad.messages import message
from csad.runs.run import data_of
from tests.support.commands import typed
from tests.support.csv_tables import read_rows, write_rows
from tests.support.messages import Refusal, says

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
    assert json.loads(result.stdout)["notices"] == [message("rows-without-prediction", rows=1, files="picture")]
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
    assert says(result.stderr, "training-file-not-found", file="/gone/faces.zip", name="faces.zip")
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
    assert says(result.stderr, "training-files-not-located", files="pictures", option="--images")
    assert typed("predict", "run", "list.csv", "--images", str(home / "faces.zip"), "--quiet").exit_code == 0


def test_the_run_is_evaluated_from_another_folder(home: Path, elsewhere: Path) -> None:
    run = csad.load(home / "run", device="cpu")
    assert run.config["data"]["images"] == str(home / "faces.zip")
    assert csad.evaluate(run, data_of(run)) == run.result["metrics"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../f/1.png", Refusal("path-leaves-folder", files="Image", name="../f/1.png")),
        ("f/1000.png", Refusal("files-missing", missing=1, total=1, files="images", name="f/1000.png")),
        ("", Refusal("no-files-named", column="file", files="picture")),
    ],
)
def test_pictures_that_cannot_be_read_are_one_sentence(
    home: Path, elsewhere: Path, name: str, expected: Refusal
) -> None:
    write_rows(elsewhere / "list.csv", [["file", "x"], [name, "1"]])
    result = typed("predict", str(home / "run"), "list.csv")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert expected.is_in(result.stderr), result.stderr
    assert not (elsewhere / "predictions.csv").exists()


def test_a_column_of_pictures_that_is_not_there_is_named_by_its_nearest(home: Path, elsewhere: Path) -> None:
    write_rows(elsewhere / "list.csv", [["files", "x"], ["f/1.png", "1"]])
    result = typed("predict", str(home / "run"), "list.csv")
    assert says(result.stderr, "unknown-column", column="file", file="list.csv", advice="Nearest: files.")
    assert len(result.stderr.splitlines()) == 1
