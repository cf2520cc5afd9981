"""Do other programs want the cores that this one's threads share? Then all of them may crawl, and nobody knows why."""

from __future__ import annotations

import sys
from typing import NamedTuple

import torch

if sys.platform != "win32":  # which tells nothing of the kind
    import resource

WINDOW = 5.0  # seconds of computing that one look is about
CROWDED = 100  # times in a second of computing that a core was taken away: alone some 20, beside a rival 250
ADVICE = (
    "The {threads} threads of this training take turns on cores that other programs want too, or that are fewer, and "
    "wait for one another: it may be ten times as slow so. Stop it, and go on with OMP_NUM_THREADS=1 set, or alone."
)


class Use(NamedTuple):
    """What this process has had of the cores: seconds, and how often one was taken away from a thread."""

    seconds: float
    taken: float


class Crowd:
    """Looks now and then, and gives its advice once."""

    def __init__(self) -> None:
        self._before: Use | None = None
        self._advised = False

    def advice(self, device: torch.device) -> str:
        """What to do, where threads of this process have been kept waiting; else nothing, and nothing a second time.

        A GPU's work does not wait for them.
        """
        if self._advised or device.type != "cpu" or sys.platform == "win32" or torch.get_num_threads() == 1:
            return ""
        now, before = _use(), self._before
        if before is not None and now.seconds - before.seconds < WINDOW:
            return ""
        self._before = now
        if before is None or now.taken - before.taken < CROWDED * (now.seconds - before.seconds):
            return ""
        self._advised = True
        return ADVICE.format(threads=torch.get_num_threads())


def _use() -> Use:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Use(used.ru_utime + used.ru_stime, used.ru_nivcsw)
