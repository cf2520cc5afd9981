"""Reads what the authors of IMDB-WIKI (Rothe et al., 2015) tell of each photo: who is on it, how old, how sure that is.

Their imdb.mat and wiki.mat are alike but for the name of the one variable in them.
"""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.given_files import damaged

NUMBERS = ("dob", "photo_taken", "gender", "face_score", "second_face_score")
FIELDS = ("full_path", *NUMBERS)
EPOCH = 719_529  # MATLAB's number of 1 January 1970, the day from which NumPy counts
HEADER, PACKED = 128, 15  # bytes before the first variable of a MATLAB file; the type of one that zlib packed
LAST_DAY = 10_000_000  # no day number lies beyond; larger ones would overflow


class Faces(NamedTuple):
    """Photos with the face that was found on each; every field has one entry per photo."""

    paths: NDArray[np.object_]  # within the archive, as "17/10000217_1981-05-05_2009.jpg"
    gender: NDArray[np.float64]  # 1 male, 0 female, NaN unknown
    age: NDArray[np.float64]  # in whole years, NaN unknown
    score: NDArray[np.float64]  # of the face, −∞ where none was found
    second_score: NDArray[np.float64]  # of a second face, NaN where there is none


class Photos(NamedTuple):
    """Photos whose labels are known; ``test`` tells which of them are to be tested on, where a list says so."""

    paths: NDArray[np.object_]
    male: NDArray[np.int64]
    age: NDArray[np.int64]
    test: NDArray[np.bool_] | None = None


def read_faces(path: Path, data: bytes, name: str) -> Faces:
    """All photos of imdb.mat or wiki.mat, whose variable is called ``name``; nothing in the file is run.

    ``data`` is what the file holds, wherever it was read from; errors name it by ``path``.
    """
    record = _record(path, data, name)
    missing = [field for field in FIELDS if field not in record.dtype.names]
    if missing:
        raise damaged(path, f"has no {', '.join(missing)} in its '{name}'")
    paths = _paths(path, record["full_path"])
    columns = {field: _numbers(path, field, record[field]) for field in NUMBERS}
    for field, values in columns.items():
        if len(values) != len(paths):
            raise damaged(path, f"has {len(paths):,} paths but {len(values):,} values of {field}")
    age = ages(columns["dob"], columns["photo_taken"])
    return Faces(paths, columns["gender"], age, columns["face_score"], columns["second_face_score"])


def ages(born: NDArray[np.float64], taken: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole years between a birth, as MATLAB's number of the day, and the middle of the year a photo was taken in.

    A photo is dated by its year alone; its authors take that for the year's middle, so who was born in July or later
    has had no birthday yet. NaN where either is unknown.
    """
    known = (np.abs(born) < LAST_DAY) & (np.abs(taken) < LAST_DAY)  # NaN is not
    days = np.where(known, np.floor(born) - EPOCH, 0).astype(np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)  # since January 1970
    june = 12 * (np.where(known, taken, 0).astype(np.int64) - 1970) + 5
    return np.where(known, (june - months) // 12, np.nan)


def clean(faces: Faces, *, least_score: float, second_face: bool, oldest: int) -> Photos:
    """The photos whose labels can be trusted: a sure face, no other beside it, gender known, an age that can be.

    With ``second_face`` those with another face stay. A picture that is listed twice is taken once.
    """
    kept = np.isfinite(faces.score) & (faces.score >= least_score)
    kept &= second_face | np.isnan(faces.second_score)
    kept &= np.isin(faces.gender, (0, 1)) & (faces.age >= 0) & (faces.age <= oldest)
    rows = np.flatnonzero(kept)
    first = np.unique(faces.paths[rows].astype(np.str_), return_index=True)[1]
    rows = rows[np.sort(first)]
    return Photos(faces.paths[rows], faces.gender[rows].astype(np.int64), faces.age[rows].astype(np.int64))


def people(paths: NDArray[np.object_]) -> NDArray[np.int64]:
    """The number, from 0, of the person on each photo: the authors' own is in its name, before the first underscore."""
    names = [path.rpartition("/")[2].partition("_")[0] for path in paths]
    return np.unique(names, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _record(path: Path, data: bytes, name: str) -> Any:
    """The one struct in the file."""
    from scipy.io import loadmat

    try:
        _check_packed(data)
        loaded = loadmat(io.BytesIO(data), variable_names=[name])
    except NotImplementedError as error:
        raise damaged(path, "is a MATLAB 7.3 file, where the version 5 that is distributed is wanted") from error
    except Exception as error:  # on a damaged file SciPy fails with whatever its parser ran into
        raise damaged(path, "is not a whole MATLAB file of version 5") from error
    if name not in loaded:
        raise damaged(path, f"has no variable '{name}'")
    value = loaded[name]
    if getattr(value, "dtype", None) is None or value.dtype.names is None or value.size != 1:
        raise damaged(path, f"has a '{name}' that is not one struct")
    return value.reshape(-1)[0]


def _check_packed(data: bytes) -> None:
    """Nothing, or an error where a packed variable is damaged: SciPy would not see it, and might crash."""
    order = "<II" if data[126:128] == b"IM" else ">II"
    place = HEADER
    while place + 8 <= len(data):
        kind, size = struct.unpack_from(order, data, place)
        if kind == PACKED:
            zlib.decompress(data[place + 8 : place + 8 + size])
        place += 8 + size


def _numbers(path: Path, field: str, values: Any) -> NDArray[np.float64]:
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        raise damaged(path, f"has a {field} that is not numbers")
    return values.reshape(-1).astype(np.float64)


def _paths(path: Path, cells: Any) -> NDArray[np.object_]:
    if not isinstance(cells, np.ndarray) or cells.dtype != object or cells.size == 0:
        raise damaged(path, "has a full_path that is not a list of words")
    words = np.empty(cells.size, dtype=object)
    for row, cell in enumerate(cells.reshape(-1)):
        if not isinstance(cell, np.ndarray) or cell.dtype.kind != "U" or cell.size != 1:
            raise damaged(path, f"has a full_path that is not a word in row {row}")
        words[row] = cell.item()
    return words
