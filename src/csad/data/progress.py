"""Who hears how long work on data goes: a terminal by default, or whoever sets ``listener``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextvars import ContextVar

EVERY = 2.0  # seconds between two lines


def _terminal(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(text, file=sys.stderr)


listener: ContextVar[Callable[[str], None]] = ContextVar("listener", default=_terminal)


class Progress:
    """Tells how much of ``total`` is done, now and then: work that is over soon says nothing."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, total
        self._last = time.monotonic()

    def tell(self, done: int) -> None:
        """A line, unless there was one a moment ago."""
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            listener.get()(f"{self.what}: {done:,} of {self.total:,}")
