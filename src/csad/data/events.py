"""Events of work on data: how far it is, notices, and tables that were read. They all go to one listener."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Any

EVERY = 2.0  # seconds between two lines of progress


def _print_in_terminal(line: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(line, file=sys.stderr)


def _warn(notice: Warning) -> None:
    warnings.warn(notice, stacklevel=4)  # the caller of the function that gives notice


def _ignore(event: Any) -> None:
    pass


@dataclass(frozen=True)
class DataListener:
    """What is called for each kind of event: a line of progress, a notice, a table of one's own that was read."""

    progress: Callable[[str], None] = _print_in_terminal
    notice: Callable[[Warning], None] = _warn
    table: Callable[[Any], None] = _ignore


_DEFAULT = DataListener()
_listener: ContextVar[DataListener] = ContextVar("listener", default=_DEFAULT)


def listen(**callbacks: Callable[[Any], None]) -> Token[DataListener]:
    """Call these functions from now on; events of other kinds go where they went before.

    Args:
        callbacks: Functions by the name of a field of ``DataListener``, such as ``progress=print``.
    """
    return _listener.set(replace(_listener.get(), **callbacks))


@contextmanager
def listening(**callbacks: Callable[[Any], None]) -> Iterator[None]:
    """Call these functions, as ``listen`` does, until the block ends."""
    token = listen(**callbacks)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(line: str) -> None:
    """Send a line that says how far long work is."""
    _listener.get().progress(line)


def report_notice(notice: Warning) -> None:
    """Send a notice of something that the user may not expect; unless a listener takes it, it is a Python warning."""
    _listener.get().notice(notice)


def report_table(table: Any) -> None:
    """Send a table of the user's that was read, before anything is done with it."""
    _listener.get().table(table)


class Progress:
    """Reports now and then how much of ``total`` is done; short work reports nothing."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, total
        self._last = time.monotonic()

    def report(self, done: int) -> None:
        """Send a line, unless one was sent a moment ago."""
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            report_progress(f"{self.what}: {done:,} of {self.total:,}")
