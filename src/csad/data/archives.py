"""Files in a folder, a .zip, a .tar or a .tar.gz; nothing is unpacked to the disk."""

from __future__ import annotations

import functools
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Protocol

from csad.errors import FilesMissing, InputError, is_os_error, unreadable

# Errors of an archive. A .zip raises NotImplementedError if it holds only the changes of a file, and the last two if a
# name in it is damaged.
BROKEN = (
    OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, NotImplementedError,
    UnicodeDecodeError, IndexError,
)  # fmt: skip
MOST_BYTES = 2**28  # no image for training is larger, and a small archive can hold files that fill all memory
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
ENCRYPTED = 1  # the bit that says so
KINDS = (".zip", ".tar", ".tar.gz", ".tgz")
TOLERATED = 0.01  # the share of files that may be broken


def most_broken(tolerated: float, count: int) -> float:
    """How many of ``count`` files may be broken if that share is tolerated: never all."""
    return min(tolerated * count, count - 1)


class Archive(Protocol):
    """Files by name. One thread calls ``reader``, in the order of ``place``; any thread may call its result."""

    def holds(self, name: str) -> bool:
        """Whether there is a file of this name."""

    def place(self, name: str) -> int:
        """The position of the file among the others: a .tar.gz can only be read from front to back."""

    def reader(self, name: str) -> Callable[[], bytes]:
        """A function that reads the file; a file of more than MOST_BYTES is read as empty."""


def check_names(names: Sequence[str], what: str = "image") -> None:
    """Raise InputError with the first name that leads out of the source, if any."""
    # Plain names, of which there may be a hundred thousand, are not taken apart.
    odd = (name for name in names if name[:1] == "/" or ".." in name or ":" in name or "\\" in name)
    for name in odd:
        # By the rules of Windows, too: there a drive or a backslash leads out.
        if any(path.anchor or ".." in path.parts for path in (PurePosixPath(name), PureWindowsPath(name))):
            raise InputError("path-leaves-folder", files=what.title(), name=name)


def stamp(source: Path, names: Sequence[str], what: str = "images") -> str:
    """Words that change with the source: its path, size and time; of a folder, sizes and times of the files."""
    try:
        if not source.is_dir():
            facts = source.stat()
            return f"{source.resolve()} {facts.st_size} {facts.st_mtime_ns}"
        stamps = [_facts(source / name) for name in names]
    except OSError as error:
        raise unreadable(f"The {what} {source}", error) from error
    _check_missing(source, [name for name, facts in zip(names, stamps, strict=True) if not facts], len(names), what)
    return f"{source.resolve()} {' '.join(stamps)}"


def _facts(path: Path) -> str:
    """Size and time of a file, empty if there is none."""
    try:
        facts = path.stat()
    except (FileNotFoundError, ValueError):  # the latter for a name that no file can have
        return ""
    return "" if path.is_dir() else f"{facts.st_size} {facts.st_mtime_ns}"


@contextmanager
def open_archive(source: Path, names: Sequence[str], what: str = "images") -> Iterator[Archive]:
    """Open the source; raise an error if it lacks one of the names."""
    if source.is_dir():
        yield _Folder(source)
        return
    if not source.name.lower().endswith(KINDS):
        raise InputError("archive-format-unknown", file=source, files=what, known=", ".join(KINDS))
    try:
        opened = _opened(source)
    except BROKEN as error:
        raise _unreadable(source, error) from error
    with opened:
        archive = _Zip(opened, source) if isinstance(opened, zipfile.ZipFile) else _Tar(opened, source)
        _check_missing(source, [name for name in names if name not in archive.files], len(names), what)
        yield archive


def read_first(source: Path, names: Sequence[str]) -> tuple[Path, bytes] | None:
    """Path and bytes of the first of these files that is in the source, None if none is."""
    with open_archive(source, (), "files") as archive:
        for name in filter(archive.holds, names):
            try:
                return source / name, archive.reader(name)()
            except BROKEN as error:
                raise _unreadable(source / name, error) from error
    return None


