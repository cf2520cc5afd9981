"""Decoded images in a file of bytes: written in any order, in any number of sittings, and used only when whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from csad.data.progress import listener
from csad.errors import InputError

FORMAT = "2"  # of the files here and of how images become pixels: another one is another cache
NAME = re.compile(r".*-\d+px-[0-9a-f]{16}", re.DOTALL)  # of a folder: what holds others is none of ours
LOCK = "lock"  # the file that one process at a time holds
WAITS, KEPT, BROKEN = 0, 1, 2  # what is known of an image
OF_DISK = (OSError, NotImplementedError)  # the latter from a disk that cannot lock files


def fingerprint(*words: str) -> str:
    """A short word that other words would not have."""
    found = hashlib.sha256(FORMAT.encode())
    for word in words:
        found.update(f"\0{word}".encode("utf-8", "surrogateescape"))
    return found.hexdigest()[:16]


def room(count: int) -> str:
    """So many bytes, for people."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


class ImageCache:
    """The pixels of ``count`` images of one shape in a folder of their own.

    ``building`` has a place for each image, ``marks`` a byte that says what is known of it, written after its pixels.
    When all are known, ``building`` becomes ``pixels`` in one move, with those left out that are broken. In ``about``
    people find what they were decoded from.
    """

    def __init__(self, folder: Path, count: int, shape: tuple[int, ...], source: str = "") -> None:
        self.folder, self.count, self.shape, self.source = folder, count, shape, source
        self.row = int(np.prod(shape))  # bytes
        self._building, self._marks, self._pixels = (folder / name for name in ("building", "marks", "pixels"))
        self._closing = folder / "closing"  # the pixels while the places of broken images are left out
        self._about = folder / "about"

    @classmethod
    def found(cls, folder: Path) -> ImageCache:
        """That of a folder, as ``about`` tells of it; without a source where nothing does, or in another format."""
        try:
            told = json.loads((folder / "about").read_text(encoding="utf-8"))
            count, shape = int(told["images"]), tuple(map(int, told["shape"]))
            if told["format"] == FORMAT and min(count, *shape) > 0:
                return cls(folder, count, shape, str(told["source"]))
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            pass
        return cls(folder, 0, (0,))

    def marks(self) -> NDArray[np.uint8]:
        """What is known of each image: WAITS, KEPT or BROKEN; nothing is, where the file has a wrong length."""
        if _length(self._marks) != self.count:
            return np.zeros(self.count, dtype=np.uint8)
        return np.fromfile(self._marks, dtype=np.uint8)

    def decoded(self) -> int:
        """How many of them have pixels so far."""
        return int((self.marks() == KEPT).sum())

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
        """While this lasts no other process writes here: one that does is waited for.

        What goes wrong with the disk is told as an input error.
        """
        try:
            with _lock(self.folder, wait=True):
                yield
        except OF_DISK as error:
            raise self._useless(_reason(error)) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """What takes pixels; whatever it was given stays, however this ends."""
        if _length(self._building) != self.count * self.row or _length(self._marks) != self.count:
            self.discard()
            told = {"format": FORMAT, "source": self.source, "images": self.count, "shape": self.shape}
            self._about.write_text(json.dumps(told) + "\n", encoding="utf-8")
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
        for path in self._files():
            path.unlink(missing_ok=True)

    def bytes_kept(self) -> int:
        """What it takes of the disk; of files that are yet to be filled, what is filled of them."""
        return sum(_taken(path) for path in self._files())

    def used(self) -> float:
        """When it was last written, or its pixels read, in seconds since 1970; 0 where it holds nothing."""
        facts = {path: _facts(path) for path in self._files()}
        times = [each.st_mtime for each in facts.values() if each]
        if pixels := facts[self._pixels]:  # to list what is kept reads the other files, and is no use of it
            times.append(pixels.st_atime)
        return max(times, default=0.0)

    def _files(self) -> tuple[Path, ...]:
        return self._marks, self._pixels, self._building, self._closing, self._about

    def _check_room(self) -> None:
        wanted, free = int((self.marks() == WAITS).sum()) * self.row, shutil.disk_usage(self.folder).free
        if wanted > free:
            raise self._useless(f"{room(wanted)} are wanted, {room(free)} are free")

    def _useless(self, reason: str) -> InputError:
        return InputError(
            f"Decoded images cannot be kept in {self.folder} ({reason}): set CSAD_CACHE to a folder with room, "
            "or remove what is no longer needed: csad cache."
        )


def caches_in(place: Path) -> list[ImageCache]:
    """All that hold anything, by name."""
    folders = sorted(place.iterdir()) if place.is_dir() else []
    found = [ImageCache.found(folder) for folder in folders if NAME.fullmatch(folder.name) and folder.is_dir()]
    return [one for one in found if one.used()]


def remove(caches: Sequence[ImageCache]) -> None:
    """Nothing is kept of them, nor their folders, where those hold nothing else.

    It is an error while another process writes into one of them, and then all of them stay.
    """
    with contextlib.ExitStack() as held:
        for one in caches:
            with _removing(one):
                held.enter_context(_lock(one.folder, wait=False))
        for one in caches:
            with _removing(one):
                one.discard()
                (one.folder / LOCK).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                one.folder.rmdir()


@contextlib.contextmanager
def _removing(cache: ImageCache) -> Iterator[None]:
    try:
        yield
    except OF_DISK as error:
        raise InputError(f"{cache.folder} cannot be removed ({_reason(error)}): remove it by hand.") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


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
def _lock(folder: Path, wait: bool) -> Iterator[None]:
    """Held by one process at a time: another one is waited for, or is an error."""
    from filelock import FileLock, Timeout  # comes with torch

    lock = FileLock(folder / LOCK)
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LOCK).touch()
        before = _facts(folder / LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not wait:
                told = f"Another process is decoding images into {folder}: wait for it, or stop it."
                raise InputError(told) from None
            listener.get()(f"Another process is decoding the same images into {folder}: waiting for it.")
            with contextlib.suppress(FileNotFoundError):  # who held it removed all that was kept here
                lock.acquire()
        now = _facts(folder / LOCK)
        if before and now and before.st_ino == now.st_ino:
            break
        lock.release()  # if at all, that of a file that is gone
    try:
        yield
    finally:
        lock.release()


def _facts(path: Path) -> os.stat_result | None:
    """What the system tells of a file; of one that is not there, or nobody may look at, nothing."""
    try:
        return path.stat()
    except OSError:
        return None


def _length(path: Path) -> int:
    facts = _facts(path)
    return facts.st_size if facts else -1


def _taken(path: Path) -> int:
    """Bytes on the disk: of a file with holes less than its length."""
    facts = _facts(path)
    if not facts:
        return 0
    return min(facts.st_size, 512 * facts.st_blocks) if hasattr(facts, "st_blocks") else facts.st_size
