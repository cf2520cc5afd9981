"""Pictures that a table names: labels of the table, pixels of a folder or an archive, and what is told of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from csv_tables import write_table
from picture_files import KINDS, broken_pictures, picture, pictures, stored

from csad.data.images import read_images
from csad.data.samples import Classes, Number
from csad.data.tables.own_pictures import from_pictures, pictures_from_settings
from csad.data.tables.owned import OwnTable
from csad.data.tables.pictures import PicturePreparation
from csad.data.tables.preparation import Preparation, Unit
from csad.data.tables.preparations import preparation_from
from csad.data.vary import Pictures
from csad.errors import InputError

N = 40
FILES = pictures(N)
COLUMNS: dict[str, list[Any]] = {
    "file": list(FILES),
    "smiles": ["yes" if k % 2 else "no" for k in range(N)],
    "gender": ["f" if k // 2 % 2 else "m" for k in range(N)],
    "age": [20 + k for k in range(N)],
    "who": [f"p{k // 2}" for k in range(N)],
}
Make = Callable[..., OwnTable]

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    source = stored("folder", tmp_path, FILES)

    def made(columns: dict[str, list[Any]] | None = None, **settings: Any) -> OwnTable:
        usual = {"target": "smiles", "bias": "gender", "image": "file", "images": source, "size": 8}
        return from_pictures(write_table(tmp_path, COLUMNS | (columns or {})), **(usual | settings))

    return made


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_has_its_picture_and_its_labels(kind: str, tmp_path: Path, make: Make) -> None:
    source = stored(kind, tmp_path, FILES)
    data = make(images=source)
    assert data.task.shape == (3, 8, 8)
    assert data.task.target == Classes(2, ("no", "yes"))
    assert {name: len(rows) for name, rows in data.splits.items()} == {"train": 28, "validation": 4, "test": 8}
    pixels = read_images(source, COLUMNS["file"], size=8).pixels
    for rows in data.splits.values():
        numbers = rows.extra["row"].numpy()
        assert torch.equal(rows.x, torch.from_numpy(pixels[numbers]))
        assert rows.y.tolist() == [numbers[k] % 2 for k in range(len(rows))]
    assert data.notices == ()


def test_the_lines_for_people_name_the_pictures(make: Make) -> None:
    assert make(group="who").describe() == [
        "file    40 different words  input: pictures of 8 × 8 pixels",
        "smiles  yes or no           target: 2 classes (no, yes)",
        "gender  2 different words   bias: 2 classes (f, m)",
        "age     numbers             not used: x is the pictures",
        "who     20 different words  group: all its rows are in one split",
        "Rows: train 28, validation 4, test 8. Inputs: pictures of 8 × 8 pixels.",
    ]


def test_pictures_lie_beside_the_table_where_no_place_is_named(tmp_path: Path, make: Make) -> None:
    files = [f"pictures/{name}" for name in FILES]
    assert torch.equal(make({"file": files}, images="").train.x, make().train.x)


def test_rows_without_a_picture_are_left_out_and_counted(make: Make) -> None:
    data = make({"file": [None if k < 3 else name for k, name in enumerate(FILES)]})
    rows = np.concatenate([part.extra["row"].numpy() for part in data.splits.values()])
    assert sorted(rows.tolist()) == list(range(3, N))
    assert data.notices == ("Column 'file' names no picture in 3 rows: they are left out.",)


def test_broken_pictures_are_named_and_left_out(tmp_path: Path) -> None:
    files = pictures(150) | {"faces/0007.png": broken_pictures()["cut.png"]}
    columns = {"file": list(files), "y": [k % 2 for k in range(150)], "b": [k // 2 % 2 for k in range(150)]}
    data = from_pictures(
        write_table(tmp_path, columns),
        target="y",
        bias="b",
        image="file",
        images=stored("zip", tmp_path, files),
        size=8,
    )
    assert sum(map(len, data.splits.values())) == 149
    assert data.notices == ("One picture is broken and left out: faces/0007.png.",)


def test_training_varies_pictures_only_where_that_is_asked_for(make: Make) -> None:
    assert make().vary is None
    assert make(flip=True, shift=2).vary == Pictures(True, 2)


def test_biases_and_targets_may_be_numbers(make: Make) -> None:
    data = make(target="age", bias=("gender", "smiles"), target_kind="number")
    assert data.task.target == Number()
    assert isinstance(data.preparation, PicturePreparation)
    ages = data.preparation.target.restored(data.train.y.numpy())
    np.testing.assert_allclose(ages, 20 + data.train.extra["row"].numpy(), atol=1e-4)
    widths = make(bias="age", widths={"age": 5})
    assert widths.task.related.rule == "near_bias"


def test_plain_settings_give_the_same_as_python_values(tmp_path: Path, make: Make) -> None:
    one = make(bias="age", bins={"age": (30, 50)}, crop=0.5)
    again = pictures_from_settings(
        tmp_path / "people.csv", target="smiles", bias=("age",), image="file", images=str(tmp_path / "pictures"),
        size=8, bins=("age=30,50",), crop=(0.5,),
    )  # fmt: skip
    assert again.task == one.task
    assert again.fingerprint() == one.fingerprint()


def test_both_kinds_of_preparation_come_back_from_json() -> None:
    for one in (PicturePreparation("file", 8, (0.5, 1.0), Unit(3.0, 2.0)), Preparation((), Unit(1.0, 2.0))):
        assert preparation_from(json.loads(json.dumps(one.to_dict()))) == one
    with pytest.raises(InputError, match=r"The preparation of the pictures is not whole \('column'\)"):
        preparation_from({"version": 1, "pictures": {}})
    with pytest.raises(InputError, match="its version is 9, not 1"):
        preparation_from({"version": 9, "pictures": {}})
    with pytest.raises(InputError, match="The preparation of the table is not whole"):
        preparation_from([])


@pytest.mark.parametrize(
    ("columns", "settings", "complaint"),
    [
        ({"file": ["../secret.png", *list(FILES)[1:]]}, {}, r"Image '\.\./secret\.png' lies outside its folder"),
        ({"file": ["/etc/a.png", *list(FILES)[1:]]}, {}, r"Image '/etc/a\.png' lies outside its folder"),
        ({"file": ["no.png", *list(FILES)[1:]]}, {}, "lacks 1 of the 40 images that are listed, the first is 'no.png'"),
        ({"file": [None] * N}, {}, "Column 'file' of .* names no picture in any row"),
        ({}, {"image": ""}, "Pictures need the column of a table that names them: give --image COLUMN"),
        ({}, {"image": "fil"}, r"Column 'fil' is not in .*people\.csv\. Nearest: file\."),
        ({}, {"image": "gender"}, "Column 'gender' names the pictures, so it is not the target, a bias"),
        ({}, {"images": "nowhere"}, "The pictures nowhere are not there: give --images FOLDER"),
        ({}, {"size": 0}, "size must be a whole number of pixels"),
        ({}, {"crop": 2.0}, "crop must be a share of width and height"),
        ({}, {"shift": -1}, "shift must be 0 pixels or more"),
        ({}, {"bias": "gendr"}, r"Column 'gendr' is not in .*\. Nearest: gender\."),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(
    make: Make, columns: dict[str, list[Any]], settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as error:
        make(columns, **settings)
    assert "\n" not in str(error.value)


def test_many_broken_pictures_are_an_error_that_names_the_first(tmp_path: Path, make: Make) -> None:
    (tmp_path / "pictures" / "faces" / "0003.png").write_bytes(picture()[:40])
    with pytest.raises(InputError, match=r"1 of 40 images in .* broken and cannot be decoded \(faces/0003\.png\)"):
        make()
