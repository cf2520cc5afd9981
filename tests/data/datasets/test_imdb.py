"""IMDB and WIKI from their own files: which photos are in which split with which labels, and what is said of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import csad
from csad.data.augment import Pictures
from csad.data.datasets.face_metadata import clean
from csad.data.datasets.imdb import AGES, PhotoWarning, _held, age_bins, divide, imdb, wiki
from csad.data.images.decode import Decoder
from csad.data.images.read import ImageWarning
from csad.data.samples import Classes
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.face_files import NAN, faces_of, record, saved
from tests.support.imdb_files import AGED, DROPPED, ROWS, numbers, picture, pictures
from tests.support.messages import Refusal, refused, warned
from tests.support.picture_files import as_folder, as_tar, as_zip


@pytest.fixture
def root(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with the metadata of a little WIKI, and no pictures yet."""
    monkeypatch.delenv("CSAD_DATA", raising=False)
    (tmp_path / "data" / "wiki").mkdir(parents=True)
    saved(tmp_path / "data" / "wiki" / "wiki.mat", record(*ROWS, *DROPPED))
    return tmp_path / "data"


@pytest.fixture
def little(root: Path) -> Path:
    """The same with pictures."""
    as_zip(root / "wiki" / "wiki_crop.zip", pictures())
    return root


@pytest.mark.parametrize(
    ("write", "place"), [(as_zip, "wiki_crop.zip"), (as_tar, "wiki_crop.tar"), (as_folder, "wiki_crop")]
)
@pytest.mark.parametrize("prefix", ["wiki_crop/", ""])
def test_pictures_come_with_their_labels_from_wherever_they_lie(
    root: Path, write: Callable[[Path, Mapping[str, bytes]], Path], place: str, prefix: str
) -> None:
    write(root / "wiki" / place, pictures(prefix))
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
    as_folder(root / "wiki_crop", pictures(""))
    (root / "wiki" / "wiki.mat").rename(root / "wiki_crop" / "wiki.mat")
    assert len(wiki(size=2, data_root=root).train) == 48


@pytest.mark.parametrize(("write", "place"), [(as_zip, "wiki_crop.zip"), (as_tar, "wiki_crop.tar")])
@pytest.mark.parametrize("inside", ["wiki_crop/wiki.mat", "wiki.mat"])
def test_the_metadata_are_taken_out_of_the_archive_in_which_they_are_distributed(
    root: Path, write: Callable[[Path, Mapping[str, bytes]], Path], place: str, inside: str
) -> None:
    loose = root / "wiki" / "wiki.mat"
    archive = write(root / "wiki" / place, {inside: loose.read_bytes()} | pictures())
    expected = wiki(size=2, data_root=root)
    loose.unlink()
    found = wiki(size=2, data_root=root)
    assert {s: x.fingerprint() for s, x in found.splits.items()} == {
        s: x.fingerprint() for s, x in expected.splits.items()
    }
    write(archive, {inside: b"nothing"} | pictures())
    with refused("file-damaged"):
        wiki(size=2, data_root=root)


def test_the_metadata_may_lie_in_a_folder_within_that_of_the_pictures(root: Path) -> None:
    as_folder(root / "wiki" / "wiki_crop", {"wiki_crop/wiki.mat": (root / "wiki" / "wiki.mat").read_bytes()})
    as_folder(root / "wiki" / "wiki_crop", pictures())
    (root / "wiki" / "wiki.mat").unlink()
    assert len(wiki(size=2, data_root=root).train) == 48


def test_loose_metadata_go_before_those_in_the_archive(root: Path) -> None:
    as_tar(root / "wiki" / "wiki_crop.tar", {"wiki_crop/wiki.mat": b"nothing"} | pictures())
    assert len(wiki(size=2, data_root=root).train) == 48


def test_an_archive_without_the_metadata_is_told_in_one_sentence(little: Path) -> None:
    (little / "wiki" / "wiki.mat").unlink()
    with refused("dataset-files-missing", files="wiki.mat or wiki_crop/wiki.mat is"):
        wiki(size=2, data_root=little)


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
    with refused("unknown-name", kind="part to validate on", name="both"):
        wiki(size=2, validation_of="both", data_root=little)


