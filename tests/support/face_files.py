"""Files of IMDB-WIKI for tests: made up in the real structure, or the real ones where they are."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

from csad.data.datasets.face_metadata import Faces, read_faces

NAN = float("nan")
GOOD: dict[str, Any] = {"born": (1980, 3, 1), "taken": 2000, "gender": 1.0, "score": 3.0, "second": NAN}


def day(year: int, month: int, day: int) -> int:
    """MATLAB's number of a day: Python counts from the year 1, MATLAB from the year 0, which was a leap year."""
    return datetime.date(year, month, day).toordinal() + 366


def cells(values: list[Any]) -> np.ndarray:
    """A MATLAB cell array (1, n)."""
    found = np.empty((1, len(values)), dtype=object)
    found[0, :] = values
    return found


def record(*rows: dict[str, Any]) -> dict[str, np.ndarray]:
    """The fields of a .mat file as they are distributed, of good photos but for what each row says."""
    whole = [GOOD | {"path": f"{n % 100:02}/{n}.jpg"} | row for n, row in enumerate(rows)]
    return {
        "dob": np.array([[day(*row["born"]) for row in whole]], dtype=np.int32),
        "photo_taken": np.array([[row["taken"] for row in whole]], dtype=np.uint16),
        "full_path": cells([row["path"] for row in whole]),
        "gender": np.array([[row["gender"] for row in whole]], dtype=np.float64),
        "name": cells([f"somebody {n}" for n in range(len(whole))]),
        "face_location": cells([np.array([[1.0, 2.0, 30.0, 40.0]])] * len(whole)),
        "face_score": np.array([[row["score"] for row in whole]], dtype=np.float64),
        "second_face_score": np.array([[row["second"] for row in whole]], dtype=np.float64),
    }


def saved(path: Path, fields: Any, name: str = "wiki", *, packed: bool = False) -> Path:
    savemat(path, {name: fields}, do_compression=packed)
    return path


def faces_of(path: Path, name: str = "wiki") -> Faces:
    return read_faces(path, path.read_bytes(), name)
