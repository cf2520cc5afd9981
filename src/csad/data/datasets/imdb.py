"""IMDB and WIKI faces (Rothe et al., 2015): man or woman; in training the age gives it away.

Kim et al. (CVPR 2019) cleaned and divided the lists: in EB1 women are young and men old, in EB2 the other way round.
Papers compare on their test list.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import open_archive, read_first
from csad.data.augment import Pictures
from csad.data.datasets.face_metadata import Photos, clean, people, read_faces
from csad.data.events import report_notice
from csad.data.images.read import pixels_at, read_images
from csad.data.local_files import damaged, find_local_files, first_local_file, read_local_file
from csad.data.pairs import Related
from csad.data.safe_pickle import read_objects
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.splits import check_share, generator_for, stratified
from csad.errors import InputError, unknown
from csad.messages import message
from csad.registry import DATASETS

EDGES = (
    20,
    25,
    30,
    35,
    40,
    45,
    50,
    55,
    60,
    65,
    70,
)  # of the age bins, as in Alvi et al.
AGES = ("0-19", *(f"{first}-{first + 4}" for first in EDGES[:-1]), "70+")
EXTREMES = ("EB1", "EB2")  # women aged 0–29 and men aged 40+; women aged 40+ and men aged 0–29
YOUNG, OLD = 29, 40  # the last age that is young, the first that is old
TESTING = 0.2  # the share of the young and old that are for testing

Rows = NDArray[np.int64]


def divide(
    photos: Photos, *, setting: str, validation: float = 0.0, of_opposite: bool = False, seed: int = 0
) -> dict[str, Rows]:
    """The rows of each split: those of ``extremes_and_test``; the split ``setting`` is called "train".

    "validation" is that share of "train", or of the opposite set if ``of_opposite``, which loses these rows.
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
    as in the rest, or the photos of a list. The rest is EB1, women aged 0–29 and men aged 40+, and EB2, women aged 40+
    and men aged 0–29. All splits together are the same photos for every seed.
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
    """The rows that stay, and the share of rows that is drawn from every cell alike."""
    held = round(share * len(rows))
    stay, drawn = stratified(cells[rows], (len(rows) - held, held), generator_for(seed, purpose))
    return rows[stay], rows[drawn]


def check_parts(parts: dict[str, Rows]) -> None:
    """Raise InputError with the splits that have no photo, if any."""
    empty = [f"'{part}'" for part, rows in parts.items() if not len(rows)]
    if empty:
        raise InputError("photo-split-empty", splits=" and ".join(empty))


LABELS, PARTS = "imdb_age_gender.npy", "imdb_split.npy"