def test_pictures_are_varied_as_flip_and_shift_say(little: Path) -> None:
    assert wiki(size=2, data_root=little).vary == Pictures(flip=True, shift=0)
    assert wiki(size=2, flip=False, shift=2, data_root=little).vary == Pictures(flip=False, shift=2)


def test_rows_tell_whose_photos_they_are_across_all_splits(root: Path) -> None:
    paths = [f"{row % 100:02}/{1000 + row // 32}_1970-01-01_{row}.jpg" for row in range(160)]  # of 32 rows each
    saved(root / "wiki" / "wiki.mat", record(*({**row, "path": path} for row, path in zip(ROWS, paths, strict=True))))
    as_zip(root / "wiki" / "wiki_crop.zip", {f"wiki_crop/{path}": picture(row) for row, path in enumerate(paths)})
    dataset = wiki(size=2, validation=0.2, data_root=root)
    for split, samples in dataset.splits.items():
        assert samples.persons is not None
        assert samples.persons.tolist() == [row // 32 for row in numbers(dataset, split)]


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


def test_pictures_are_decoded_once_whatever_is_trained_tested_and_validated_on(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bytes] = []
    decode = Decoder.__call__
    monkeypatch.setattr(Decoder, "__call__", lambda self, data: (done.append(data), decode(self, data))[1])
    for setting, opposite in (("EB1", "EB2"), ("EB2", "EB1")):
        for more in (
            {}, {"validation": 0.2}, {"validation": 0.4}, {"validation": 0.2, "validation_of": "opposite"}, {"seed": 5}
        ):  # fmt: skip
            dataset = wiki(setting=setting, size=2, data_root=little, **more)
            assert {*dataset.splits} == {"train", opposite, "test"} | (
                {"validation"} if "validation" in more else set()
            )
            for split, samples in dataset.splits.items():
                rows = numbers(dataset, split)
                assert rows == sorted(rows)
                assert samples.y.tolist() == [row % 2 for row in rows]
                assert samples.extra["age"].tolist() == [AGED[row // 2 % len(AGED)] for row in rows]
    assert len(done) == 120
    assert len([*(tmp_path / "cache" / "images").iterdir()]) == 1


@pytest.mark.parametrize("setting", ["EB1", "EB2"])
def test_splits_of_the_default_seed_are_stretches_of_one_file_and_nothing_is_copied(little: Path, setting: str) -> None:
    splits = wiki(setting=setting, size=2, data_root=little).splits
    places = sorted((samples.x.data_ptr(), samples.x.numel()) for samples in splits.values())
    ends = [place + length for place, length in places]
    assert [place for place, _ in places[1:]] == ends[:-1]


def test_both_settings_have_the_same_two_extremes_and_test_photos(little: Path) -> None:
    one, other = (wiki(setting=setting, size=2, data_root=little) for setting in ("EB1", "EB2"))
    assert numbers(one, "train") == numbers(other, "EB1")
    assert numbers(one, "EB2") == numbers(other, "train")
    assert numbers(one, "test") == numbers(other, "test")


def test_imdb_is_read_alike_under_its_own_name(little: Path) -> None:
    (little / "imdb").mkdir()
    saved(little / "imdb" / "imdb.mat", record(*ROWS, *DROPPED), "imdb")
    as_tar(little / "imdb" / "imdb_crop.tar", pictures("imdb_crop/"))
    own, sister = imdb(size=2, data_root=little), wiki(size=2, data_root=little)
    assert own.task.name == "imdb"
    for split, samples in own.splits.items():
        assert samples.fingerprint() == sister.splits[split].fingerprint()


def test_photos_that_are_not_among_the_pictures_are_left_out_and_counted(root: Path) -> None:
    files = pictures()
    lost = [row for row in range(160) if row % 16 in (0, 11)]  # women of 5, men of 40
    as_zip(
        root / "wiki" / "wiki_crop.zip", {name: data for n, (name, data) in enumerate(files.items()) if n not in lost}
    )
    with warned(PhotoWarning, "photos-left-out", missing=20, total=120, source=root / "wiki" / "wiki_crop.zip"):
        few = wiki(size=2, data_root=root)
    as_zip(root / "wiki" / "wiki_crop.zip", files)
    whole = wiki(size=2, data_root=root)
    for split in whole.splits:
        assert numbers(few, split) == [row for row in numbers(whole, split) if row not in lost]


def test_pictures_of_something_else_are_an_error(root: Path) -> None:
    as_zip(root / "wiki" / "wiki_crop.zip", {"imdb_crop/00/0.jpg": picture(0)})
    with refused("photos-missing", count=120):
        wiki(size=2, data_root=root)


def test_a_split_without_pictures_is_an_error(root: Path) -> None:
    some = {name: data for row, (name, data) in enumerate(pictures().items()) if row % 16 in (0, 11)}
    as_zip(root / "wiki" / "wiki_crop.zip", some)
    with pytest.warns(PhotoWarning), refused("photo-split-empty", splits="'EB2'"):
        wiki(size=2, data_root=root)


def test_a_broken_picture_is_left_out(root: Path) -> None:
    as_zip(root / "wiki" / "wiki_crop.zip", pictures() | {"wiki_crop/00/0.jpg": b"no picture"})
    with warned(ImageWarning, "images-left-out", broken=1, total=120, names="wiki_crop/00/0.jpg"):
        dataset = wiki(size=2, data_root=root)
    rows = [row for split in dataset.splits for row in numbers(dataset, split)]
    assert len(rows) == 119
    assert 0 not in rows
    assert all(samples.y.tolist() == [row % 2 for row in numbers(dataset, s)] for s, samples in dataset.splits.items())


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"setting": "EB3"}, Refusal("misspelled-name", kind="setting", name="EB3", nearest="EB2", known="EB1, EB2")),
        ({"validation": 1.0}, Refusal("validation-share-out-of-range", units="training photos", validation="1.0")),
        ({"validation": -0.1}, Refusal("validation-share-out-of-range")),
        ({"related": "same_age"}, Refusal("misspelled-name", kind="rule for related samples", name="same_age")),
        ({"related": "near_bias"}, Refusal("near-bias-without-tolerance")),
        ({"size": 0}, Refusal("image-size-out-of-range")),
        ({"size": 2.5}, Refusal("image-size-out-of-range", size="2.5")),
        ({"least_score": 3.5}, Refusal("no-clean-photos", total=164, filters="least_score=3.5, oldest=100")),
        ({"least_score": NAN}, Refusal("no-clean-photos", total=164)),
        ({"oldest": 4}, Refusal("no-clean-photos", total=164)),
        ({"seed": -1}, Refusal("negative-seed")),
        ({"lists": True}, Refusal("imdb-lists-unavailable", dataset="wiki")),
    ],
)
def test_wrong_settings_are_told(little: Path, settings: dict[str, Any], complaint: Refusal) -> None:
    with refused(complaint):
        wiki(**({"size": 2} | settings), data_root=little)


