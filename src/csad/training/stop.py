"""Stopping on request: Ctrl-C or a cluster's SIGTERM ends a training between two mini-batches, with nothing lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Request:
    """Whether a stop was asked for."""

    def __init__(self) -> None:
        self.made = False


@contextmanager
def stop_request() -> Iterator[Request]:
    """A request that SIGINT or SIGTERM makes; a second signal stops at once. Outside the main thread, none is made."""
    request = Request()

    def ask(number: int, frame: FrameType | None) -> None:
        if request.made:
            raise KeyboardInterrupt
        request.made = True

    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