def read_face_lists(labels: Path, parts: Path) -> Photos:
    """Every photo in a list of ``parts``, training photos first; gender and age are from ``labels``."""
    known = {_text(path): values for path, values in _dict(labels).items()}
    lists = _dict(parts)
    for name in ("train_list", "test_list"):
        if not isinstance(lists.get(name), list):
            raise damaged(parts, f"has no list called {name}")
    train, test = ([_text(path) for path in lists[name]] for name in ("train_list", "test_list"))
    paths = np.array([*train, *test], dtype=object)
    if len(set(paths)) < len(paths):
        raise damaged(parts, "lists a photo twice")
    try:
        male, age = (np.array([int(known[path][key]) for path in paths]) for key in ("gender", "age"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise damaged(labels, f"does not give the age and gender of every photo in {parts}") from error
    if not np.isin(male, (0, 1)).all():
        raise damaged(labels, "has a gender that is neither 0 nor 1")
    return Photos(paths, male.astype(np.int64), age.astype(np.int64), np.arange(len(paths)) >= len(train))


def _dict(path: Path) -> dict[Any, Any]:
    loaded = read_objects(path)
    if not isinstance(loaded, dict):
        raise damaged(path, "does not hold a dict")
    return loaded


def _text(word: Any) -> str:
    return word.decode("latin1") if isinstance(word, bytes) else str(word)


SOURCE = "https://data.vision.ee.ethz.ch/cvl/rrothe/imdb-wiki ({name}_crop.tar; {name}.mat is inside it)"
LISTS_SOURCE = f"{SOURCE} and, the lists, https://github.com/feidfoe/learning-not-to-learn (dataset/IMDB)"
GENDERS = ("female", "male")
VALIDATED = ("train", "opposite")


class PhotoWarning(UserWarning):
    """Notice of listed photos that are left out, because their pictures are missing."""


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

    The training split is ``setting``, EB1 or EB2; the other is a split of that name, see ``divide``.
    ``validation_of`` is "train", or "opposite" for validation photos in which age and gender go the other way. Photos
    are left out with a face score below ``least_score``, a second face (unless ``second_face``), an unknown gender, or
    an age that is not 0 … ``oldest``. With ``lists`` (IMDB only) photos, labels and test split are those that Kim et
    al. released, and ``least_score``, ``second_face`` and ``oldest`` mean nothing. As in the paper, photos of one
    person may be in the training and the test split; age and person are extra facts. ``tolerance`` is in bins. In
    training half of the photos are flipped, and all are moved by at most ``shift`` pixels.
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
    """The clean photos of the metadata, and the path of the pictures."""
    metadata, data, pictures = _metadata(name, data_root)
    listed = read_faces(metadata, data, name)
    photos = clean(listed, least_score=least_score, second_face=second_face, oldest=oldest)
    if not len(photos.paths):
        rules = f"least_score={least_score}, oldest={oldest}"
        raise InputError("no-clean-photos", total=len(listed.paths), file=metadata, filters=rules)
    return photos, pictures


def _metadata(name: str, data_root: Path | None) -> tuple[Path, bytes, Path]:
    """Path and bytes of the metadata, loose or, as distributed, among the pictures; and the path of the pictures."""
    names, archives = (f"{name}.mat", f"{name}_crop/{name}.mat"), _pictures(name)
    pictures = first_local_file(archives, name, data_root)
    if pictures is not None and first_local_file(names, name, data_root) is None:
        packed = read_first(pictures, names)
        if packed is not None:
            return *packed, pictures
    metadata, pictures = find_local_files([names, archives], name, SOURCE.format(name=name), data_root)
    return metadata, read_local_file(metadata), pictures


def _listed(name: str, data_root: Path | None) -> tuple[Photos, Path]:
    """The photos of Kim et al., and the path of the pictures."""
    if name != "imdb":
        raise InputError("imdb-lists-unavailable", dataset=name)
    files = [(LABELS,), (PARTS,), _pictures(name)]
    labels, parts, pictures = find_local_files(files, name, LISTS_SOURCE.format(name=name), data_root)
    return read_face_lists(labels, parts), pictures


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
    place[order[images.places]] = np.arange(len(images.places))
    bins, person = age_bins(photos.age), people(photos.paths)
    splits = {}
    for part, rows in parts.items():
        present = rows[place[rows] >= 0]
        pixels = pixels_at(images.pixels, place[present])
        facts = {"person": person[present], "age": photos.age[present]}
        splits[part] = Samples(pixels, photos.male[present], bins[present], facts)
    return splits


def _present(pictures: Path, name: str, paths: NDArray[np.object_], rows: Rows) -> tuple[str, NDArray[np.bool_]]:
    """The folder of the photos inside an archive, "" if none, and the mask of the photos that are there."""
    folders = (f"{name}_crop/", "")
    matches = _held(pictures, [folder + path for folder in folders for path in paths[rows]]).reshape(2, -1)
    best = int(matches.sum(1).argmax())
    there = np.zeros(len(paths), dtype=bool)
    there[rows] = matches[best]
    missing = len(rows) - int(there.sum())
    if missing == len(rows):
        raise InputError("photos-missing", source=pictures, count=missing)
    if missing:
        report_notice(PhotoWarning(message("photos-left-out", missing=missing, total=len(rows), source=pictures)))
    return folders[best], there


def _held(pictures: Path, names: list[str]) -> NDArray[np.bool_]:
    """The mask of the names that are in the folder or archive."""
    with open_archive(pictures, ()) as archive:
        return np.array([archive.holds(name) for name in names])