@pytest.mark.parametrize("name", ["imdb", "wiki"])
def test_what_is_missing_is_told_with_where_to_get_it_and_where_to_put_it(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "wiki" / "wiki.mat").unlink()
    with refused("dataset-files-missing") as told:
        DATASETS[name](data_root=root)
    for words in (
        f"{name}.mat", f"{name}_crop.tar or {name}_crop.zip or {name}_crop", f"not in {root / name}",
        "https://data.vision.ee.ethz.ch/cvl/rrothe/imdb-wiki", f"FOLDER/{name}", "--data-root", "CSAD_DATA",
    ):  # fmt: skip
        assert words in str(told.value)
    monkeypatch.setenv("CSAD_DATA", str(root))
    with refused("dataset-files-missing"):
        DATASETS[name]()


def test_a_net_learns_from_faces(little: Path) -> None:
    short = {"train.target_epochs": 1, "train.batch_size": 16, "data.size": 16, "data.setting": "EB2"}
    run = csad.train("wiki", method="vanilla", settings=short, data_root=little, device="cpu")
    assert run.result["settings"]["data"]["setting"] == "EB2"
    assert set(run.result["metrics"]) == {"train", "EB1", "test"}


def test_the_real_wiki_is_divided_as_the_paper_says(wiki_root: Path) -> None:
    listed = faces_of(wiki_root / "wiki" / "wiki.mat")
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
