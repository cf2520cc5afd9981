"""Where files lie that are not a run's: the data folder that the user names, and the cache that csad fills."""

from __future__ import annotations

import os
from pathlib import Path

from csad.errors import InputError


def data_folder(named: Path | None) -> Path | None:
    """The folder that holds the data sets: the one that is named, else ``CSAD_DATA``, else none."""
    path = named or os.environ.get("CSAD_DATA")
    if not path:
        return None
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise InputError(f"The data folder {folder} does not exist, or is no folder: mend --data-root or CSAD_DATA.")
    return folder


def cache_folder() -> Path:
    """``CSAD_CACHE``, else the system's cache of csad."""
    if named := os.environ.get("CSAD_CACHE"):
        return Path(named).expanduser()
    try:
        import pooch
    except ImportError:  # it is needed for downloads alone
        return Path.home() / ".cache" / "csad"
    return Path(pooch.os_cache("csad"))
