"""CelebA from its own files: which images are in which split with which labels, and what is said where they are odd."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import csad
from csad.data.augment import Pictures
from csad.data.datasets.celeba import celeba, read_attribute_lists
from csad.data.images.decode import Decoder
from csad.data.images.read import ImageWarning, read_parts
from csad.data.samples import Classes, Dataset
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.celeba_files import (
    ATTRIBUTES,
    NAMES,
    PARTS,
    VALUES,
    attribute_lines,
    images,
    partition_lines,
    write_celeba,
    written,
)
from tests.support.messages import Refusal, refused, warned
from tests.support.picture_files import as_folder, as_zip
from tests.support.real_data import root_of


@pytest.fixture
def root(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with made-up images in CelebA's layout."""
    monkeypatch.delenv("CSAD_DATA", raising=False)
    write_celeba(tmp_path / "data" / "celeba")
    return tmp_path / "data"


def column(name: str, rows: list[int]) -> list[int]:
    return ((VALUES[rows, ATTRIBUTES.index(name)] + 1) // 2).tolist()


def rows_of(part: int) -> list[int]:
    return [n for n, own in enumerate(PARTS) if own == part]


def cells(dataset: Dataset, split: str) -> list[int]:
    """Rows by (target, bias): (no, no), (no, yes), (yes, no), (yes, yes)."""
    samples = dataset.splits[split]
    return torch.bincount(2 * samples.y + samples.b[:, 0], minlength=4).tolist()


def test_every_image_is_in_the_split_of_its_part_with_its_labels(root: Path) -> None:
    dataset = celeba(data_root=root, size=8)
    assert list(dataset.splits) == ["train", "test", "official-test"]
    for split, part in {"train": 0, "test": 1, "official-test": 2}.items():
        samples, rows = dataset.splits[split], rows_of(part)
        assert samples.y.tolist() == column("Blond_Hair", rows)
        assert samples.b[:, 0].tolist() == column("Male", rows)
        files = images()
        wanted = np.stack([Decoder(8, (1.0, 1.0))(files[NAMES[row]]) for row in rows])
        assert (samples.x.numpy() == wanted).all()


def test_the_task_is_an_attribute_with_others_as_biases(root: Path) -> None:
    dataset = DATASETS["celeba"](target="Smiling", bias=("Young", "Male"), size=8, data_root=root)
    task = dataset.task
    assert (task.name, task.shape, task.bias_names) == ("celeba", (3, 8, 8), ("Young", "Male"))
    assert task.target == Classes(2, ("no", "yes"))
    assert task.biases == (Classes(2, ("no", "yes")),) * 2
    assert dataset.train.y.tolist() == column("Smiling", rows_of(0))
    assert dataset.train.b[:, 0].tolist() == column("Young", rows_of(0))
    assert dataset.train.b[:, 1].tolist() == column("Male", rows_of(0))
    omega = task.related(torch.tensor([[0, 0], [0, 1], [0, 0]]))
    assert omega.tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    check_trainable(dataset, needs_bias=True)


def test_a_folder_of_images_and_files_beside_the_folder_will_do(root: Path) -> None:
    zipped = celeba(data_root=root, size=8)
    (root / "celeba" / "img_align_celeba.zip").unlink()
    as_folder(root / "celeba" / "img_align_celeba", images())
    loose = celeba(data_root=root, size=8)
    assert {s: x.fingerprint() for s, x in loose.splits.items()} == {
        s: x.fingerprint() for s, x in zipped.splits.items()
    }
    beside = celeba(data_root=root / "celeba", size=8)
    assert beside.train.fingerprint() == zipped.train.fingerprint()


def test_splits_share_one_file_of_pixels_whatever_the_attributes(root: Path, tmp_path: Path) -> None:
    dataset = celeba(data_root=root, size=8)
    other = celeba(target="Bald", bias=("Chubby",), data_root=root, size=8)
    assert len(list((tmp_path / "cache" / "images").iterdir())) == 1
    first = dataset.train.x.data_ptr()
    assert dataset.splits["test"].x.data_ptr() == first + 60 * 3 * 8 * 8
    assert torch.equal(other.train.x, dataset.train.x)


def test_pictures_are_varied_as_flip_and_shift_say(root: Path) -> None:
    assert celeba(size=8, data_root=root).vary == Pictures(flip=True, shift=0)
    assert celeba(size=8, flip=False, shift=2, data_root=root).vary == Pictures(flip=False, shift=2)


def test_images_can_be_cut_out_of_the_centre(root: Path) -> None:
    whole, square = (celeba(data_root=root, size=8, crop=crop).train.x for crop in ((1.0,), (1.0, 178 / 218)))
    assert not torch.equal(whole, square)


def test_validation_rows_are_held_out_of_the_training_rows_alike_in_every_cell(root: Path) -> None:
    whole, held, again = (celeba(data_root=root, size=8, validation=share) for share in (0.0, 0.25, 0.25))
    assert list(held.splits) == ["train", "validation", "test", "official-test"]
    assert len(held.train) == 45
    assert len(held.splits["validation"]) == 15
    for own, part, rest in zip(cells(whole, "train"), cells(held, "validation"), cells(held, "train"), strict=True):
        assert own == part + rest
        assert abs(part - own / 4) < 2
    assert again.splits["validation"].fingerprint() == held.splits["validation"].fingerprint()


def test_a_list_without_the_third_part_has_no_official_test(root: Path) -> None:
    written(root / "celeba" / "list_eval_partition.txt", [line.replace(" 2", " 1") for line in partition_lines()])
    assert list(celeba(data_root=root, size=8).splits) == ["train", "test"]


def test_a_broken_image_leaves_the_labels_of_the_others_where_they_were(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csad.data.datasets.celeba.read_parts", partial(read_parts, tolerated=0.05))
    whole = celeba(data_root=root, size=8)
    damaged = images() | {NAMES[5]: b"", NAMES[55]: b"no image"}
    zipped = {f"img_align_celeba/{name}": data for name, data in damaged.items()}
    as_zip(root / "celeba" / "img_align_celeba.zip", zipped)
    broken = "img_align_celeba/000006.jpg, img_align_celeba/000056.jpg"
    with warned(ImageWarning, "images-left-out", broken=2, total=90, names=broken):
        dataset = celeba(data_root=root, size=8)
    for split, gone in {"train": 5, "test": 5}.items():
        kept = [row for row in range(len(whole.splits[split])) if row != gone]
        assert dataset.splits[split].fingerprint() == whole.splits[split].rows(kept).fingerprint()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"target": "Blond"},
            Refusal("misspelled-name", kind="attribute of CelebA", name="Blond", nearest="Blond_Hair"),
        ),
        ({"bias": ("male",)}, Refusal("misspelled-name", kind="attribute of CelebA", name="male", nearest="Male")),
        ({"bias": ()}, Refusal("celeba-without-bias")),
        ({"target": "Male"}, Refusal("celeba-attributes-not-different", target="Male", biases="Male")),
        (
            {"bias": ("Male", "Male")},
            Refusal("celeba-attributes-not-different", target="Blond_Hair", biases="Male, Male"),
        ),
        ({"validation": 1.0}, Refusal("validation-share-out-of-range", units="training rows", validation="1.0")),
        (
            {"validation": 0.001},
            Refusal(
                "validation-share-leaves-none", problem="A validation share of 0.001 holds out 0 of 60 training rows"
            ),
        ),
        ({"size": 0}, Refusal("image-size-out-of-range", most=4096, size=0)),
    ],
)
def test_a_setting_that_is_wrong_is_told(root: Path, settings: dict[str, Any], said: Refusal) -> None:
    with refused(said):
        celeba(**{"size": 8, "data_root": root} | settings)


