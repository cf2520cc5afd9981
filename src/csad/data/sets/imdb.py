"""IMDB and WIKI faces (Rothe et al., 2015): man or woman, where in training the age gives it away."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import open_archive, read_first
from csad.data.given_files import find_given, first_given, read_given
from csad.data.images import pixels_at, read_images
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.sets.age_extremes import AGES, EXTREMES, age_bins, check_parts, divide, extremes_and_test
from csad.data.sets.face_metadata import Photos, clean, people, read_faces
from csad.data.sets.imdb_lists import LABELS, PARTS, read_lists
from csad.data.split import check_share
from csad.data.vary import Pictures
from csad.errors import InputError, unknown
from csad.registry import DATASETS

SOURCE = "https://data.vision.ee.ethz.ch/cvl/rrothe/imdb-wiki ({name}_crop.tar; {name}.mat is inside it)"
LISTS_SOURCE = f"{SOURCE} and, the lists, https://github.com/feidfoe/learning-not-to-learn (dataset/IMDB)"
GENDERS = ("female", "male")
VALIDATED = ("train", "opposite")

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

    Trained on is ``setting``, EB1 or EB2; the other is a split of that name, see ``age_extremes.divide``.
    ``validation_of`` is "train", or "opposite" for validation photos in which age and gender go the other way. Photos
    are left out with a face score below ``least_score``, a second face (unless ``second_face``), an unknown gender, or
    an age that is not 0 … ``oldest``. With ``lists`` (IMDB only) photos, labels and test split are those that Kim et
    al. released, and ``least_score``, ``second_face`` and ``oldest`` mean nothing. As in the paper, other photos of a
    person who is trained on may be tested on; age and person are extra facts. ``tolerance`` is in bins. In training
    half of the photos are flipped, and moved by at most ``shift`` pixels.
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
    splits = _samples(photos, parts, pictures, name=name, size=size)
    return Dataset(task, splits, vary=Pictures(flip, shift))


imdb = functools.partial(faces, "imdb")
wiki = functools.partial(faces, "wiki")
DATASETS.register("imdb", "Faces of actors: gender is the target; age gives it away in training (EB1 or EB2).")(imdb)
DATASETS.register("wiki", "Faces from Wikipedia, the sister set of IMDB: gender and age, in the same splits.")(wiki)


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


def _samples(photos: Photos, parts: dict[str, Rows], pictures: Path, *, name: str, size: int) -> dict[str, Samples]:
    """The splits with their pictures; photos without one, or with a broken one, are left out."""
    # All are decoded once, whatever is trained on, tested or validated on: in an order that depends on none of that,
    # and in which EB1, EB2 and the test photos of the default seed are a stretch each.
    order = np.concatenate([*extremes_and_test(photos).values()])
    folder, there = _present(pictures, name, photos.paths, order)
    check_parts({part: rows[there[rows]] for part, rows in parts.items()})
    order = order[there[order]]
    images = read_images(pictures, [folder + path for path in photos.paths[order]], size=size)
    place = np.full(len(photos.paths), -1)
    place[order[images.kept]] = np.arange(len(images.kept))
    bins, person = age_bins(photos.age), people(photos.paths)
    splits = {}
    for part, rows in parts.items():
        kept = rows[place[rows] >= 0]
        pixels = pixels_at(images.pixels, place[kept])
        facts = {"person": person[kept], "age": photos.age[kept]}
        splits[part] = Samples(pixels, photos.male[kept], bins[kept], facts)
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
