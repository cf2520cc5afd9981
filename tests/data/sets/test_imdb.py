from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from face_files import NAN, record, saved

import csad
from csad.data.check import check_trainable
from csad.data.images import ImageWarning
from csad.data.samples import Classes, Dataset
from csad.data.sets.face_metadata import clean, read_faces
from csad.data.sets.imdb import AGES, PhotoWarning, _held, age_bins, divide, imdb, wiki
from csad.errors import InputError
from csad.registry import DATASETS

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pictures cannot be made")

AGED = (5, 24, 29, 30, 39, 40, 64, 100)  # each age, of a woman and a man, ten times: 160 photos
BORN = {age: (2000 - age, 3, 1) for age in AGED}
ROWS = [{"born": BORN[age], "gender": float(male)} for age in AGED for male in (0, 1)] * 10
DROPPED = [{"gender": NAN}, {"second": 1.5}, {"score": 0.5}, {"born": (1890, 1, 1)}]


def picture(row: int) -> bytes:
    """A picture in one colour that tells the row."""
    stream = io.BytesIO()
    Image.new("RGB", (5, 4), (row, 255 - row, 7)).save(stream, "PNG")
    return stream.getvalue()


def pictures(prefix: str = "wiki_crop/", rows: int = len(ROWS) + len(DROPPED)) -> dict[str, bytes]:
    return {f"{prefix}{row % 100:02}/{row}.jpg": picture(row) for row in range(rows)}


