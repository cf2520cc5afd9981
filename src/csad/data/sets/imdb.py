"""IMDB and WIKI faces (Rothe et al., 2015): man or woman, where in training the age gives it away."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import open_archive, read_first
from csad.data.given_files import find_given, first_given, read_given
from csad.data.images import read_parts
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.sets.face_metadata import Photos, clean, read_faces
from csad.data.sets.imdb_lists import LABELS, PARTS, read_lists
from csad.data.split import check_share, generator_for, stratified
from csad.data.vary import Pictures
from csad.errors import InputError, unknown
from csad.registry import DATASETS

SOURCE = "https://data.vision.ee.ethz.ch/cvl/rrothe/imdb-wiki ({name}_crop.tar; {name}.mat is inside it)"
LISTS_SOURCE = f"{SOURCE} and, the lists, https://github.com/feidfoe/learning-not-to-learn (dataset/IMDB)"
GENDERS = ("female", "male")
EDGES = (20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70)  # where the bins of ages after the first begin: Alvi et al.'s
AGES = ("0-19", *(f"{first}-{first + 4}" for first in EDGES[:-1]), "70+")
VALIDATED = ("train", "opposite")
EXTREMES = ("EB1", "EB2")  # women aged 0–29 and men aged 40+; women aged 40+ and men aged 0–29
YOUNG, OLD = 29, 40  # the last age that is young, the first that is old
TESTING = 0.2  # the share of the young and old that is tested on

Rows = NDArray[np.int64]


class PhotoWarning(UserWarning):
    """Photos that are listed are not among the pictures, and left out."""


def faces(
    name: str,
    *,
    setting: str = "EB1",
    size: int = 64,
    flip: bool = True,
    shift: int = 0,
    least_score: float = 1.0,
    second_face: bool = False,
    oldest: int = 100,
    lists: bool = False,
    validation: float = 0.0,
    validation_of: str = "train",
    related: str = "same_bias",
    tolerance: tuple[float, ...] = (),
    seed: int = 0,
    data_root: Path | None = None,
) -> Dataset:
    """Faces of ``size`` pixels (224 in the paper): gender is the target, age in 12 bins the bias, as in Kim et al.

    Trained on is ``setting``, EB1 or EB2; the other is a split of that name, see ``divide``. ``validation_of`` is
    "train", or "opposite" for validation photos in which age and gender go the other way. Photos are left out with a
    face score below ``least_score``, a second face (unless ``second_face``), an unknown gender, or an age that is not
    0 … ``oldest``. With ``lists`` (IMDB only) photos, labels and test split are those that Kim et al. released, and
    ``least_score``, ``second_face`` and ``oldest`` mean nothing. As in the paper, other photos of a person who is
    trained on may be tested on. ``tolerance`` is in bins. In training half of the photos are flipped, and moved by at
    most ``shift`` pixels.
    """
    if setting not in EXTREMES:
        raise unknown("setting", setting, EXTREMES)
    if validation_of not in VALIDATED:
        raise unknown("part to validate on", validation_of, VALIDATED)
    check_share(validation, of="training photos" if validation_of == "train" else "photos of the opposite set")
    task = Task(
        name, (3, size, size), Classes(2, GENDERS), (Classes(len(AGES), AGES),), ("age",), Related(related, tolerance)
    )
    if lists:
        photos, pictures = _listed(name, data_root)
    else:
        photos, pictures = _cleaned(name, data_root, least_score, second_face, oldest)
    opposite = validation_of == "opposite"
    parts = divide(photos, setting=setting, validation=validation, of_opposite=opposite, seed=seed)
    splits = _samples(photos, parts, pictures, name=name, setting=setting, size=size)
    return Dataset(task, splits, vary=Pictures(flip, shift))


imdb = functools.partial(faces, "imdb")
wiki = functools.partial(faces, "wiki")
DATASETS.register("imdb", "Faces of actors: gender is the target; age gives it away in training (EB1 or EB2).")(imdb)
DATASETS.register("wiki", "Faces from Wikipedia, the sister set of IMDB: gender and age, in the same splits.")(wiki)


def divide(
    photos: Photos, *, setting: str, validation: float = 0.0, of_opposite: bool = False, seed: int = 0
) -> dict[str, Rows]:
    """The rows of each split; photos of people aged 30–39 are in none.

    "test" has a fifth of the others, drawn by ``seed``, with every combination of gender and young or old as frequent
    as in the rest, or the photos that a list says. The rest is EB1, women aged 0–29 and men aged 40+, and EB2, women
    aged 40+ and men aged 0–29. The one called ``setting`` is "train", less the share ``validation``, which is drawn
    from the other one if ``of_opposite``.
    """
    male, old = photos.male == 1, photos.age >= OLD
    extreme = old | (photos.age <= YOUNG)
    if photos.test is None:
        rest, test = _drawn(np.flatnonzero(extreme), 2 * male + old, TESTING, seed, "faces to test")
    else:
        rest, test = np.flatnonzero(extreme & ~photos.test), np.flatnonzero(photos.test)
    eb1 = rest[male[rest] == old[rest]]
    eb2 = rest[male[rest] != old[rest]]
    train, other = (eb1, eb2) if setting == "EB1" else (eb2, eb1)
    opposite = "EB2" if setting == "EB1" else "EB1"
    parts = {"train": train, opposite: other, "test": test}
    if validation:
        cells, part = 2 * age_bins(photos.age) + photos.male, opposite if of_opposite else "train"
        parts[part], parts["validation"] = _drawn(parts[part], cells, validation, seed, "faces to validate")
    _check_parts(parts)
    return parts


def age_bins(age: Rows) -> Rows:
    """The number of each age's bin of ``AGES``."""
    return np.digitize(age, EDGES).astype(np.int64)


