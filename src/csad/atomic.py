"""Write files in one move or append to them, but never through a link, which could lead to any file of the user's."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csad.errors import InputError


@contextmanager
def replacing(path: Path, suffix: str = ".new") -> Iterator[Path]:
    """A file beside ``path`` to write to, which replaces ``path`` in the end; it is removed if anything fails."""
    fresh = path.with_name(path.name + suffix)
    fresh.unlink(missing_ok=True)  # left by a killed process, or a link
    try:
        yield fresh
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a file in one move, so that nobody finds half of it."""
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8")


def append(path: Path, text: str) -> None:
    """Add text to the end of a file."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise InputError("path-is-symlink", path=path) from error
    with os.fdopen(number, "a", encoding="utf-8") as file:
        file.write(text)