def changed(lines: list[str], place: int, line: str | None) -> list[str]:
    return lines[:place] + ([] if line is None else [line]) + lines[place + 1 :]


@pytest.mark.parametrize(
    ("place", "line", "said"),
    [
        (0, "image_id,5_o_Clock_Shadow", r"starts with 'image_id,5_o_Clock_Shadow' instead of the number of images"),
        (0, "", r"starts with '5_o_Clock_Sh.*' instead of the number of images"),
        (0, "91", r"has 90 images, but .* 91"),
        (1, "Male Young", r"has 2 words in line 2 instead of the names of 40 attributes"),
        (1, " ".join(["Male"] * 40), r"has 40 words in line 2 instead of the names of 40 attributes"),
        (1, None, r"has 41 words in line 2 instead of the names of 40 attributes"),
        (9, "000008.jpg -1 1", r"has 3 words in line 10 instead of a name and 40 values"),
        (9, "000008.jpg" + " 0" * 40, r"has '0' in line 10 instead of -1 or 1"),
        (9, "\xff\xfe" + "  x" * 40, r"has 'x' in line 10 instead of -1 or 1"),
        (9, "000007.jpg" + " 1" * 40, r"has 89 images, but .* 90"),
        (9, None, r"has 89 images, but .* 90"),
    ],
)
def test_a_list_of_attributes_that_is_wrong_is_told_with_its_line(
    root: Path, place: int, line: str | None, said: str
) -> None:
    path = root / "celeba" / "list_attr_celeba.txt"
    written(path, changed(attribute_lines(), place, line))
    with refused("file-damaged", file=path, problem=re.compile(said)):
        celeba(data_root=root, size=8)


