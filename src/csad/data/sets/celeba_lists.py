"""Reads CelebA's lists: 40 attributes of each image, and which part of the data it belongs to."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.given_files import damaged
from csad.errors import unknown, unreadable

ATTRIBUTES = 40
VALUES = {"-1": 0, "1": 1}
PARTS = {"0": 0, "1": 1, "2": 2}  # the authors' train, validation and test
Line = tuple[int, list[str]]  # its number and its words


class Faces(NamedTuple):
    """Names of images, their values (n, attributes) of 0 or 1, and their parts (n,) of 0, 1 or 2."""

    names: list[str]
    values: NDArray[np.int64]
    parts: NDArray[np.int64]


def read_lists(attributes: Path, partition: Path, wanted: Sequence[str]) -> Faces:
    """All images in the order of list_attr_celeba.txt, with the wanted attributes; each must be in both lists."""
    names, values = read_attributes(attributes, wanted)
    parts = read_partition(partition)
    if missing := [name for name in names if name not in parts]:
        raise damaged(partition, f"lacks {len(missing):,} images of {attributes.name}, the first is '{missing[0]}'")
    if len(parts) > len(names):
        extra = next(iter(parts.keys() - set(names)))
        raise damaged(attributes, f"lacks {len(parts) - len(names):,} images of {partition.name}, as '{extra}'")
    return Faces(names, values, np.array([parts[name] for name in names], dtype=np.int64))


def read_attributes(path: Path, wanted: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The names of the images and their values (n, wanted); the file says how many there are, and what of them."""
    lines = _lines(path)
    count, header = _head(path, lines)
    for attribute in wanted:
        if attribute not in header:
            raise unknown("attribute of CelebA", attribute, header)
    places = [header.index(attribute) + 1 for attribute in wanted]
    found: dict[str, list[int]] = {}
    for number, words in lines:
        if len(words) != ATTRIBUTES + 1:
            wrong = f"{len(words)} words in line {number} where a name and {ATTRIBUTES} values are wanted"
            raise damaged(path, f"has {wrong}")
        found[words[0]] = [_code(path, number, words[place], VALUES) for place in places]
    if len(found) != count:
        raise damaged(path, f"has {len(found):,} images where its first line says {count:,}")
    return list(found), np.array(list(found.values()), dtype=np.int64).reshape(len(found), len(places))


def attribute_names(path: Path) -> list[str]:
    """The names of all attributes, in the order of the file."""
    return _head(path, _lines(path))[1]


def read_partition(path: Path) -> dict[str, int]:
    """The part of each image: 0, 1 or 2."""
    found: dict[str, int] = {}
    for number, words in _lines(path):
        if len(words) != 2:
            raise damaged(path, f"has {len(words)} words in line {number} where a name and a part are wanted")
        found[words[0]] = _code(path, number, words[1], PARTS)
    return found


def _head(path: Path, lines: Iterator[Line]) -> tuple[int, list[str]]:
    """How many images there are, and the names of their attributes: the first two lines of list_attr_celeba.txt."""
    count = " ".join(next(lines, (1, []))[1])
    if not count.isdecimal():
        raise damaged(path, f"starts with {reprlib.repr(count)} where the number of images is wanted")
    header = next(lines, (2, []))[1]
    if len(set(header)) != ATTRIBUTES or len(header) != ATTRIBUTES:
        raise damaged(path, f"has {len(header)} words in line 2 where the names of {ATTRIBUTES} attributes are wanted")
    return int(count), header


def _lines(path: Path) -> Iterator[Line]:
    """The lines that are not empty."""
    try:
        # Latin-1 has a character for every byte: a strange one is told like any other word that is not known.
        with path.open(encoding="latin-1") as stream:
            yield from ((number, words) for number, line in enumerate(stream, 1) if (words := line.split()))
    except OSError as error:
        raise unreadable(path, error) from error


def _code(path: Path, number: int, word: str, codes: dict[str, int]) -> int:
    if word not in codes:
        wanted = " or ".join(codes)
        raise damaged(path, f"has {reprlib.repr(word)} in line {number} where {wanted} is wanted")
    return codes[word]
