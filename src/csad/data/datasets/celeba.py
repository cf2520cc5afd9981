"""CelebA (Liu et al., ICCV 2015; as Nam et al., NeurIPS 2020, use it): an attribute of a face, whatever its others."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.augment import Pictures
from csad.data.images.read import read_parts
from csad.data.local_files import damaged, find_local_files
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.splits import check_share, hold_out
from csad.errors import InputError, unknown, unreadable
from csad.registry import DATASETS

ATTRIBUTES = 40
VALUES = {"-1": 0, "1": 1}
PARTS = {"0": 0, "1": 1, "2": 2}  # the authors' train, validation and test
Line = tuple[int, list[str]]  # the number and the words of a line


class CelebAFaces(NamedTuple):
    """Names of images, their values (n, attributes) of 0 or 1, and their parts (n,) of 0, 1 or 2."""

    names: list[str]
    values: NDArray[np.int64]
    parts: NDArray[np.int64]


def read_attribute_lists(attributes: Path, partition: Path, chosen: Sequence[str]) -> CelebAFaces:
    """All images in the order of list_attr_celeba.txt, with the chosen attributes; each must be in both lists."""
    names, values = read_attributes(attributes, chosen)
    parts = read_partition(partition)
    if missing := [name for name in names if name not in parts]:
        raise damaged(
            partition, f"has no entry for {len(missing):,} images of {attributes.name} (first: '{missing[0]}')"
        )
    if len(parts) > len(names):
        extra = next(iter(parts.keys() - set(names)))
        raise damaged(
            attributes, f"has no entry for {len(parts) - len(names):,} images of {partition.name} (example: '{extra}')"
        )
    return CelebAFaces(names, values, np.array([parts[name] for name in names], dtype=np.int64))


def read_attributes(path: Path, chosen: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The names of the images and their values (n, chosen); the file says how many images there are."""
    lines = _lines(path)
    count, header = _head(path, lines)
    for attribute in chosen:
        if attribute not in header:
            raise unknown("attribute of CelebA", attribute, header)
    places = [header.index(attribute) + 1 for attribute in chosen]
    rows: dict[str, list[int]] = {}
    for number, words in lines:
        if len(words) != ATTRIBUTES + 1:
            wrong = f"{len(words)} words in line {number} instead of a name and {ATTRIBUTES} values"
            raise damaged(path, f"has {wrong}")
        rows[words[0]] = [_code(path, number, words[place], VALUES) for place in places]
    if len(rows) != count:
        raise damaged(path, f"has {len(rows):,} images, but its first line announces {count:,}")
    return list(rows), np.array(list(rows.values()), dtype=np.int64).reshape(len(rows), len(places))


def attribute_names(path: Path) -> list[str]:
    """The names of all attributes, in the order of the file."""
    return _head(path, _lines(path))[1]


def read_partition(path: Path) -> dict[str, int]:
    """The part of each image: 0, 1 or 2."""
    parts: dict[str, int] = {}
    for number, words in _lines(path):
        if len(words) != 2:
            raise damaged(path, f"has {len(words)} words in line {number} instead of a name and a part")
        parts[words[0]] = _code(path, number, words[1], PARTS)
    return parts


def _head(path: Path, lines: Iterator[Line]) -> tuple[int, list[str]]:
    """The number of images and the names of their attributes: the first two lines of list_attr_celeba.txt."""
    count = " ".join(next(lines, (1, []))[1])
    if not count.isdecimal():
        raise damaged(path, f"starts with {reprlib.repr(count)} instead of the number of images")
    header = next(lines, (2, []))[1]
    if len(set(header)) != ATTRIBUTES or len(header) != ATTRIBUTES:
        raise damaged(path, f"has {len(header)} words in line 2 instead of the names of {ATTRIBUTES} attributes")
    return int(count), header


def _lines(path: Path) -> Iterator[Line]:
    """The lines that are not empty."""
    try:
        # Latin-1 has a character for every byte: a strange one gives the error of an unknown word.
        with path.open(encoding="latin-1") as stream:
            yield from ((number, words) for number, line in enumerate(stream, 1) if (words := line.split()))
    except OSError as error:
        raise unreadable(path, error) from error


def _code(path: Path, number: int, word: str, codes: dict[str, int]) -> int:
    if word not in codes:
        known = " or ".join(codes)
        raise damaged(path, f"has {reprlib.repr(word)} in line {number} instead of {known}")
    return codes[word]


IMAGES = "img_align_celeba"
FILES = ((f"{IMAGES}.zip", IMAGES), ("list_attr_celeba.txt",), ("list_eval_partition.txt",))
HOME = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (Align&Cropped Images, Anno and Eval)"
SPLITS = {"train": 0, "test": 1, "official-test": 2}  # the test split of the paper is the official validation part
NO_YES = Classes(2, ("no", "yes"))


@DATASETS.register("celeba")
def celeba(
    *,
    target: str = "Blond_Hair",
    bias: tuple[str, ...] = ("Male",),
    size: int = 64,
    crop: tuple[float, ...] = (1.0,),
    flip: bool = True,
    shift: int = 0,
    validation: float = 0.0,
    data_root: Path | None = None,
) -> Dataset:
    """Faces with 40 attributes: ``target`` is to be learned, those in ``bias`` are not to be leaned on.

    The authors' parts 0, 1 and 2 are the splits train, test and official-test; no table of the paper uses the last, and
    it is left out if the list has none. ``validation`` is the share of the training rows that is held out, with every
    combination of target and bias as frequent as in the rest. The paper's images have ``size`` 224, and are resized
    whole, as here; the ``crop`` (1, 178 / 218) is the square that others cut out of the centre. In training half of the
    images are flipped, as in Nam et al., and all are moved by at most ``shift`` pixels.
    """
    _check_attributes(target, bias)
    check_share(validation)
    images, attributes, partition = find_local_files(FILES, "celeba", HOME, data_root)
    names, values, parts = read_attribute_lists(attributes, partition, (target, *bias))
    inside = "" if images.is_dir() else f"{IMAGES}/"
    rows = {split: np.flatnonzero(parts == part) for split, part in SPLITS.items()}
    if not len(rows["official-test"]):
        del rows["official-test"]
    for split in ("train", "test"):
        if not len(rows[split]):
            raise InputError("celeba-split-empty", file=partition, part=SPLITS[split], split=split)
    listed = {split: [inside + names[i] for i in chosen] for split, chosen in rows.items()}
    splits = {}
    for split, (pixels, places, _) in read_parts(images, listed, size=size, crop=crop).items():
        labels = values[rows[split][places]]
        splits[split] = Samples(pixels, labels[:, 0], labels[:, 1:])
    task = Task("celeba", (3, size, size), NO_YES, (NO_YES,) * len(bias), bias)
    held = hold_out(splits.pop("train"), validation, "celeba validation")
    return Dataset(task, held | splits, vary=Pictures(flip, shift))


def _check_attributes(target: str, bias: tuple[str, ...]) -> None:
    if not bias:
        raise InputError("celeba-without-bias")
    if len({target, *bias}) <= len(bias):
        raise InputError("celeba-attributes-not-different", target=target, biases=", ".join(bias))