def _drawn(rows: Rows, cells: Rows, share: float, seed: int, purpose: str) -> tuple[Rows, Rows]:
    """The rows that stay, and the share of them that is drawn, from every cell alike."""
    held = round(share * len(rows))
    stay, drawn = stratified(cells[rows], (len(rows) - held, held), generator_for(seed, purpose))
    return rows[stay], rows[drawn]


def _check_parts(parts: dict[str, Rows]) -> None:
    empty = [f"'{part}'" for part, rows in parts.items() if not len(rows)]
    if empty:
        raise InputError(f"No photo is left for the split {' and '.join(empty)}: give more, or leave fewer out.")


def _cleaned(
    name: str, data_root: Path | None, least_score: float, second_face: bool, oldest: int
) -> tuple[Photos, Path]:
    """The photos of the metadata that are clean, and where the pictures lie."""
    metadata, data, pictures = _metadata(name, data_root)
    listed = read_faces(metadata, data, name)
    photos = clean(listed, least_score=least_score, second_face=second_face, oldest=oldest)
    if not len(photos.paths):
        rules = f"least_score={least_score}, oldest={oldest}"
        raise InputError(f"None of the {len(listed.paths):,} photos in {metadata} is clean ({rules}): ask for less.")
    return photos, pictures


def _metadata(name: str, data_root: Path | None) -> tuple[Path, bytes, Path]:
    """Path and bytes of the metadata, loose or, as distributed, among the pictures, and where the pictures lie."""
    names, archives = (f"{name}.mat", f"{name}_crop/{name}.mat"), _pictures(name)
    pictures = first_given(archives, name, data_root)
    if pictures is not None and first_given(names, name, data_root) is None:
        packed = read_first(pictures, names)
        if packed is not None:
            return *packed, pictures
    metadata, pictures = find_given([names, archives], name, SOURCE.format(name=name), data_root)
    return metadata, read_given(metadata), pictures


def _listed(name: str, data_root: Path | None) -> tuple[Photos, Path]:
    """The photos of Kim et al., and where the pictures lie."""
    if name != "imdb":
        raise InputError(f"lists are there for imdb only, not for {name}: leave lists out.")
    wanted = [(LABELS,), (PARTS,), _pictures(name)]
    labels, parts, pictures = find_given(wanted, name, LISTS_SOURCE.format(name=name), data_root)
    return read_lists(labels, parts), pictures


def _pictures(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_crop{kind}" for kind in (".tar", ".zip", ""))


def _samples(
    photos: Photos, parts: dict[str, Rows], pictures: Path, *, name: str, setting: str, size: int
) -> dict[str, Samples]:
    """The splits with their pictures; photos without one, or with a broken one, are left out."""
    folder, there = _present(pictures, name, photos.paths, np.concatenate(list(parts.values())))
    parts = {part: rows[there[rows]] for part, rows in parts.items()}
    _check_parts(parts)
    paths = {part: [folder + path for path in photos.paths[rows]] for part, rows in parts.items()}
    # Decoded in this order, they are the same list, and decoded once, whichever of EB1 and EB2 is trained on.
    order = sorted(paths, key=lambda part: setting if part == "train" else part)
    images = read_parts(pictures, {part: paths[part] for part in order}, size=size)
    bins = age_bins(photos.age)
    splits = {}
    for part, rows in parts.items():
        kept = rows[images[part].kept]
        splits[part] = Samples(images[part].pixels, photos.male[kept], bins[kept], {"age": photos.age[kept]})
    return splits


def _present(pictures: Path, name: str, paths: NDArray[np.object_], rows: Rows) -> tuple[str, NDArray[np.bool_]]:
    """The folder inside an archive that holds the photos, "" if none, and which of all photos are there."""
    folders = (f"{name}_crop/", "")
    found = _held(pictures, [folder + path for folder in folders for path in paths[rows]]).reshape(2, -1)
    best = int(found.sum(1).argmax())
    there = np.zeros(len(paths), dtype=bool)
    there[rows] = found[best]
    missing = len(rows) - int(there.sum())
    if missing == len(rows):
        raise InputError(f"{pictures} holds none of the {missing:,} photos that are wanted: download it again.")
    if missing:
        told = f"{missing:,} of the {len(rows):,} photos that are wanted are not in {pictures}: left out."
        warnings.warn(told, PhotoWarning, stacklevel=4)
    return folders[best], there


def _held(pictures: Path, names: list[str]) -> NDArray[np.bool_]:
    """Which of the names are in the folder or archive."""
    with open_archive(pictures, ()) as archive:
        return np.array([archive.holds(name) for name in names])