def write_zip(place: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(place.with_suffix(".zip"), "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def write_tar(place: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(place.with_suffix(".tar"), "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def write_folder(place: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with the metadata of a little WIKI, and no pictures yet."""
    monkeypatch.setenv("CSAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CSAD_DATA", raising=False)
    (tmp_path / "data" / "wiki").mkdir(parents=True)
    saved(tmp_path / "data" / "wiki" / "wiki.mat", record(*ROWS, *DROPPED))
    return tmp_path / "data"


@pytest.fixture
def little(root: Path) -> Path:
    """The same with pictures."""
    write_zip(root / "wiki" / "wiki_crop", pictures())
    return root


def numbers(dataset: Dataset, split: str) -> list[int]:
    """The rows that a split's pictures show."""
    x = dataset.splits[split].x
    assert bool((x == x[:, :, :1, :1]).all())
    assert bool((x[:, 0, 0, 0] == 255 - x[:, 1, 0, 0]).all())
    found: list[int] = x[:, 0, 0, 0].tolist()
    return found


@pytest.mark.parametrize("write", [write_zip, write_tar, write_folder])
@pytest.mark.parametrize("prefix", ["wiki_crop/", ""])
def test_pictures_come_with_their_labels_from_wherever_they_lie(
    root: Path, write: Callable[[Path, dict[str, bytes]], None], prefix: str
) -> None:
    write(root / "wiki" / "wiki_crop", pictures(prefix))
    dataset = wiki(size=2, data_root=root)
    assert {split: len(samples) for split, samples in dataset.splits.items()} == {"train": 48, "EB2": 48, "test": 24}
    for split, samples in dataset.splits.items():
        assert samples.x.shape[1:] == (3, 2, 2)
        assert samples.x.dtype == torch.uint8
        rows = numbers(dataset, split)
        assert samples.y.tolist() == [row % 2 for row in rows]
        assert samples.extra["age"].tolist() == [AGED[row // 2 % len(AGED)] for row in rows]
        assert samples.b[:, 0].tolist() == age_bins(samples.extra["age"].numpy()).tolist()


def test_the_metadata_may_lie_among_the_unpacked_pictures_and_all_beside_the_folder(root: Path) -> None:
    write_folder(root / "wiki_crop", pictures(""))
    (root / "wiki" / "wiki.mat").rename(root / "wiki_crop" / "wiki.mat")
    assert len(wiki(size=2, data_root=root).train) == 48


def test_no_photo_is_in_two_splits_and_none_in_between_or_unclean_in_any(little: Path) -> None:
    dataset = wiki(size=2, validation=0.2, seed=2, data_root=little)
    rows = [row for split in dataset.splits for row in numbers(dataset, split)]
    assert sorted(rows) == [row for row in range(160) if not 30 <= AGED[row // 2 % len(AGED)] <= 39]


def test_validation_photos_may_be_those_of_the_opposite_set(little: Path) -> None:
    plain, other = (
        wiki(size=2, data_root=little),
        wiki(size=2, validation=0.25, validation_of="opposite", data_root=little),
    )
    assert numbers(other, "train") == numbers(plain, "train")
    assert numbers(other, "test") == numbers(plain, "test")
    assert len(other.splits["validation"]) == 12
    assert sorted(numbers(other, "validation") + numbers(other, "EB2")) == numbers(plain, "EB2")
    with pytest.raises(InputError, match="No part to validate on is called 'both'"):
        wiki(size=2, validation_of="both", data_root=little)


def test_the_task_is_gender_with_age_as_bias(little: Path) -> None:
    dataset = DATASETS["wiki"](size=2, data_root=little)
    task = dataset.task
    assert (task.name, task.shape, task.bias_names) == ("wiki", (3, 2, 2), ("age",))
    assert task.target == Classes(2, ("female", "male"))
    assert task.biases == (Classes(12, AGES),)
    b = torch.tensor([[0], [1], [2], [1]])
    assert task.related(b).tolist() == [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1]]
    near = wiki(size=2, related="near_bias", tolerance=(1.0,), data_root=little).task.related
    assert near(b).tolist() == [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]]
    check_trainable(dataset, needs_bias=True)


def test_both_settings_share_one_cache_of_decoded_pictures(little: Path, tmp_path: Path) -> None:
    one, other = (wiki(setting=setting, size=2, data_root=little) for setting in ("EB1", "EB2"))
    assert len([*(tmp_path / "cache" / "images").iterdir()]) == 1
    assert numbers(one, "train") == numbers(other, "EB1")
    assert numbers(one, "EB2") == numbers(other, "train")
    assert numbers(one, "test") == numbers(other, "test")


def test_imdb_is_read_alike_under_its_own_name(little: Path) -> None:
    (little / "imdb").mkdir()
    saved(little / "imdb" / "imdb.mat", record(*ROWS, *DROPPED), "imdb")
    write_tar(little / "imdb" / "imdb_crop", pictures("imdb_crop/"))
    own, sister = imdb(size=2, data_root=little), wiki(size=2, data_root=little)
    assert own.task.name == "imdb"
    for split, samples in own.splits.items():
        assert samples.fingerprint() == sister.splits[split].fingerprint()


def test_photos_that_are_not_among_the_pictures_are_left_out_and_counted(root: Path) -> None:
    files = pictures()
    lost = [row for row in range(160) if row % 16 in (0, 11)]  # women of 5, men of 40
    write_zip(
        root / "wiki" / "wiki_crop", {name: data for n, (name, data) in enumerate(files.items()) if n not in lost}
    )
    with pytest.warns(
        PhotoWarning, match=r"20 of the 120 photos that are wanted are not in .*wiki_crop\.zip: left out"
    ):
        few = wiki(size=2, data_root=root)
    write_zip(root / "wiki" / "wiki_crop", files)
    whole = wiki(size=2, data_root=root)
    for split in whole.splits:
        assert numbers(few, split) == [row for row in numbers(whole, split) if row not in lost]


def test_pictures_of_something_else_are_an_error(root: Path) -> None:
    write_zip(root / "wiki" / "wiki_crop", {"imdb_crop/00/0.jpg": picture(0)})
    with pytest.raises(InputError, match=r"wiki_crop\.zip holds none of the 120 photos that are wanted: download it"):
        wiki(size=2, data_root=root)


def test_a_split_without_pictures_is_an_error(root: Path) -> None:
    some = {name: data for row, (name, data) in enumerate(pictures().items()) if row % 16 in (0, 11)}
    write_zip(root / "wiki" / "wiki_crop", some)
    with pytest.warns(PhotoWarning), pytest.raises(InputError, match="No photo is left for the split 'EB2'"):
        wiki(size=2, data_root=root)


def test_a_broken_picture_is_left_out(root: Path) -> None:
    write_zip(root / "wiki" / "wiki_crop", pictures() | {"wiki_crop/00/0.jpg": b"no picture"})
    with pytest.warns(ImageWarning, match="1 of"):
        dataset = wiki(size=2, data_root=root)
    rows = [row for split in dataset.splits for row in numbers(dataset, split)]
    assert len(rows) == 119
    assert 0 not in rows
    assert all(samples.y.tolist() == [row % 2 for row in numbers(dataset, s)] for s, samples in dataset.splits.items())


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"setting": "EB3"}, r"No setting is called 'EB3'\. Nearest: EB[12]\. Known: EB1, EB2\."),
        ({"validation": 1.0}, "validation must be a share of the training photos, from 0 and below 1, not 1.0"),
        ({"validation": -0.1}, "validation must be a share"),
        ({"related": "same_age"}, "No rule for related samples is called 'same_age'"),
        ({"related": "near_bias"}, "near_bias needs a tolerance"),
        ({"size": 0}, "size must be a whole number of pixels, from 1 to"),
        ({"size": 2.5}, r"size must be a whole number of pixels, .*, not 2\.5"),
        ({"least_score": 3.5}, r"None of the 164 photos in .*wiki\.mat is clean \(least_score=3\.5, oldest=100\): ask"),
        ({"least_score": NAN}, "None of the 164 photos"),
        ({"oldest": 4}, "None of the 164 photos"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"lists": True}, "lists are there for imdb only, not for wiki: leave lists out"),
    ],
)
def test_wrong_settings_are_told(little: Path, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        wiki(**({"size": 2} | settings), data_root=little)


@pytest.mark.parametrize("name", ["imdb", "wiki"])
def test_what_is_missing_is_told_with_where_to_get_it_and_where_to_put_it(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "wiki" / "wiki.mat").unlink()
    with pytest.raises(InputError) as told:
        DATASETS[name](data_root=root)
    for words in (
        f"{name}.mat", f"{name}_crop.tar or {name}_crop.zip or {name}_crop", f"not in {root / name}",
        "https://data.vision.ee.ethz.ch/cvl/rrothe/imdb-wiki", f"FOLDER/{name}", "--data-root", "CSAD_DATA",
    ):  # fmt: skip
        assert words in str(told.value)
    monkeypatch.setenv("CSAD_DATA", str(root))
    with pytest.raises(InputError, match=rf"{name}\.mat"):
        DATASETS[name]()


def write_lists(folder: Path, labels: Any, parts: Any) -> None:
    folder.mkdir(exist_ok=True)
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
    write_tar(root / "imdb" / "imdb_crop", pictures("imdb_crop/"))
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
        ([1], {}, r"imdb_age_gender\.npy does not hold a dict"),
        ({}, [1], r"imdb_split\.npy does not hold a dict"),
        ({}, {"train_list": []}, r"imdb_split\.npy has no list called test_list"),
        ({}, {"train_list": ["a"], "test_list": []}, "does not tell the age and gender of every photo in"),
        ({"a": {"age": 3}}, {"train_list": ["a"], "test_list": []}, "does not tell the age and gender"),
        ({"a": {"age": NAN, "gender": 1}}, {"train_list": ["a"], "test_list": []}, "does not tell the age and gender"),
        ({"a": {"age": 3, "gender": 2}}, {"train_list": ["a"], "test_list": []}, "a gender that is neither 0 nor 1"),
        ({"a": {"age": 3, "gender": 1}}, {"train_list": ["a"], "test_list": ["a"]}, "lists a photo twice"),
        ({}, {"train_list": [], "test_list": []}, "No photo is left for the split 'train'"),
    ],
)
def test_lists_of_another_layout_are_told(root: Path, labels: Any, parts: Any, complaint: str) -> None:
    write_lists(root / "imdb", labels, parts)
    write_tar(root / "imdb" / "imdb_crop", pictures("imdb_crop/"))
    with pytest.raises(InputError, match=complaint):
        imdb(size=2, lists=True, data_root=root)