def _opened(source: Path) -> zipfile.ZipFile | tarfile.TarFile:
    name = source.name.lower()
    if name.endswith(".zip"):
        return zipfile.ZipFile(source)
    return tarfile.open(source, "r:" if name.endswith(".tar") else "r:gz")


def _check_missing(source: Path, missing: Sequence[str], total: int, what: str) -> None:
    if missing:
        raise FilesMissing(
            "files-missing", source=source, missing=len(missing), total=total, files=what, name=missing[0]
        )


def _unreadable(source: Path, error: Exception) -> InputError:
    if is_os_error(error):
        return unreadable(source, error)
    return InputError("archive-unreadable", file=source, reason=error)


class _Folder:
    """Files on the disk."""

    def __init__(self, source: Path) -> None:
        self._source = source

    def holds(self, name: str) -> bool:
        return (self._source / name).is_file()

    def place(self, name: str) -> int:
        return 0

    def reader(self, name: str) -> Callable[[], bytes]:
        return functools.partial(_read_file, self._source / name)


def check_packed(info: zipfile.ZipInfo, source: Path) -> None:
    """Raise InputError if a whole .zip holds a file in a way that cannot be read here."""
    if info.flag_bits & ENCRYPTED:
        raise InputError("archive-encrypted", file=source, name=info.filename)
    if info.compress_type not in METHODS:
        method = f"method {info.compress_type}, '{info.filename}'"
        raise InputError("archive-compression-unsupported", file=source, method=method)


class _Zip:
    """A .zip, whose one handle all threads share: zipfile locks it."""

    def __init__(self, opened: zipfile.ZipFile, source: Path) -> None:
        self._opened = opened
        self._source = source
        try:
            self.files = {info.filename: info for info in opened.infolist() if not info.is_dir()}
        except BROKEN as error:
            raise _unreadable(source, error) from error

    def holds(self, name: str) -> bool:
        return name in self.files

    def place(self, name: str) -> int:
        return self.files[name].header_offset

    def reader(self, name: str) -> Callable[[], bytes]:
        info = self.files[name]
        check_packed(info, self._source)
        return functools.partial(self._opened.read, info) if info.file_size <= MOST_BYTES else bytes


class _Tar:
    """A .tar, compressed or not; the thread that opened it reads it, because it has one position."""

    def __init__(self, opened: tarfile.TarFile, source: Path) -> None:
        self._opened = opened
        self._source = source
        self._is_packed = source.suffix.lower() != ".tar"
        try:
            self.files = {member.name.removeprefix("./"): member for member in self._regular()}
            if not self._ends():
                raise EOFError("its end marker is missing")
            if self._is_packed:
                self._read_on()
        except BROKEN as error:
            raise _unreadable(source, error) from error

    def _ends(self) -> bool:
        """Whether a block of zeros follows the last file, as in every whole .tar."""
        if self._is_packed:
            # To read it again would unpack everything again; that a block was read is enough, because gzip checks it.
            assert self._opened.fileobj
            return self._opened.fileobj.tell() == self._opened.offset + tarfile.BLOCKSIZE
        with self._source.open("rb") as stream:
            stream.seek(self._opened.offset)
            return stream.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)

    def _read_on(self) -> None:
        """Read what follows the last file: gzip then compares its checksum, and fails if data are cut or damaged."""
        stream = self._opened.fileobj
        while stream and stream.read(2**20):
            pass

    def _regular(self) -> Iterable[tarfile.TarInfo]:
        return (member for member in self._opened if member.isreg())

    def holds(self, name: str) -> bool:
        return name in self.files

    def place(self, name: str) -> int:
        return self.files[name].offset

    def reader(self, name: str) -> Callable[[], bytes]:
        member = self.files[name]
        if member.size > MOST_BYTES:
            return bytes
        try:
            stream = self._opened.extractfile(member)
            data = stream.read() if stream else b""
        except BROKEN as error:
            raise _unreadable(self._source, error) from error
        return lambda: data


def _read_file(path: Path) -> bytes:
    return path.read_bytes() if path.stat().st_size <= MOST_BYTES else b""
