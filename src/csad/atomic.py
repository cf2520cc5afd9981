"""Files that are written whole, or added to, and never through a link: it could lead to any file of the user's."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csad.errors import InputError


@contextmanager
def replacing(path: Path, suffix: str = ".new") -> Iterator[Path]:
    """A file beside ``path`` to write to, which takes the place of ``path`` in the end; removed if anything fails."""
    fresh = path.with_name(path.name + suffix)
    fresh.unlink(missing_ok=True)  # what a kill left there, or a link
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
        raise InputError(f"{path} is a link, through which csad does not write: put the file itself there.") from error
    with os.fdopen(number, "a", encoding="utf-8") as file:
        file.write(text)
