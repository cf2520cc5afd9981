"""IMDB with the lists that Kim et al. released: what is trained and tested on, and what is told of other files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.datasets.imdb import imdb
from tests.support.face_files import NAN
from tests.support.imdb_files import AGED, numbers, pictures
from tests.support.messages import Refusal, refused
from tests.support.picture_files import as_tar


@pytest.fixture
def root(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root without anything in it."""
    monkeypatch.delenv("CSAD_DATA", raising=False)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def write_lists(folder: Path, labels: Any, parts: Any) -> None:
    folder.mkdir()
    for name, value in (("imdb_age_gender.npy", labels), ("imdb_split.npy", parts)):
        np.save(folder / name, np.array(value, dtype=object), allow_pickle=True)


def listed() -> tuple[dict[bytes, dict[str, Any]], dict[str, Any]]:
    """Labels and lists as Kim et al. wrote them: paths as bytes and as words."""
    paths = [f"{row % 100:02}/{row}.jpg" for row in range(160)]
    ages = [AGED[row // 2 % len(AGED)] for row in range(160)]
    labels = {path.encode(): {"age": np.int64(ages[row]), "gender": row % 2} for row, path in enumerate(paths)}
    return labels, {"train_list": paths[40:], "test_list": np.array(paths[:32])}


def test_the_released_lists_say_what_is_trained_and_tested_on(root: Path) -> None:
    write_lists(root / "imdb", *listed())
    as_tar(root / "imdb" / "imdb_crop.tar", pictures("imdb_crop/"))
    dataset = imdb(size=2, lists=True, data_root=root)
    assert numbers(dataset, "test") == [*range(32)]
    wanted = {"train": lambda male, age: age >= 40 if male else age < 30}
    wanted["EB2"] = lambda male, age: age < 30 if male else age >= 40
    for split, rule in wanted.items():
        assert numbers(dataset, split) == [row for row in range(40, 160) if rule(row % 2, AGED[row // 2 % len(AGED)])]
    for split, samples in dataset.splits.items():
        assert samples.y.tolist() == [row % 2 for row in numbers(dataset, split)]
        assert samples.extra["age"].tolist() == [AGED[row // 2 % len(AGED)] for row in numbers(dataset, split)]


@pytest.mark.parametrize(
    ("labels", "parts", "complaint"),
    [
        ([1], {}, Refusal("file-damaged", problem="does not hold a dict")),
        ({}, [1], Refusal("file-damaged", problem="does not hold a dict")),
        ({}, {"train_list": []}, Refusal("file-damaged", problem="has no list called test_list")),
        (
            {},
            {"train_list": ["a"], "test_list": []},
            Refusal("file-damaged", problem=re.compile("age and gender of every photo in")),
        ),
        (
            {"a": {"age": 3}},
            {"train_list": ["a"], "test_list": []},
            Refusal("file-damaged", problem=re.compile("age and gender of every photo in")),
        ),
        (
            {"a": {"age": NAN, "gender": 1}},
            {"train_list": ["a"], "test_list": []},
            Refusal("file-damaged", problem=re.compile("age and gender of every photo in")),
        ),
        (
            {"a": {"age": 3, "gender": 2}},
            {"train_list": ["a"], "test_list": []},
            Refusal("file-damaged", problem=re.compile("a gender that is neither 0 nor 1")),
        ),
        (
            {"a": {"age": 3, "gender": 1}},
            {"train_list": ["a"], "test_list": ["a"]},
            Refusal("file-damaged", problem="lists a photo twice"),
        ),
        ({}, {"train_list": [], "test_list": []}, Refusal("photo-split-empty", splits=re.compile("^'train'"))),
    ],
)
def test_lists_of_another_layout_are_told(root: Path, labels: Any, parts: Any, complaint: Refusal) -> None:
    write_lists(root / "imdb", labels, parts)
    as_tar(root / "imdb" / "imdb_crop.tar", pictures("imdb_crop/"))
    with refused(complaint):
        imdb(size=2, lists=True, data_root=root)


def test_missing_lists_are_told(root: Path) -> None:
    with refused(
        "dataset-files-missing",
        files=re.compile(r"imdb_age_gender\.npy, imdb_split\.npy"),
        advice=re.compile("feidfoe/learning-not-to-learn"),
    ):
        imdb(lists=True, data_root=root)
