"""Pictures that a table names: labels of the table, pixels of a folder or an archive, and what is told of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from csad.data.augment import Pictures
from csad.data.images.read import read_images
from csad.data.own.dataset import TableDataset
from csad.data.own.from_files import from_pictures
from csad.data.own.linked_files import PicturePreprocessor
from csad.data.own.load_preprocessor import load_preprocessor
from csad.data.own.preprocessor import Preprocessor, Unit
from csad.data.samples import Classes, Number
from csad.messages import message
from tests.support.csv_tables import write_table
from tests.support.messages import Refusal, refused
from tests.support.picture_files import KINDS, broken_pictures, picture, pictures, stored

N = 40
FILES = pictures(N)
COLUMNS: dict[str, list[Any]] = {
    "file": list(FILES),
    "smiles": ["yes" if k % 2 else "no" for k in range(N)],
    "gender": ["f" if k // 2 % 2 else "m" for k in range(N)],
    "age": [20 + k for k in range(N)],
    "who": [f"p{k // 2}" for k in range(N)],
}
Make = Callable[..., TableDataset]

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    source = stored("folder", tmp_path, FILES)

    def made(columns: dict[str, list[Any]] | None = None, **settings: Any) -> TableDataset:
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
        "age     numbers             not used, because x contains only the pictures",
        "who     20 different words  group: all rows of a group are in one split",
        "Rows: train 28, validation 4, test 8. Inputs: pictures of 8 × 8 pixels.",
    ]


def test_pictures_lie_beside_the_table_where_no_place_is_named(tmp_path: Path, make: Make) -> None:
    files = [f"pictures/{name}" for name in FILES]
    assert torch.equal(make({"file": files}, images="").train.x, make().train.x)


def test_rows_without_a_picture_are_left_out_and_counted(make: Make) -> None:
    data = make({"file": [None if k < 3 else name for k, name in enumerate(FILES)]})
    rows = np.concatenate([part.extra["row"].numpy() for part in data.splits.values()])
    assert sorted(rows.tolist()) == list(range(3, N))
    assert data.notices == (message("rows-without-file", column="file", files="picture", rows=3),)


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
    told = message("broken-files-left-out", files="One picture is", names="faces/0007.png", reason="")
    assert data.notices == (told,)


def test_training_varies_pictures_only_where_that_is_asked_for(make: Make) -> None:
    assert make().vary is None
    assert make(flip=True, shift=2).vary == Pictures(True, 2)


def test_biases_and_targets_may_be_numbers(make: Make) -> None:
    data = make(target="age", bias=("gender", "smiles"), target_kind="number")
    assert data.task.target == Number()
    assert isinstance(data.preparation, PicturePreprocessor)
    ages = data.preparation.target.restored(data.train.y.numpy())
    np.testing.assert_allclose(ages, 20 + data.train.extra["row"].numpy(), atol=1e-4)
    widths = make(bias="age", widths={"age": 5})
    assert widths.task.related.rule == "near_bias"


def test_plain_settings_give_the_same_as_python_values(tmp_path: Path, make: Make) -> None:
    one = make(bias="age", bins={"age": (30, 50)}, crop=0.5)
    again = from_pictures(
        tmp_path / "people.csv", target="smiles", bias=("age",), image="file", images=str(tmp_path / "pictures"),
        size=8, bins=("age=30,50",), crop=(0.5,),
    )  # fmt: skip
    assert again.task == one.task
    assert again.fingerprint() == one.fingerprint()


def test_both_kinds_of_preparation_come_back_from_json() -> None:
    for one in (PicturePreprocessor("file", 8, (0.5, 1.0), Unit(3.0, 2.0)), Preprocessor((), Unit(1.0, 2.0))):
        assert load_preprocessor(json.loads(json.dumps(one.to_dict()))) == one
    with refused("preparation-damaged", inputs="pictures", reason="'column'"):
        load_preprocessor({"version": 1, "pictures": {}})
    with refused("preparation-damaged", reason="its version is 9, not 1"):
        load_preprocessor({"version": 9, "pictures": {}})
    with refused("preparation-damaged", inputs="table"):
        load_preprocessor([])


@pytest.mark.parametrize(
    ("columns", "settings", "complaint"),
    [
        (
            {"file": ["../secret.png", *list(FILES)[1:]]},
            {},
            Refusal("path-leaves-folder", files="Image", name="../secret.png"),
        ),
        (
            {"file": ["/etc/a.png", *list(FILES)[1:]]},
            {},
            Refusal("path-leaves-folder", files="Image", name="/etc/a.png"),
        ),
        (
            {"file": ["no.png", *list(FILES)[1:]]},
            {},
            Refusal("files-missing", missing=1, total=40, files="images", name="no.png"),
        ),
        ({"file": [None] * N}, {}, Refusal("no-files-named", column="file", files="picture")),
        ({}, {"image": ""}, Refusal("file-column-missing", files="Pictures", option="--image")),
        ({}, {"image": "fil"}, Refusal("unknown-column", column="fil", advice="Nearest: file.")),
        ({}, {"image": "gender"}, Refusal("file-column-role-conflict", column="gender", files="pictures")),
        ({}, {"images": "nowhere"}, Refusal("pictures-not-found", place="nowhere")),
        ({}, {"size": 0}, Refusal("image-size-out-of-range")),
        ({}, {"crop": 2.0}, Refusal("crop-out-of-range")),
        ({}, {"shift": -1}, Refusal("negative-shift")),
        ({}, {"bias": "gendr"}, Refusal("unknown-column", column="gendr", advice="Nearest: gender.")),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(
    make: Make, columns: dict[str, list[Any]], settings: dict[str, Any], complaint: Refusal
) -> None:
    with refused(complaint) as error:
        make(columns, **settings)
    assert "\n" not in str(error.value)


def test_many_broken_pictures_are_an_error_that_names_the_first(tmp_path: Path, make: Make) -> None:
    (tmp_path / "pictures" / "faces" / "0003.png").write_bytes(picture()[:40])
    with refused("too-many-broken-images"):
        make()
