"""FairFace as EB1, EB2 and test: who is where, and what is said where its files are odd."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from csad.data.augment import Pictures
from csad.data.datasets.fairface import fairface
from csad.data.images.decode import Decoder
from csad.data.samples import Classes, Dataset, Samples
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.messages import Refusal, refused
from tests.support.picture_files import as_folder, as_zip, picture
from tests.support.real_data import root_of

BANDS = ("0-2", "3-9", "10-19", "20-29", "40-49", "50-59", "60-69", "more than 70")
HEADER = "file,age,gender,race,service_test"
# Of each combination some under train/ and one under val/, in no order that splits follow.
KINDS = [*product((*BANDS, "30-39"), ("Male", "Female"))]
PEOPLE = [("train" if n % 4 else "val", *KINDS[n * 7 % len(KINDS)]) for n in range(8 * len(KINDS))]
FILES = {f"{part}/{n}.jpg": (age, gender) for n, (part, age, gender) in enumerate(PEOPLE)}


def label_lines() -> list[str]:
    return [HEADER, *(f"{name},{age},{gender},Indian,False" for name, (age, gender) in FILES.items())]


def pictures() -> dict[str, bytes]:
    return {name: picture(n, kind="JPEG") for n, name in enumerate(FILES)}


def written(root: Path, lines: list[str]) -> Path:
    (root / "fairface" / "labels.csv").write_text("\n".join(lines) + "\n")
    return root / "fairface" / "labels.csv"


@pytest.fixture
def root(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with made-up images."""
    monkeypatch.delenv("CSAD_DATA", raising=False)
    (tmp_path / "data" / "fairface").mkdir(parents=True)
    as_zip(tmp_path / "data" / "fairface" / "images.zip", pictures())
    written(tmp_path / "data", label_lines())
    return tmp_path / "data"


def wanted(split: str) -> list[str]:
    """The images of a split, by the words of the protocol."""
    found = []
    for name, (age, gender) in FILES.items():
        young = age in ("0-2", "3-9", "10-19", "20-29")
        part = name.split("/")[0]
        extreme = "EB1" if young == (gender == "Female") else "EB2"
        if age != "30-39" and split == ("test" if part == "val" else extreme):
            found.append(name)
    return found


def is_made_of(samples: Samples, names: list[str]) -> bool:
    files = pictures()
    pixels = np.stack([Decoder(8, (1.0, 1.0))(files[name]) for name in names])
    y = [("Female", "Male").index(FILES[name][1]) for name in names]
    b = [[BANDS.index(FILES[name][0])] for name in names]
    return (samples.x.numpy() == pixels).all() and samples.y.tolist() == y and samples.b.tolist() == b


def cells(samples: Samples) -> list[list[int]]:
    """Rows by gender and band."""
    return torch.bincount(8 * samples.y + samples.b[:, 0], minlength=16).view(2, 8).tolist()


def splits(dataset: Dataset) -> list[str]:
    return sorted(dataset.splits)


@pytest.mark.parametrize(("setting", "other"), [("EB1", "EB2"), ("EB2", "EB1")])
def test_one_extreme_is_trained_on_and_the_other_is_a_split(root: Path, setting: str, other: str) -> None:
    dataset = fairface(setting=setting, size=8, data_root=root)
    assert splits(dataset) == sorted([other, "test", "train"])
    assert is_made_of(dataset.train, wanted(setting))
    assert is_made_of(dataset.splits[other], wanted(other))
    assert is_made_of(dataset.splits["test"], wanted("test"))


def test_in_eb1_women_are_young_and_men_are_old_and_test_has_all(root: Path) -> None:
    dataset = fairface(size=8, data_root=root)
    women, men = cells(dataset.train)
    assert min(women[:4]) > 0 == max(women[4:])
    assert min(men[4:]) > 0 == max(men[:4])
    assert sum(sum(row) for row in cells(dataset.splits["test"])) == len(wanted("test"))


