"""Adult (UCI), in the 41 columns of Yurochkin et al. (ICLR 2020): who earns more than 50K, whatever gender and race."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data import local_files
from csad.data.download import find_or_fetch
from csad.data.local_files import damaged
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.splits import check_share, draw_validation, generator_for
from csad.errors import InputError, unreadable
from csad.registry import DATASETS

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
# Each of these becomes one column, which says whether the value is the last one.
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


class AdultTable(NamedTuple):
    """Rows of x (n, 41), numbers as the files have them, and incomes y (n,)."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]


def read_adult(data: Path, test: Path) -> AdultTable:
    """The rows of adult.data, then those of adult.test; both arrays are read-only, because later calls share them."""
    try:
        stamps = tuple((path, path.stat().st_mtime_ns) for path in (data, test))
    except OSError as error:
        raise unreadable(error.filename, error) from error
    return _read_both(stamps)


@functools.lru_cache(maxsize=1)  # a command with ten splits reads the files once
def _read_both(stamps: tuple[tuple[Path, int], ...]) -> AdultTable:
    parts = [read_file(path, header) for (path, _), header in zip(stamps, ("", HEADER), strict=True)]
    x, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    x.flags.writeable = y.flags.writeable = False
    return AdultTable(x, y)


def read_file(path: Path, header: str = "") -> AdultTable:
    """The rows of one file in their order, except those without a native country or an occupation."""
    try:
        # Latin-1 has a character for every byte: a strange one gives the error of an unknown value.
        with path.open(encoding="latin-1") as stream:
            words = _words(path, header, enumerate(stream, 1))
    except OSError as error:
        raise unreadable(path, error) from error
    return AdultTable(np.concatenate(list(_columns(words)), axis=1), words.codes("income", INCOMES))


def _words(path: Path, header: str, lines: enumerate[str]) -> local_files.CsvText:
    """The words by field, of rows with a known native country and occupation."""
    if header and (first := next(lines, (1, ""))[1].strip()) != header:
        raise damaged(path, f"starts with {reprlib.repr(first)} instead of the line '{header}'")
    numbers, rows = [], []
    country, occupation = FIELDS.index("native-country"), FIELDS.index("occupation")
    for number, line in lines:
        if not line.strip():
            continue
        values = [value.strip() for value in line.split(",")]
        if len(values) != len(FIELDS):
            columns = f"{len(values)} column{'s' * (len(values) > 1)}"
            raise damaged(path, f"has {columns} in line {number} instead of {len(FIELDS)}")
        if "?" not in (values[country], values[occupation]):
            numbers.append(number)
            rows.append([*values[:-1], values[-1].removesuffix(".")])  # adult.test ends lines with a dot
    if not rows:
        raise damaged(path, "has no row with a known native country and occupation")
    return local_files.CsvText(path, dict(zip(FIELDS, map(list, zip(*rows, strict=True)), strict=True)), numbers)


def _columns(words: local_files.CsvText) -> Iterator[NDArray[np.float32]]:
    """The columns (n, columns) of each field, in the order of COLUMNS."""
    for field in NUMBERS:
        yield _numbers(words, field)[:, None]
    for field, kinds in KINDS.items():
        yield np.eye(len(kinds), dtype=np.float32)[words.codes(field, kinds)]
    for field, kinds in FLAGS.items():
        yield (words.codes(field, kinds) == len(kinds) - 1)[:, None].astype(np.float32)


def _numbers(words: local_files.CsvText, field: str) -> NDArray[np.float32]:
    for row, word in enumerate(words[field]):
        if not word.isdecimal() or len(word) > MOST_DIGITS:
            raise words.wrong(field, row, f"a whole number of at most {MOST_DIGITS} digits")
    return np.array([int(word) for word in words[field]], dtype=np.float32)


FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
MIRRORS = ("https://archive.ics.uci.edu/ml/machine-learning-databases/adult",)
TRAINING = 0.8  # the share of the rows that are not for testing
GENDERS, RACES = ("female", "male"), ("other", "white")  # as the columns sex_Male and race_White say: 0, 1
SPOUSES = ("husband", "wife")
PEOPLE = {
    f"{gender}-{race}": {"sex_Male": float(male), "race_White": float(white)}
    for male, gender in enumerate(GENDERS)
    for white, race in enumerate(RACES)
}
# The values that each copy of a row has instead of its own; all others, marital status too, stay.
COPIES = PEOPLE | {
    spouse: {f"relationship_{kind}": float(kind.lower() == spouse) for kind in KINDS["relationship"]}
    for spouse in SPOUSES
}


@DATASETS.register("adult")
def adult(*, split: int = 0, validation: float = 0.0, data_root: Path | None = None) -> Dataset:
    """45,222 people of a census in 41 columns: income is the target, gender and race are the biases.

    In the order that ``split`` draws, the first 36,177 are for training and 9,045 for testing, as in Yurochkin et al.;
    numbers are scaled by the mean and spread of the training rows. ``validation`` is the share of the training rows
    that is held out, with every combination of income, gender and race as frequent as in the rest; 0 is none.

    Test and validation rows have copies that differ only in the relationship ("test:husband", "test:wife") or in gender
    and race ("test:female-other", …); the copies have the y and b of their rows.
    """
    if not isinstance(split, int | np.integer) or not 0 <= split < 2**32:
        raise InputError("adult-split-invalid", split=split)
    check_share(validation)
    files = find_or_fetch(FILES, "adult", MIRRORS, data_root)
    x, y = read_adult(files["adult.data"], files["adult.test"])
    b = x[:, [COLUMNS.index("sex_Male"), COLUMNS.index("race_White")]].astype(np.int64)
    parts = _parts(y, b, int(split), validation)
    x = _scaled(x, parts["train"])
    splits = {name: Samples(x[rows], y[rows], b[rows]) for name, rows in parts.items()}
    for name in [name for name in splits if name != "train"]:
        splits |= {f"{name}:{copy}": _copy(splits[name], values) for copy, values in COPIES.items()}
    biases = (Classes(len(GENDERS), GENDERS), Classes(len(RACES), RACES))
    task = Task("adult", (len(COLUMNS),), Classes(len(INCOMES), INCOMES), biases, ("gender", "race"))
    consistency = {"spouse_consistency": SPOUSES, "gender_race_consistency": tuple(PEOPLE)}
    return Dataset(task, splits, consistency=consistency)


def _parts(y: NDArray[np.int64], b: NDArray[np.int64], split: int, validation: float) -> dict[str, NDArray[np.int64]]:
    """The row numbers of each split."""
    # NumPy's old generator, because it drew the splits of the published figures.
    order = np.random.RandomState(split).permutation(len(y))
    train, test = np.split(order, [int(TRAINING * len(y))])
    if not validation:
        return {"train": train, "test": test}
    cells = np.ravel_multi_index((y[train], *b[train].T), (len(INCOMES), len(GENDERS), len(RACES)))
    rest, held = draw_validation(cells, validation, generator_for(split, "adult validation"))
    return {"train": train[rest], "validation": train[held], "test": test}


def _scaled(x: NDArray[np.float32], trained: NDArray[np.int64]) -> NDArray[np.float32]:
    """x with its numbers at mean 0 and spread 1 over the training rows."""
    numbers = x[:, : len(NUMBERS)].astype(np.float64)
    mean, spread = numbers[trained].mean(0), numbers[trained].std(0)
    scaled = (numbers - mean) / np.where(spread > 0, spread, 1)
    return np.concatenate([scaled.astype(np.float32), x[:, len(NUMBERS) :]], axis=1)


def _copy(samples: Samples, values: dict[str, float]) -> Samples:
    """The rows with these columns set."""
    x = samples.x.clone()
    for column, value in values.items():
        x[:, COLUMNS.index(column)] = value
    return Samples(x, samples.y, samples.b)
