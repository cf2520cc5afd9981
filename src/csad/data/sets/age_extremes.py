"""Photos of the young and the old, divided as in Kim et al. (CVPR 2019): two sets in which age tells gender, a test.

In EB1 women are young and men old, in EB2 the other way round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csad.data.sets.face_metadata import Photos
from csad.data.split import generator_for, stratified
from csad.errors import InputError

EDGES = (20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70)  # where the bins of ages after the first begin: Alvi et al.'s
AGES = ("0-19", *(f"{first}-{first + 4}" for first in EDGES[:-1]), "70+")
EXTREMES = ("EB1", "EB2")  # women aged 0–29 and men aged 40+; women aged 40+ and men aged 0–29
YOUNG, OLD = 29, 40  # the last age that is young, the first that is old
TESTING = 0.2  # the share of the young and old that is tested on

Rows = NDArray[np.int64]


def divide(
    photos: Photos, *, setting: str, validation: float = 0.0, of_opposite: bool = False, seed: int = 0
) -> dict[str, Rows]:
    """The rows of each split: those of ``extremes_and_test``, of which the one called ``setting`` is "train".

    "validation" is the share of that name of "train", or of the opposite set if ``of_opposite``, which then lack it.
    """
    parts = extremes_and_test(photos, seed)
    opposite = "EB2" if setting == "EB1" else "EB1"
    parts = {"train": parts[setting], opposite: parts[opposite], "test": parts["test"]}
    if validation:
        cells, part = 2 * age_bins(photos.age) + photos.male, opposite if of_opposite else "train"
        parts[part], parts["validation"] = _drawn(parts[part], cells, validation, seed, "faces to validate")
    check_parts(parts)
    return parts


def extremes_and_test(photos: Photos, seed: int = 0) -> dict[str, Rows]:
    """The rows of EB1, EB2 and test; photos of people aged 30–39 are in none.

    "test" has a fifth of the others, drawn by ``seed``, with every combination of gender and young or old as frequent
    as in the rest, or the photos that a list says. The rest is EB1, women aged 0–29 and men aged 40+, and EB2, women
    aged 40+ and men aged 0–29. Whatever the seed, it is the same photos in all.
    """
    male, old = photos.male == 1, photos.age >= OLD
    extreme = old | (photos.age <= YOUNG)
    if photos.test is None:
        rest, test = _drawn(np.flatnonzero(extreme), 2 * male + old, TESTING, seed, "faces to test")
    else:
        rest, test = np.flatnonzero(extreme & ~photos.test), np.flatnonzero(photos.test)
    first = male[rest] == old[rest]
    return {"EB1": rest[first], "EB2": rest[~first], "test": test}


def age_bins(age: Rows) -> Rows:
    """The number of each age's bin of ``AGES``."""
    return np.digitize(age, EDGES).astype(np.int64)


def _drawn(rows: Rows, cells: Rows, share: float, seed: int, purpose: str) -> tuple[Rows, Rows]:
    """The rows that stay, and the share of them that is drawn, from every cell alike."""
    held = round(share * len(rows))
    stay, drawn = stratified(cells[rows], (len(rows) - held, held), generator_for(seed, purpose))
    return rows[stay], rows[drawn]


def check_parts(parts: dict[str, Rows]) -> None:
    """Nothing, or an error that names the splits without a photo."""
    empty = [f"'{part}'" for part, rows in parts.items() if not len(rows)]
    if empty:
        raise InputError(f"No photo is left for the split {' and '.join(empty)}: give more, or leave fewer out.")
