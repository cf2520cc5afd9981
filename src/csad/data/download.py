"""Files that others distribute: found where the user keeps them, or fetched once into a cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from csad.data.given_files import damaged
from csad.data.places import cache_folder, data_folder
from csad.errors import InputError, unreadable

PATIENCE = (5, 30)  # seconds to connect, seconds between two pieces


def find_or_fetch(
    files: Mapping[str, str], folder: str, mirrors: tuple[str, ...], data_root: Path | None = None
) -> dict[str, Path]:
    """Where each file (name → sha256) lies: under the data root, or in the cache, fetched if need be.

    Under the data root (``CSAD_DATA`` where None) a file may lie in ``folder`` or beside it, as distributed
    and then with the right checksum, or without its .gz. The cache is ``CSAD_CACHE``, else the system's.
    """
    root = data_folder(data_root)
    return {
        name: _under(root, folder, name, sha256) or _cached(name, sha256, folder, mirrors)
        for name, sha256 in files.items()
    }


def _under(root: Path | None, folder: str, name: str, sha256: str) -> Path | None:
    unpacked = name.removesuffix(".gz")
    for path in [] if root is None else [root / folder / name, root / name]:
        if path.is_file():
            _check(path, sha256)
            return path
        # What was unpacked has no published checksum; the reader of its format checks it.
        if unpacked != name and path.with_name(unpacked).is_file():
            return path.with_name(unpacked)
    return None


def _check(path: Path, sha256: str) -> None:
    if _sha256(path) != sha256:
        what = "is not the file as it is distributed: its checksum differs, so it is cut short or changed"
        raise damaged(path, f"({path.stat().st_size:,} bytes) {what}")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def _cached(name: str, sha256: str, folder: str, mirrors: tuple[str, ...]) -> Path:
    by_hand = f"put it into FOLDER/{folder} by hand and give --data-root FOLDER or set CSAD_DATA=FOLDER"
    place = cache_folder() / folder
    if (place / name).is_file() and _sha256(place / name) == sha256:
        return place / name
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{name} cannot be kept in {place} ({reason}): set CSAD_CACHE, or {by_hand}.") from error
    pooch = _pooch(name, by_hand)
    failures = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{name}"
        try:
            # It renames a temporary file once the checksum is right: a broken download never looks whole.
            downloader = pooch.HTTPDownloader(timeout=PATIENCE)
            return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=name, path=place, downloader=downloader))
        except (OSError, ValueError) as error:
            failures.append(f"{url} ({_reason(error)})")
    raise InputError(f"{name} could not be fetched from {', '.join(failures)}: {by_hand}.")


def _pooch(name: str, by_hand: str) -> Any:
    try:
        import pooch
    except ImportError as error:
        raise InputError(f"{name} is fetched with pooch, which is not installed: install it, or {by_hand}.") from error
    pooch.get_logger().setLevel("WARNING")  # it would write a line of its own to stderr for each mirror
    return pooch


def _reason(error: Exception) -> str:
    """A few words on why a mirror failed; the exceptions' own texts run to many lines."""
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"HTTP {answer.status_code}"
    kind = type(error).__name__
    if "Timeout" in kind:
        return "no answer in time"
    if kind in ("ConnectionError", "ProxyError", "SSLError"):
        return "no connection"
    return "wrong checksum" if isinstance(error, ValueError) and "hash" in str(error) else kind