def test_missing_lists_are_told(root: Path) -> None:
    with pytest.raises(InputError, match=r"imdb_age_gender\.npy, imdb_split\.npy, .*feidfoe/learning-not-to-learn"):
        imdb(lists=True, data_root=root)


def test_a_net_learns_from_faces(little: Path) -> None:
    short = {"train.target_epochs": 1, "train.batch_size": 16, "data.size": 16, "data.setting": "EB2"}
    run = csad.train("wiki", method="vanilla", settings=short, data_root=little, device="cpu")
    assert run.result["settings"]["data"]["setting"] == "EB2"
    assert set(run.result["metrics"]) == {"train", "EB1", "test"}


def test_the_real_wiki_is_divided_as_the_paper_says(wiki_root: Path) -> None:
    listed = read_faces(wiki_root / "wiki" / "wiki.mat", "wiki")
    photos = clean(listed, least_score=1.0, second_face=False, oldest=100)
    parts = divide(photos, setting="EB1")
    counts = {
        part: [
            int(((photos.male == male) & ((photos.age >= 40) == old))[rows].sum()) for male in (0, 1) for old in (0, 1)
        ]
        for part, rows in parts.items()
    }  # women young, women old, men young, men old
    assert counts == {"train": [3664, 0, 0, 9360], "EB2": [0, 2238, 8753, 0], "test": [916, 559, 2188, 2341]}
    assert [sum(cell) for cell in zip(*counts.values(), strict=True)] == [4580, 2797, 10_941, 11_701]
    rows = np.concatenate(list(parts.values()))
    assert len(set(photos.paths[rows])) == len(rows) == 30_019
    pictures = wiki_root / "wiki" / "wiki_crop.zip"
    if pictures.is_file():
        assert _held(pictures, [f"wiki_crop/{path}" for path in photos.paths[rows]]).all()


def test_the_surest_faces_of_the_real_wiki_can_be_seen(
    wiki_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSAD_CACHE", str(tmp_path))
    dataset = wiki(least_score=6.2, size=16, validation=0.2, data_root=wiki_root)
    assert 50 < sum(len(samples) for samples in dataset.splits.values()) < 500
    check_trainable(dataset, needs_bias=True)
    for samples in dataset.splits.values():
        assert samples.x.shape[1:] == (3, 16, 16)
        spread = samples.x.float().std((1, 2, 3))
        assert spread.min().item() > 5, "a picture is blank"
