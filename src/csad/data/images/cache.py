"""The cache of decoded images: a file of bytes, written in any order and by several calls, used once it is whole."""

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

from csad.data.events import report_progress
from csad.errors import InputError
from csad.messages import message

FORMAT = "2"  # version of the files here and of the decoding: another one is another cache
NAME = re.compile(r".*-\d+px-[0-9a-f]{16}", re.DOTALL)  # of a folder; a folder of another name is no cache
LOCK = "lock"  # the file that one process at a time holds
WAITING, DECODED, BROKEN = 0, 1, 2  # states of an image
OF_DISK = (OSError, NotImplementedError)  # the latter on a disk that cannot lock files


def fingerprint(*words: str) -> str:
    """A short digest of these words."""
    digest = hashlib.sha256(FORMAT.encode())
    for word in words:
        digest.update(f"\0{word}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def room(count: int) -> str:
    """A number of bytes, for people."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


class ImageCache:
    """The pixels of ``count`` images of one shape in a folder of their own.

    The file ``building`` has a place for each image, ``marks`` a byte with its state, written after its pixels. Once no
    image waits, ``building`` becomes ``pixels`` in one move, without the broken images. ``about`` names the source.
    """

    def __init__(self, folder: Path, count: int, shape: tuple[int, ...], source: str = "") -> None:
        self.folder, self.count, self.shape, self.source = folder, count, shape, source
        self.row = int(np.prod(shape))  # bytes
        self._building, self._marks, self._pixels = (folder / name for name in ("building", "marks", "pixels"))
        self._closing = folder / "closing"  # the pixels, while the places of broken images are left out
        self._about = folder / "about"

    @classmethod
    def of_folder(cls, folder: Path) -> ImageCache:
        """The cache of a folder, as its ``about`` says; without a source if that is missing or of another format."""
        try:
            about = json.loads((folder / "about").read_text(encoding="utf-8"))
            count, shape = int(about["images"]), tuple(map(int, about["shape"]))
            if about["format"] == FORMAT and min(count, *shape) > 0:
                return cls(folder, count, shape, str(about["source"]))
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            pass
        return cls(folder, 0, (0,))

    def marks(self) -> NDArray[np.uint8]:
        """The state of each image: WAITING, DECODED or BROKEN. All wait if the file has a wrong length."""
        if _length(self._marks) != self.count:
            return np.zeros(self.count, dtype=np.uint8)
        return np.fromfile(self._marks, dtype=np.uint8)

    def decoded(self) -> int:
        """The number of images that have pixels so far."""
        return int((self.marks() == DECODED).sum())

    def is_whole(self) -> bool:
        """Whether no image waits and all pixels are there."""
        marks = self.marks()
        return bool((marks != WAITING).all()) and _length(self._pixels) == int((marks == DECODED).sum()) * self.row

    def pixels(self) -> NDArray[np.uint8]:
        """The pixels of all decoded images, memory-mapped: to write into them changes memory, never the file."""
        # Copy on write, because torch shares no read-only memory.
        return np.memmap(self._pixels, dtype=np.uint8, mode="c").reshape(-1, *self.shape)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder: no other process writes here in this block, and one that does is waited for.

        An error of the disk becomes an input error.
        """
        try:
            with _lock(self.folder, wait=True):
                yield
        except OF_DISK as error:
            raise self._useless(_reason(error)) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """Open a writer of pixels; what was written stays, however the block ends."""
        if _length(self._building) != self.count * self.row or _length(self._marks) != self.count:
            self.discard()
            about = {"format": FORMAT, "source": self.source, "images": self.count, "shape": self.shape}
            self._about.write_text(json.dumps(about) + "\n", encoding="utf-8")
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
        """Make the pixels whole, in one move."""
        places = np.flatnonzero(self.marks() == DECODED)
        if len(places) < self.count:
            rows = np.memmap(self._building, dtype=np.uint8, mode="r", shape=(self.count, self.row))
            with self._closing.open("wb") as stream:
                for place in places:
                    stream.write(rows[place].data)
            os.replace(self._closing, self._pixels)
            self._building.unlink()
        else:
            os.replace(self._building, self._pixels)

    def discard(self) -> None:
        """Remove all files of these images."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def bytes_on_disk(self) -> int:
        """The bytes that it takes on the disk; of files that are not yet full, only the filled part."""
        return sum(_bytes_on_disk(path) for path in self._files())

    def used(self) -> float:
        """The time of the last use, to write it or to read pixels, in seconds since 1970; 0 if it is empty."""
        facts = {path: _facts(path) for path in self._files()}
        times = [each.st_mtime for each in facts.values() if each]
        if pixels := facts[self._pixels]:  # a list of caches reads the other files, which is no use
            times.append(pixels.st_atime)
        return max(times, default=0.0)

    def _files(self) -> tuple[Path, ...]:
        return self._marks, self._pixels, self._building, self._closing, self._about

    def _check_room(self) -> None:
        needed, free = int((self.marks() == WAITING).sum()) * self.row, shutil.disk_usage(self.folder).free
        if needed > free:
            raise self._useless(f"{room(needed)} are needed, but only {room(free)} are free")

    def _useless(self, reason: str) -> InputError:
        return InputError("image-cache-not-writable", folder=self.folder, reason=reason)


def caches_in(place: Path) -> list[ImageCache]:
    """All caches in a folder that hold anything, by name."""
    folders = sorted(place.iterdir()) if place.is_dir() else []
    caches = [ImageCache.of_folder(folder) for folder in folders if NAME.fullmatch(folder.name) and folder.is_dir()]
    return [cache for cache in caches if cache.used()]


def remove(caches: Sequence[ImageCache]) -> None:
    """Remove caches, and their folders if they hold nothing else.

    If another process writes into one of them, raise InputError and remove none.
    """
    with contextlib.ExitStack() as held:
        for cache in caches:
            with _removing(cache):
                held.enter_context(_lock(cache.folder, wait=False))
        for cache in caches:
            with _removing(cache):
                cache.discard()
                (cache.folder / LOCK).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                cache.folder.rmdir()


@contextlib.contextmanager
def _removing(cache: ImageCache) -> Iterator[None]:
    try:
        yield
    except OF_DISK as error:
        raise InputError("image-cache-not-removable", folder=cache.folder, reason=_reason(error)) from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


class Writer:
    """Writes the pixels of images, each at its place, and marks them once they are on the disk."""

    def __init__(self, stream: BinaryIO, marks: NDArray[np.uint8], row: int) -> None:
        self._stream, self._marks, self._row = stream, marks, row
        self._new: dict[int, int] = {}

    def put(self, place: int, pixels: NDArray[np.uint8] | None) -> None:
        """Write the pixels of the image at that place, or None if it is broken."""
        if pixels is not None:
            self._stream.seek(place * self._row)
            self._stream.write(pixels.data)
        self._new[place] = BROKEN if pixels is None else DECODED

    def save(self) -> None:
        """Make sure that what was written so far outlasts this process."""
        self._stream.flush()
        os.fsync(self._stream.fileno())  # first the pixels, then their marks
        self._marks[list(self._new)] = list(self._new.values())
        self._new = {}


@contextlib.contextmanager
def _lock(folder: Path, wait: bool) -> Iterator[None]:
    """Hold the lock of a folder: wait for another process that holds it, or raise InputError."""
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
                raise InputError("images-being-decoded", folder=folder) from None
            report_progress(message("waiting-for-decoding", folder=folder))
            with contextlib.suppress(FileNotFoundError):  # the other process removed the folder
                lock.acquire()
        now = _facts(folder / LOCK)
        if before and now and before.st_ino == now.st_ino:
            break
        lock.release()  # the lock of a file that no longer exists
    try:
        yield
    finally:
        lock.release()


def _facts(path: Path) -> os.stat_result | None:
    """The facts of a file; None if it does not exist or may not be read."""
    try:
        return path.stat()
    except OSError:
        return None


def _length(path: Path) -> int:
    facts = _facts(path)
    return facts.st_size if facts else -1


def _bytes_on_disk(path: Path) -> int:
    """Bytes on the disk, which for a file with holes are fewer than its length."""
    facts = _facts(path)
    if not facts:
        return 0
    return min(facts.st_size, 512 * facts.st_blocks) if hasattr(facts, "st_blocks") else facts.st_size
