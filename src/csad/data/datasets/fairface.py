"""FairFace (Kärkkäinen and Joo, WACV 2021): man or woman; in training the age gives it away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.augment import Pictures
from csad.data.images.read import read_parts
from csad.data.local_files import CsvText, find_local_files, read_csv
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.splits import check_share, hold_out
from csad.errors import InputError, unknown
from csad.registry import DATASETS

# One file for both parts, or one for each.
LABELS = tuple(("labels.csv", f"fairface_label_{part}.csv") for part in ("train", "val"))
FILES = (("images.zip", "images"), *LABELS)
HOME = "https://github.com/joojs/fairface (images under train/ and val/; both label files)"
SETTINGS = ("EB1", "EB2", "all")
GENDERS = ("Female", "Male")
YOUNG = ("0-2", "3-9", "10-19", "20-29")
BETWEEN = "30-39"  # in no split
OLD = ("40-49", "50-59", "60-69", "more than 70")
BANDS = (*YOUNG, *OLD)

Rows = NDArray[np.int64]


@DATASETS.register("fairface")
def fairface(
    *,
    setting: str = "EB1",
    size: int = 64,
    flip: bool = True,
    shift: int = 0,
    validation: float = 0.0,
    related: str = "same_bias",
    tolerance: tuple[float, ...] = (),
    data_root: Path | None = None,
) -> Dataset:
    """Faces with gender as the target and age, in eight bands, as the bias; ``tolerance`` is in bands.

    Of the images under train/, EB1 has women aged 0–29 and men aged 40 or more, EB2 women aged 40 or more and men aged
    0–29. ``setting`` is the training split, and the other of the two is a split of that name; "all" trains on both.
    "test" has all images under val/ of these ages. People aged 30–39 are in no split. ``validation`` is the share of
    the training rows that is held out, with every combination of gender and band as frequent as in the rest. In
    training half of the pictures are flipped, and all are moved by at most ``shift`` pixels.
    """
    if setting not in SETTINGS:
        raise unknown("setting of FairFace", setting, SETTINGS)
    check_share(validation)
    target, bias = Classes(2, tuple(gender.lower() for gender in GENDERS)), Classes(len(BANDS), BANDS)
    task = Task("fairface", (3, size, size), target, (bias,), ("age",), Related(related, tolerance))
    images, *labels = find_local_files(FILES, "fairface", HOME, data_root)
    tables = [read_csv(path) for path in dict.fromkeys(labels)]
    files, y, b = _rows(tables)
    rows = _divide(tables, files, y, b, setting)
    names = {split: [files[i] for i in chosen] for split, chosen in rows.items()}
    splits = {}
    for split, (pixels, places, _) in read_parts(images, names, size=size).items():
        chosen = rows[split][places]
        splits[split] = Samples(pixels, y[chosen], b[chosen])
    parts = hold_out(splits.pop("train"), validation, "fairface validation") | splits
    return Dataset(task, parts, vary=Pictures(flip, shift))


def _rows(tables: list[CsvText]) -> tuple[list[str], Rows, Rows]:
    """Path, gender and age band of every image, row by row and table by table."""
    y = [table.codes("gender", GENDERS) for table in tables]
    b = [table.codes("age", (*BANDS, BETWEEN)) for table in tables]
    return _files(tables), np.concatenate(y), np.concatenate(b)


def _divide(tables: list[CsvText], files: list[str], y: Rows, b: Rows, setting: str) -> dict[str, Rows]:
    """The rows of each split, always in the order EB1, EB2, test, so that all settings share one file of pixels."""
    tested = np.array([name.startswith("val/") for name in files])
    male, old, extreme = y == 1, b >= len(YOUNG), b < len(BANDS)
    first, second, test = (
        np.flatnonzero(extreme & chosen) for chosen in (~tested & (male == old), ~tested & (male != old), tested)
    )
    for split, chosen in {"EB1": first, "EB2": second, "test": test}.items():
        if not len(chosen):
            paths = " and ".join(str(table.path) for table in tables)
            raise InputError("fairface-split-empty", split=split, files=paths)
    if setting == "all":
        return {"train": np.concatenate([first, second]), "test": test}
    extremes = {"EB1": first, "EB2": second}
    return {"train" if split == setting else split: chosen for split, chosen in extremes.items()} | {"test": test}


def _files(tables: list[CsvText]) -> list[str]:
    """The path of every image, each listed once and under train/ or val/."""
    names: dict[str, None] = {}
    for table in tables:
        for row, name in enumerate(table["file"]):
            if not name.startswith(("train/", "val/")):
                raise table.wrong("file", row, "a path under train/ or val/")
            if name in names:
                raise table.wrong("file", row, "an image that no other line names")
            names[name] = None
    return list(names)