def test_all_trains_on_both_extremes(root: Path) -> None:
    dataset = fairface(setting="all", size=8, data_root=root)
    assert splits(dataset) == ["test", "train"]
    assert is_made_of(dataset.train, wanted("EB1") + wanted("EB2"))


def test_the_settings_share_one_file_of_pixels(root: Path, tmp_path: Path) -> None:
    for setting in ("EB1", "EB2", "all"):
        fairface(setting=setting, size=8, data_root=root)
    assert len(list((tmp_path / "cache" / "images").iterdir())) == 1


def test_the_task_is_gender_with_the_band_of_ages_as_bias(root: Path) -> None:
    dataset = DATASETS["fairface"](size=8, data_root=root)
    task = dataset.task
    assert (task.name, task.shape, task.bias_names) == ("fairface", (3, 8, 8), ("age",))
    assert task.target == Classes(2, ("female", "male"))
    assert task.biases == (Classes(8, BANDS),)
    b = torch.tensor([[0], [1], [2], [0]])
    assert task.related(b).tolist() == [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]
    near = fairface(size=8, related="near_bias", tolerance=(1.0,), data_root=root).task.related
    assert near(b).tolist() == [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]]
    check_trainable(dataset, needs_bias=True)


def test_pictures_are_varied_as_flip_and_shift_say(root: Path) -> None:
    assert fairface(size=8, data_root=root).vary == Pictures(flip=True, shift=0)
    assert fairface(size=8, flip=False, shift=2, data_root=root).vary == Pictures(flip=False, shift=2)


def test_validation_rows_are_held_out_of_the_training_rows(root: Path) -> None:
    whole, held = (fairface(size=8, validation=share, data_root=root) for share in (0.0, 0.25))
    assert splits(held) == ["EB2", "test", "train", "validation"]
    assert len(held.splits["validation"]) == round(len(whole.train) / 4)
    both = np.add(cells(held.train), cells(held.splits["validation"]))
    assert both.tolist() == cells(whole.train)


def parted(root: Path) -> tuple[Path, Path]:
    """The two files in which the labels are distributed, in place of labels.csv."""
    (root / "fairface" / "labels.csv").unlink()
    header, *lines = label_lines()
    paths = []
    for part in ("train", "val"):
        own = [header, *(line for line in lines if line.startswith(part))]
        paths.append(root / "fairface" / f"fairface_label_{part}.csv")
        paths[-1].write_text("\n".join(own) + "\n")
    return paths[0], paths[1]


@pytest.mark.parametrize("setting", ["EB1", "EB2", "all"])
def test_the_two_label_files_that_are_distributed_give_the_same_rows_as_one(root: Path, setting: str) -> None:
    one = fairface(setting=setting, size=8, data_root=root)
    parted(root)
    two = fairface(setting=setting, size=8, data_root=root)
    assert {s: x.fingerprint() for s, x in two.splits.items()} == {s: x.fingerprint() for s, x in one.splits.items()}


def test_of_two_label_files_the_one_that_is_wrong_or_missing_is_told(root: Path) -> None:
    train, val = parted(root)
    lines = val.read_text().splitlines()
    val.write_text("\n".join([lines[0], "train/1.jpg,0-2,Male,Indian,False", *lines[2:]]))
    with refused(
        "file-damaged", file=val, problem=re.compile(r"'train/1\.jpg' as file in line 2, .* an image that no other")
    ):
        fairface(size=8, data_root=root)
    val.write_text("\n".join([lines[0], lines[1].replace("ale,", "ail,"), *lines[2:]]))
    with refused("file-damaged", file=val, problem=re.compile("'[FemMail]+' as gender in line 2")):
        fairface(size=8, data_root=root)
    val.write_text("\n".join([lines[0], *(line for line in lines if "30-39" in line)]))
    with refused("fairface-split-empty", split="test", files=f"{train} and {val}"):
        fairface(size=8, data_root=root)
    val.unlink()
    with refused("dataset-files-missing", files="labels.csv or fairface_label_val.csv is"):
        fairface(size=8, data_root=root)


