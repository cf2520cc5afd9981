"""Files that others distribute: found in the user's folders, or fetched once into a cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from csad.data.local_files import cache_folder, damaged, data_folder
from csad.errors import InputError, unreadable

PATIENCE = (5, 30)  # seconds to connect, and between two pieces


def find_or_fetch(
    files: Mapping[str, str], folder: str, mirrors: tuple[str, ...], data_root: Path | None = None
) -> dict[str, Path]:
    """The path of each file (name → sha256): under the data root, or in the cache, fetched if need be.

    Under the data root (``CSAD_DATA`` if None) a file may be in ``folder`` or beside it, as distributed and with the
    right checksum, or without its .gz. The cache is ``CSAD_CACHE``, else that of the system.
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
        # An unpacked file has no published checksum; the reader of its format checks it.
        if unpacked != name and path.with_name(unpacked).is_file():
            return path.with_name(unpacked)
    return None


def _check(path: Path, sha256: str) -> None:
    if _sha256(path) != sha256:
        what = "differs from the published file: its checksum is wrong, so it is incomplete or was changed"
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
        raise InputError(
            "download-folder-not-writable", file=name, folder=place, reason=reason, advice=by_hand
        ) from error
    pooch = _pooch(name, by_hand)
    failures = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{name}"
        try:
            # pooch renames a temporary file once the checksum is right: a broken download never looks whole.
            downloader = pooch.HTTPDownloader(timeout=PATIENCE)
            return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=name, path=place, downloader=downloader))
        except (OSError, ValueError) as error:
            failures.append(f"{url} ({_reason(error)})")
    raise InputError("download-failed", file=name, sources=", ".join(failures), advice=by_hand)


def _pooch(name: str, by_hand: str) -> Any:
    try:
        import pooch
    except ImportError as error:
        raise InputError("pooch-not-installed", file=name, advice=by_hand) from error
    pooch.get_logger().setLevel("WARNING")  # it would write a line to stderr for each mirror
    return pooch


def _reason(error: Exception) -> str:
    """A few words on why a mirror failed; the texts of the exceptions have many lines."""
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"HTTP {answer.status_code}"
    kind = type(error).__name__
    if "Timeout" in kind:
        return "the server did not answer in time"
    if kind in ("ConnectionError", "ProxyError", "SSLError"):
        return "no connection"
    return "wrong checksum" if isinstance(error, ValueError) and "hash" in str(error) else kind
