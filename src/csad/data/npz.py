"""Reads .npz files without running any code in them."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError, unreadable


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of an .npz file by name; another file, or one with Python objects, is an error."""
    try:
        # Opened here, because NumPy leaves a broken file open.
        with path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise InputError("npz-single-array", file=path)
            with loaded:
                return {key: loaded[key] for key in loaded.files}
    except InputError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        what = "holds Python objects" if "Object arrays" in str(error) else "is not an .npz file"
        raise InputError("invalid-npz-file", file=path, problem=what) from error


def member(arrays: dict[str, NDArray[Any]], key: str, path: Path) -> NDArray[Any]:
    """The array called ``key``; without it, an error lists the arrays."""
    if key not in arrays:
        raise InputError("npz-array-missing", file=path, array=key, known=", ".join(sorted(arrays)) or "none")
    return arrays[key]