@pytest.mark.parametrize(
    ("place", "line", "said"),
    [
        (3, "000004.jpg 3", r"has '3' in line 4 instead of 0 or 1 or 2"),
        (3, "000004.jpg train", r"has 'train' in line 4 instead of 0 or 1 or 2"),
        (3, "000004.jpg", r"has 1 words in line 4 instead of a name and a part"),
        (3, None, r"1 images of list_attr_celeba\.txt .*'000004\.jpg'"),
    ],
)
def test_a_partition_that_is_wrong_is_told_with_its_line(root: Path, place: int, line: str | None, said: str) -> None:
    path = root / "celeba" / "list_eval_partition.txt"
    written(path, changed(partition_lines(), place, line))
    with refused("file-damaged", file=path, problem=re.compile(said)):
        celeba(data_root=root, size=8)


def test_a_partition_of_more_images_than_have_attributes_is_told(root: Path) -> None:
    written(root / "celeba" / "list_eval_partition.txt", [*partition_lines(), "000091.jpg 0"])
    with refused("file-damaged", problem=re.compile(r"1 images of list_eval_partition\.txt .*'000091\.jpg'")):
        celeba(data_root=root, size=8)


@pytest.mark.parametrize(("part", "split"), [(0, "train"), (1, "test")])
def test_a_split_without_an_image_is_told(root: Path, part: int, split: str) -> None:
    lines = [line.replace(f" {part}", " 2") for line in partition_lines()]
    written(root / "celeba" / "list_eval_partition.txt", lines)
    with refused("celeba-split-empty", part=part, split=split):
        celeba(data_root=root, size=8)


def test_a_list_that_is_longer_than_the_archive_is_told_and_nothing_is_dropped(root: Path) -> None:
    some = {f"img_align_celeba/{name}": data for name, data in list(images().items())[:85]}
    path = as_zip(root / "celeba" / "img_align_celeba.zip", some)
    with refused("files-missing", source=path, missing=5, total=90, files="images", name="img_align_celeba/000086.jpg"):
        celeba(data_root=root, size=8)


def test_an_archive_that_was_cut_short_is_told(root: Path) -> None:
    path = root / "celeba" / "img_align_celeba.zip"
    path.write_bytes(path.read_bytes()[:-1000])
    with refused("archive-unreadable", file=path):
        celeba(data_root=root, size=8)


@pytest.mark.parametrize("file", ["img_align_celeba.zip", "list_attr_celeba.txt", "list_eval_partition.txt"])
def test_a_file_that_is_missing_is_named_with_where_to_get_it_and_where_to_put_it(root: Path, file: str) -> None:
    (root / "celeba" / file).unlink()
    with refused("dataset-files-missing", files=re.compile(f"^{file}.* is$"), problem=f"not in {root}/celeba"):
        celeba(data_root=root, size=8)
    with refused(
        "dataset-files-missing", advice=re.compile(r"mmlab\.ie\.cuhk\.edu\.hk/projects/CelebA\.html.*FOLDER/celeba")
    ):
        celeba(data_root=root, size=8)


def test_the_lists_at_hand_hold_the_cells_that_are_known_of_them() -> None:
    place = root_of("CelebA", "celeba", "list_attr_celeba.txt") / "celeba"
    faces = read_attribute_lists(
        place / "list_attr_celeba.txt", place / "list_eval_partition.txt", ("Blond_Hair", "Male")
    )
    if len(faces.names) != 17_476:
        pytest.skip("this is another part of CelebA than the one whose cells are known")
    counts = [
        np.bincount(2 * rows[:, 0] + rows[:, 1]).tolist() for rows in (faces.values[faces.parts == p] for p in (0, 1))
    ]
    assert counts == [[6374, 4760, 1718, 123], [2384, 1611, 479, 27]]


def test_a_net_learns_from_some_real_faces(tmp_path: Path, cache: Path) -> None:
    real = root_of("CelebA", "celeba", "img_align_celeba.zip") / "celeba"
    place = tmp_path / "celeba"
    place.mkdir()
    (place / "img_align_celeba.zip").symlink_to(real / "img_align_celeba.zip")
    attributes = (real / "list_attr_celeba.txt").read_text().splitlines()
    parts = (real / "list_eval_partition.txt").read_text().splitlines()
    written(place / "list_attr_celeba.txt", ["400", attributes[1], *attributes[2:402]])
    written(place / "list_eval_partition.txt", parts[:400])
    settings = {
        "size": 16, "target": "Male", "bias": ("Young",), "net.backbone": "small-conv", "train.batch_size": 32,
        "train.pretrain_rate": 1e-3, "train.target_epochs": 6, "train.epochs": 0,
    }  # fmt: skip
    run = csad.train("celeba", method="vanilla", settings=settings, data_root=tmp_path, device="cpu")
    assert run.result["settings"]["data"]["target"] == "Male"
    assert run.result["metrics"]["train"]["auc"] > 0.7
