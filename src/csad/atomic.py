"""Files that are whole or not there: what is written beside a file takes its place in one move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path, suffix: str = ".new") -> Iterator[Path]:
    """A file beside ``path`` to write to, which takes the place of ``path`` in the end; removed if anything fails."""
    fresh = path.with_name(path.name + suffix)
    # What a kill left there, or a link that somebody put there: its target would be written to.
    fresh.unlink(missing_ok=True)
    try:
        yield fresh
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
