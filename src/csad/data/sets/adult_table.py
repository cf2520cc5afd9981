"""Reads UCI's Adult files into the 41 columns of Yurochkin et al. (ICLR 2020), which the paper's Adult tables use."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data import given_files
from csad.data.given_files import damaged
from csad.errors import unreadable

HEADER = "|1x3 Cross validator"  # the first line of adult.test; adult.data has none
FIELDS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
MOST_DIGITS = 7  # the largest is 99999, and float32 holds every whole number of seven digits
# Each of these becomes as many columns of 0 and 1. "Never-worked" and "?" go with the rows that are dropped.
KINDS = {
    "workclass": (
        "Federal-gov", "Local-gov", "Private", "Self-emp-inc", "Self-emp-not-inc", "State-gov", "Without-pay",
    ),
    "marital-status": (
        "Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married", "Separated",
        "Widowed",
    ),
    "occupation": (
        "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
        "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
        "Tech-support", "Transport-moving",
    ),
    "relationship": ("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"),
}  # fmt: skip
# Of each of these one column is left, which says whether it is the last.
FLAGS = {
    "sex": ("Female", "Male"),
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
}
INCOMES = ("<=50K", ">50K")
COLUMNS = (
    *NUMBERS,
    *(f"{field}_{kind}" for field, kinds in KINDS.items() for kind in kinds),
    *(f"{field}_{kinds[-1]}" for field, kinds in FLAGS.items()),
)


class Table(NamedTuple):
    """Rows of x (n, 41), numbers as they stand in the files, and incomes y (n,)."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]


def read_table(data: Path, test: Path) -> Table:
    """The rows of adult.data, then those of adult.test; both arrays are read-only, because later calls share them."""
    try:
        stamps = tuple((path, path.stat().st_mtime_ns) for path in (data, test))
    except OSError as error:
        raise unreadable(error.filename, error) from error
    return _read_both(stamps)


@functools.lru_cache(maxsize=1)  # a command that goes through ten splits reads the files once
def _read_both(stamps: tuple[tuple[Path, int], ...]) -> Table:
    parts = [read_file(path, header) for (path, _), header in zip(stamps, ("", HEADER), strict=True)]
    x, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    x.flags.writeable = y.flags.writeable = False
    return Table(x, y)


def read_file(path: Path, header: str = "") -> Table:
    """The rows of one file in their order, less those without a native country or an occupation."""
    try:
        # Latin-1 has a character for every byte: a strange one is told like any other value that is not known.
        with path.open(encoding="latin-1") as stream:
            words = _words(path, header, enumerate(stream, 1))
    except OSError as error:
        raise unreadable(path, error) from error
    return Table(np.concatenate(list(_columns(words)), axis=1), words.codes("income", INCOMES))


def _words(path: Path, header: str, lines: enumerate[str]) -> given_files.Table:
    """The words by field, of rows with a known native country and occupation."""
    if header and (first := next(lines, (1, ""))[1].strip()) != header:
        raise damaged(path, f"starts with {reprlib.repr(first)} where the line '{header}' is wanted")
    numbers, rows = [], []
    country, occupation = FIELDS.index("native-country"), FIELDS.index("occupation")
    for number, line in lines:
        if not line.strip():
            continue
        values = [value.strip() for value in line.split(",")]
        if len(values) != len(FIELDS):
            columns = f"{len(values)} column{'s' * (len(values) > 1)}"
            raise damaged(path, f"has {columns} in line {number} where {len(FIELDS)} are wanted")
        if "?" not in (values[country], values[occupation]):
            numbers.append(number)
            rows.append([*values[:-1], values[-1].removesuffix(".")])  # adult.test ends lines with a dot
    if not rows:
        raise damaged(path, "has no row with a known native country and occupation")
    return given_files.Table(path, dict(zip(FIELDS, map(list, zip(*rows, strict=True)), strict=True)), numbers)


def _columns(words: given_files.Table) -> Iterator[NDArray[np.float32]]:
    """What stands for each field (n, columns), in the order of COLUMNS."""
    for field in NUMBERS:
        yield _numbers(words, field)[:, None]
    for field, kinds in KINDS.items():
        yield np.eye(len(kinds), dtype=np.float32)[words.codes(field, kinds)]
    for field, kinds in FLAGS.items():
        yield (words.codes(field, kinds) == len(kinds) - 1)[:, None].astype(np.float32)


def _numbers(words: given_files.Table, field: str) -> NDArray[np.float32]:
    for row, word in enumerate(words[field]):
        if not word.isdecimal() or len(word) > MOST_DIGITS:
            raise words.wrong(field, row, f"a whole number of at most {MOST_DIGITS} digits")
    return np.array([int(word) for word in words[field]], dtype=np.float32)
