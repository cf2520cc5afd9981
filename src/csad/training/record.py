"""A training step recorded as a CUDA graph: the same call as the eager one, replayed without Python.

The first steps of each shape are made eagerly; they are real steps of the training and warm the device up as well. So
nothing has to be undone, and what is recorded is what was just run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

Given = tuple[Tensor, ...]  # row numbers of each mini-batch, then x of each where that lies on the host
Losses = dict[str, Tensor]
EAGER_STEPS = 2  # of each shape, before it is recorded


class Recording:
    """A step whose only input is what it is given anew. It owns every other tensor it reads, and keeps it.

    The losses it gives are the same tensors each time: read them before the next step.
    """

    def __init__(self, step: Callable[[Given], Losses], given: Given, owned: Iterable[object]) -> None:
        self.given = tuple(each.clone() for each in given)
        self.step = step
        self.owned = tuple(owned)
        self.graph = torch.cuda.CUDAGraph()
        gc.collect()  # a tensor that Python frees while recording would be freed inside the recording
        stream = torch.cuda.current_stream()
        try:
            with torch.cuda.graph(self.graph):
                self.losses = step(self.given)
        finally:
            torch.cuda.set_stream(stream)  # torch does not go back to it by itself when a recording fails
            torch.cuda.synchronize()

    def __call__(self, given: Given) -> Losses:
        """The losses of the step on these rows."""
        for mine, theirs in zip(self.given, given, strict=True):
            mine.copy_(theirs)
        self.graph.replay()
        return self.losses


class Recorder:
    """A step that records itself once a shape of rows has come often enough; falls back to eager, saying why."""

    def __init__(
        self, step: Callable[[Given], Losses], owned: Callable[[], Iterable[object]], warn: Callable[[str], None]
    ) -> None:
        self.step, self.owned, self.warn = step, owned, warn
        self.seen: dict[tuple[torch.Size, ...], int] = {}
        self.recordings: dict[tuple[torch.Size, ...], Recording] = {}
        self.failed = False

    def __call__(self, given: Given) -> Losses:
        """The losses of the step on these rows."""
        shape = tuple(each.shape for each in given)
        if shape not in self.recordings and not self.failed and self.seen.get(shape, 0) >= EAGER_STEPS:
            self._record(shape, given)
        if shape in self.recordings:
            return self.recordings[shape](given)
        self.seen[shape] = self.seen.get(shape, 0) + 1
        return self.step(given)

    def _record(self, shape: tuple[torch.Size, ...], given: Given) -> None:
        try:
            self.recordings[shape] = Recording(self.step, given, self.owned())
        except RuntimeError as error:  # whatever a method or a backbone does that a recording cannot hold
            self.failed = True
            self.warn(f"This training cannot be recorded ({_cause(error)}); it goes on step by step, only slower.")
        if self.failed:
            gc.collect()  # what the failed step has left behind belongs to the recording's stream


def _cause(error: BaseException) -> str:
    first = error.__context__ or error  # torch ends the failed recording with an error of its own
    return (str(first).splitlines() or [type(first).__name__])[0]
