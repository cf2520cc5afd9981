"""Reads .npz files without ever running what is in them."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError, unreadable


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of an .npz file by name; a file that is none, or holds Python objects, is an error."""
    try:
        # Opened here because NumPy leaves a broken file open.
        with path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise InputError(f"{path} holds one array, not an .npz with x, y and b: write it with numpy.savez.")
            with loaded:
                return {key: loaded[key] for key in loaded.files}
    except InputError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        what = "holds Python objects" if "Object arrays" in str(error) else "is not an .npz file"
        raise InputError(f"{path} {what}: write plain arrays x, y and b with numpy.savez.") from error


def member(arrays: dict[str, NDArray[Any]], key: str, path: Path) -> NDArray[Any]:
    """The array called ``key``, or an error that lists what there is."""
    if key not in arrays:
        raise InputError(f"{path} has no array '{key}', only {', '.join(sorted(arrays)) or 'none'}: add it.")
    return arrays[key]
