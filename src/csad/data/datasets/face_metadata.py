"""Reads the metadata of IMDB-WIKI (Rothe et al., 2015): who is on each photo, how old, and how sure that is.

The files imdb.mat and wiki.mat differ only in the name of their one variable.
"""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.local_files import damaged

NUMBERS = ("dob", "photo_taken", "gender", "face_score", "second_face_score")
FIELDS = ("full_path", *NUMBERS)
EPOCH = 719_529  # MATLAB's number of 1 January 1970, the day from which NumPy counts
HEADER, PACKED = 128, 15  # bytes before the first variable of a MATLAB file; the type of a variable that zlib packed
LAST_DAY = 10_000_000  # larger day numbers would overflow


class Faces(NamedTuple):
    """Photos with the face that was detected on each; every field has one entry for each photo."""

    paths: NDArray[np.object_]  # within the archive, as "17/10000217_1981-05-05_2009.jpg"
    gender: NDArray[np.float64]  # 1 male, 0 female, NaN unknown
    age: NDArray[np.float64]  # in whole years, NaN unknown
    score: NDArray[np.float64]  # of the face, −∞ if none was detected
    second_score: NDArray[np.float64]  # of a second face, NaN if there is none


class Photos(NamedTuple):
    """Photos with known labels; ``test`` is the mask of the test photos, if a list has it."""

    paths: NDArray[np.object_]
    male: NDArray[np.int64]
    age: NDArray[np.int64]
    test: NDArray[np.bool_] | None = None


def read_faces(path: Path, data: bytes, name: str) -> Faces:
    """All photos of imdb.mat or wiki.mat, whose variable is called ``name``; no code in the file is run.

    ``data`` are the bytes of the file; errors name it by ``path``.
    """
    record = _record(path, data, name)
    missing = [field for field in FIELDS if field not in record.dtype.names]
    if missing:
        raise damaged(path, f"has no {', '.join(missing)} in its '{name}'")
    paths = _paths(path, record["full_path"])
    columns = {field: _numbers(path, field, record[field]) for field in NUMBERS}
    for field, values in columns.items():
        if len(values) != len(paths):
            raise damaged(path, f"has {len(paths):,} paths, but {len(values):,} values of {field}")
    age = ages(columns["dob"], columns["photo_taken"])
    return Faces(paths, columns["gender"], age, columns["face_score"], columns["second_face_score"])


def ages(born: NDArray[np.float64], photographed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole years between a birth, as MATLAB's number of the day, and the middle of the year of a photo.

    Only the year of a photo is known, and the authors assume its middle: people born in July or later have had no
    birthday yet. NaN if either is unknown.
    """
    known = (np.abs(born) < LAST_DAY) & (np.abs(photographed) < LAST_DAY)  # NaN is not
    days = np.where(known, np.floor(born) - EPOCH, 0).astype(np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)  # since January 1970
    june = 12 * (np.where(known, photographed, 0).astype(np.int64) - 1970) + 5
    return np.where(known, (june - months) // 12, np.nan)


def clean(faces: Faces, *, least_score: float, second_face: bool, oldest: int) -> Photos:
    """The photos whose labels can be trusted: a sure face, no second one, a known gender and a possible age.

    With ``second_face`` photos with a second face stay. A picture that is listed twice counts once.
    """
    usable = np.isfinite(faces.score) & (faces.score >= least_score)
    usable &= second_face | np.isnan(faces.second_score)
    usable &= np.isin(faces.gender, (0, 1)) & (faces.age >= 0) & (faces.age <= oldest)
    rows = np.flatnonzero(usable)
    first = np.unique(faces.paths[rows].astype(np.str_), return_index=True)[1]
    rows = rows[np.sort(first)]
    return Photos(faces.paths[rows], faces.gender[rows].astype(np.int64), faces.age[rows].astype(np.int64))


def people(paths: NDArray[np.object_]) -> NDArray[np.int64]:
    """The number, from 0, of the person on each photo; the name has the authors' number before an underscore."""
    names = [path.rpartition("/")[2].partition("_")[0] for path in paths]
    return np.unique(names, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _record(path: Path, data: bytes, name: str) -> Any:
    """The one struct in the file."""
    from scipy.io import loadmat

    try:
        _check_packed(data)
        loaded = loadmat(io.BytesIO(data), variable_names=[name])
    except NotImplementedError as error:
        raise damaged(path, "is a MATLAB 7.3 file, but the published file is version 5") from error
    except Exception as error:  # SciPy raises any error for a damaged file
        raise damaged(path, "is not a complete MATLAB file of version 5") from error
    if name not in loaded:
        raise damaged(path, f"has no variable '{name}'")
    value = loaded[name]
    if getattr(value, "dtype", None) is None or value.dtype.names is None or value.size != 1:
        raise damaged(path, f"has a '{name}' that is not one struct")
    return value.reshape(-1)[0]


def _check_packed(data: bytes) -> None:
    """Raise an error if a packed variable is damaged: SciPy would not see it, and might crash."""
    order = "<II" if data[126:128] == b"IM" else ">II"
    place = HEADER
    while place + 8 <= len(data):
        kind, size = struct.unpack_from(order, data, place)
        if kind == PACKED:
            zlib.decompress(data[place + 8 : place + 8 + size])
        place += 8 + size


def _numbers(path: Path, field: str, values: Any) -> NDArray[np.float64]:
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        raise damaged(path, f"has a {field} with values that are not numbers")
    return values.reshape(-1).astype(np.float64)


def _paths(path: Path, cells: Any) -> NDArray[np.object_]:
    if not isinstance(cells, np.ndarray) or cells.dtype != object or cells.size == 0:
        raise damaged(path, "has a full_path that is not a list of text")
    words = np.empty(cells.size, dtype=object)
    for row, cell in enumerate(cells.reshape(-1)):
        if not isinstance(cell, np.ndarray) or cell.dtype.kind != "U" or cell.size != 1:
            raise damaged(path, f"has a full_path that is not text in row {row}")
        words[row] = cell.item()
    return words