def test_a_folder_of_images_will_do(root: Path) -> None:
    zipped = fairface(size=8, data_root=root)
    (root / "fairface" / "images.zip").unlink()
    as_folder(root / "fairface" / "images", pictures())
    assert fairface(size=8, data_root=root).train.fingerprint() == zipped.train.fingerprint()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"setting": "EB3"},
            Refusal("misspelled-name", kind="setting of FairFace", name="EB3", nearest="EB2", known="EB1, EB2, all"),
        ),
        ({"validation": -0.1}, Refusal("validation-share-out-of-range", units="training rows")),
        ({"size": 5000}, Refusal("image-size-out-of-range")),
        ({"related": "same_age"}, Refusal("misspelled-name", kind="rule for related samples", name="same_age")),
        ({"related": "near_bias"}, Refusal("near-bias-without-tolerance")),
    ],
)
def test_a_setting_that_is_wrong_is_told(root: Path, settings: dict[str, Any], said: Refusal) -> None:
    with refused(said):
        fairface(**{"size": 8, "data_root": root} | settings)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "train/2.jpg,29,Male,Indian,False",
            r"has '29' as age in line 4, .* one of 0-2, .* more than 70, 30-39$",
        ),
        ("train/2.jpg,0-2,male,Indian,False", r"has 'male' as gender in line 4, .* one of Female, Male$"),
        (
            "test/2.jpg,0-2,Male,Indian,False",
            r"has 'test/2\.jpg' as file in line 4, .* a path under train/ or val/",
        ),
        (
            "train/1.jpg,0-2,Male,Indian,False",
            r"has 'train/1\.jpg' as file in line 4, .* an image that no other ",
        ),
        ("train/2.jpg,0-2", r"has 2 values in line 4"),
    ],
)
def test_a_line_of_labels_that_is_wrong_is_told(root: Path, line: str, said: str) -> None:
    lines = label_lines()
    path = written(root, [*lines[:3], line, *lines[4:]])
    with refused("file-damaged", file=path, problem=re.compile(said)):
        fairface(size=8, data_root=root)


def test_a_column_that_is_missing_is_told_with_the_nearest(root: Path) -> None:
    written(root, [HEADER.replace("gender", "genders"), *label_lines()[1:]])
    with refused("column-not-in-file", column="gender", nearest=" Nearest: genders."):
        fairface(size=8, data_root=root)


@pytest.mark.parametrize("split", ["EB1", "EB2", "test"])
def test_a_split_without_an_image_is_told(root: Path, split: str) -> None:
    gone = set(wanted(split))
    path = written(root, [line for line in label_lines() if line.split(",")[0] not in gone])
    with refused("fairface-split-empty", split=split, files=path):
        fairface(size=8, data_root=root)


def test_labels_of_images_that_are_not_there_are_told(root: Path) -> None:
    as_zip(root / "fairface" / "images.zip", dict(list(pictures().items())[:100]))
    with refused("files-missing", files="images"):
        fairface(size=8, data_root=root)


@pytest.mark.parametrize("file", ["images.zip", "labels.csv"])
def test_a_file_that_is_missing_is_named_with_where_to_get_it(root: Path, file: str) -> None:
    (root / "fairface" / file).unlink()
    with refused("dataset-files-missing"):
        fairface(size=8, data_root=root)


def test_some_real_faces_are_read(tmp_path: Path, cache: Path) -> None:
    real = root_of("FairFace", "fairface", "images.zip") / "fairface"
    (tmp_path / "fairface").mkdir()
    (tmp_path / "fairface" / "images.zip").symlink_to(real / "images.zip")
    header, *lines = (real / "labels.csv").read_text().splitlines()
    some = [line for part in ("train/", "val/") for line in [one for one in lines if one.startswith(part)][:200]]
    written(tmp_path, [header, *some])
    dataset = fairface(size=16, data_root=tmp_path)
    assert sum(map(len, dataset.splits.values())) == sum(",30-39," not in line for line in some)
    assert dataset.train.x.float().std() > 30
    check_trainable(dataset, needs_bias=True)
