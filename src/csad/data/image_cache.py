"""Decoded images in a file of bytes: written in any order, in any number of sittings, and used only when whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from csad.data.progress import listener
from csad.errors import InputError

FORMAT = "2"  # of the files here and of how images become pixels: another one is another cache
WAITS, KEPT, BROKEN = 0, 1, 2  # what is known of an image


def fingerprint(*words: str) -> str:
    """A short word that other words would not have."""
    found = hashlib.sha256(FORMAT.encode())
    for word in words:
        found.update(f"\0{word}".encode("utf-8", "surrogateescape"))
    return found.hexdigest()[:16]


class ImageCache:
    """The pixels of ``count`` images of one shape in a folder of their own.

    ``building`` has a place for each image, ``marks`` a byte that says what is known of it, written after its pixels.
    When all are known, ``building`` becomes ``pixels`` in one move, with those left out that are broken.
    """

    def __init__(self, folder: Path, count: int, shape: tuple[int, ...]) -> None:
        self.folder, self.count, self.shape = folder, count, shape
        self.row = int(np.prod(shape))  # bytes
        self._building, self._marks, self._pixels = (folder / name for name in ("building", "marks", "pixels"))
        self._closing = folder / "closing"  # the pixels while the places of broken images are left out

    def marks(self) -> NDArray[np.uint8]:
        """What is known of each image: WAITS, KEPT or BROKEN; nothing is, where the file has a wrong length."""
        if _length(self._marks) != self.count:
            return np.zeros(self.count, dtype=np.uint8)
        return np.fromfile(self._marks, dtype=np.uint8)

    def is_whole(self) -> bool:
        """Whether every image is known, and the pixels are all there."""
        marks = self.marks()
        return bool((marks != WAITS).all()) and _length(self._pixels) == int((marks == KEPT).sum()) * self.row

    def pixels(self) -> NDArray[np.uint8]:
        """Those of the images that are kept, memory-mapped: to write into them changes memory, never the file."""
        # Copy on write, because torch shares no memory that is read-only.
        return np.memmap(self._pixels, dtype=np.uint8, mode="c").reshape(-1, *self.shape)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """While this lasts no other process writes here; what goes wrong with the disk is told as an input error."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _lock(self.folder):
                yield
        except (OSError, NotImplementedError) as error:  # the latter from a disk that cannot lock files
            raise self._useless(getattr(error, "strerror", None) or str(error)) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """What takes pixels; whatever it was given stays, however this ends."""
        if _length(self._building) != self.count * self.row or _length(self._marks) != self.count:
            self.discard()
            self._marks.write_bytes(bytes(self.count))
            with self._building.open("wb") as stream:
                stream.truncate(self.count * self.row)
        self._check_room()
        with self._building.open("r+b") as stream:
            writer = Writer(stream, np.memmap(self._marks, dtype=np.uint8, mode="r+"), self.row)
            try:
                yield writer
            finally:
                writer.save()

    def finish(self) -> None:
        """The pixels become whole, in one move."""
        kept = np.flatnonzero(self.marks() == KEPT)
        if len(kept) < self.count:
            rows = np.memmap(self._building, dtype=np.uint8, mode="r", shape=(self.count, self.row))
            with self._closing.open("wb") as stream:
                for place in kept:
                    stream.write(rows[place].data)
            os.replace(self._closing, self._pixels)
            self._building.unlink()
        else:
            os.replace(self._building, self._pixels)

    def discard(self) -> None:
        """Nothing is kept of these images."""
        for path in (self._marks, self._pixels, self._building, self._closing):
            path.unlink(missing_ok=True)

    def _check_room(self) -> None:
        wanted, free = int((self.marks() == WAITS).sum()) * self.row, shutil.disk_usage(self.folder).free
        if wanted > free:
            unit, name = (1e9, "GB") if wanted >= 1e9 else (1e6, "MB")
            raise self._useless(f"{wanted / unit:,.1f} {name} are wanted, {free / unit:,.1f} {name} are free")

    def _useless(self, reason: str) -> InputError:
        return InputError(
            f"Decoded images cannot be kept in {self.folder} ({reason}): set CSAD_CACHE to a folder with room."
        )


class Writer:
    """Takes the pixels of images, each at its place, and marks them once they are on the disk."""

    def __init__(self, stream: BinaryIO, marks: NDArray[np.uint8], row: int) -> None:
        self._stream, self._marks, self._row = stream, marks, row
        self._new: dict[int, int] = {}

    def put(self, place: int, pixels: NDArray[np.uint8] | None) -> None:
        """The pixels of the image at that place, or None where it is broken."""
        if pixels is not None:
            self._stream.seek(place * self._row)
            self._stream.write(pixels.data)
        self._new[place] = BROKEN if pixels is None else KEPT

    def save(self) -> None:
        """Whatever was put so far outlasts this process."""
        self._stream.flush()
        os.fsync(self._stream.fileno())  # first the pixels, then the word that they are there
        self._marks[list(self._new)] = list(self._new.values())
        self._new = {}


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout  # comes with torch

    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        listener.get()(f"Another process is decoding the same images into {folder}: waiting for it.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
