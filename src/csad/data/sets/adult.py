"""Adult (UCI; Yurochkin et al., ICLR 2020): who earns more than 50K, whatever their gender and race."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.download import find_or_fetch
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.sets.adult_table import COLUMNS, INCOMES, KINDS, NUMBERS, read_table
from csad.data.split import check_share, generator_for, kept_and_held
from csad.errors import InputError
from csad.registry import DATASETS

FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
MIRRORS = ("https://archive.ics.uci.edu/ml/machine-learning-databases/adult",)
TRAINING = 0.8  # the share of the rows that is not tested on
GENDERS, RACES = ("female", "male"), ("other", "white")  # as the columns sex_Male and race_White say: 0, 1
SPOUSES = ("husband", "wife")
PEOPLE = {
    f"{gender}-{race}": {"sex_Male": float(male), "race_White": float(white)}
    for male, gender in enumerate(GENDERS)
    for white, race in enumerate(RACES)
}
# What each copy of a row has in place of its own values; all else, marital status too, stays as it is.
COPIES = PEOPLE | {
    spouse: {f"relationship_{kind}": float(kind.lower() == spouse) for kind in KINDS["relationship"]}
    for spouse in SPOUSES
}


@DATASETS.register("adult")
def adult(*, split: int = 0, validation: float = 0.0, data_root: Path | None = None) -> Dataset:
    """45,222 people of a census in 41 columns: income is the target, gender and race are the biases.

    In the order that ``split`` draws, the first 36,177 are trained on and 9,045 tested on, as in Yurochkin et al.;
    numbers are scaled by the mean and spread of the rows trained on. ``validation`` is the share of the training rows
    that is held out, with every combination of income, gender and race as frequent as in the rest; 0 is none.

    Rows to test and to validate on have copies that differ in nothing but the relationship ("test:husband",
    "test:wife") or gender and race ("test:female-other", …); the copies' y and b are those of the rows.
    """
    if not isinstance(split, int | np.integer) or not 0 <= split < 2**32:
        raise InputError(f"split must be a whole number from 0, below 2**32, not {split!r}.")
    check_share(validation)
    found = find_or_fetch(FILES, "adult", MIRRORS, data_root)
    x, y = read_table(found["adult.data"], found["adult.test"])
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
    # NumPy's old generator, because the splits of the published figures were drawn with it.
    order = np.random.RandomState(split).permutation(len(y))
    train, test = np.split(order, [int(TRAINING * len(y))])
    if not validation:
        return {"train": train, "test": test}
    cells = np.ravel_multi_index((y[train], *b[train].T), (len(INCOMES), len(GENDERS), len(RACES)))
    kept, held = kept_and_held(cells, validation, generator_for(split, "adult validation"))
    return {"train": train[kept], "validation": train[held], "test": test}


def _scaled(x: NDArray[np.float32], trained: NDArray[np.int64]) -> NDArray[np.float32]:
    """x with its numbers at mean 0 and spread 1 over the rows trained on."""
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
