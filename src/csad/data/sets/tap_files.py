"""The JSON files of mPower's tapping records, found by the file handles of Synapse."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePath

from csad.data.archives import BROKEN, check_packed
from csad.errors import InputError


class TapFiles:
    """The files of a folder, its folders included, or of a zip file, by file handle.

    A file belongs to a handle if its name starts with that number, or if it lies in a folder whose name is that number.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        try:
            self._zip = None if place.is_dir() else zipfile.ZipFile(place)
        except BROKEN as error:
            raise InputError(f"{place} is neither a folder nor a whole zip file: {error}.") from error
        self._names: dict[str, str] = {}
        for name in self._walk():
            for handle in _handles(PurePath(name)):
                self._names.setdefault(handle, name)  # the first in the order of names, whatever the disk's own is

    def __enter__(self) -> TapFiles:
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    def __contains__(self, handle: str) -> bool:
        return handle in self._names

    def where(self, handle: str) -> str:
        """The path of the file of that handle."""
        return str(self.place / self._names[handle])

    def read(self, handle: str) -> bytes:
        """What the file of that handle holds."""
        name = self._names[handle]
        if self._zip is not None:
            check_packed(self._zip.getinfo(name), self.place)
        try:
            return (self.place / name).read_bytes() if self._zip is None else self._zip.read(name)
        except BROKEN as error:
            reason = getattr(error, "strerror", None) or error  # an unpacker's own OSError has none
            raise InputError(f"{self.where(handle)} cannot be read: {reason}; download it again.") from error

    def _walk(self) -> Iterator[str]:
        if self._zip is not None:
            yield from sorted(name for name in self._zip.namelist() if not name.endswith("/"))
            return
        for folder, inner, names in os.walk(self.place):
            inner.sort()
            yield from (os.path.relpath(os.path.join(folder, name), self.place) for name in sorted(names))


def _handles(path: PurePath) -> list[str]:
    if path.name.startswith("."):  # what a Mac adds to a zip file
        return []
    digits = re.match(r"\d+", path.name)
    own = [digits[0]] if digits else []
    return own + ([path.parent.name] if path.parent.name.isdecimal() else [])
