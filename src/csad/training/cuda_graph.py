"""A training step recorded as a CUDA graph: the same call as the eager one, replayed without Python.

The first steps of each shape run eagerly. They are real steps of the training and warm the device up, so nothing has to
be undone, and the step that is recorded has just run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from csad.messages import message

Inputs = tuple[Tensor, ...]  # row numbers of each mini-batch, then x of each if x is kept on the host
Losses = dict[str, Tensor]
EAGER_STEPS = 2  # of each shape, before it is recorded


class Recording:
    """A recorded step. Only its inputs change; it keeps every other tensor that it reads alive.

    It returns the same loss tensors each time: read them before the next step.
    """

    def __init__(self, step: Callable[[Inputs], Losses], inputs: Inputs, owned: Iterable[object]) -> None:
        self.inputs = tuple(tensor.clone() for tensor in inputs)
        self.step = step
        self.owned = tuple(owned)
        self.graph = torch.cuda.CUDAGraph()
        gc.collect()  # a tensor that Python frees while recording would be freed inside the recording
        stream = torch.cuda.current_stream()
        try:
            with torch.cuda.graph(self.graph):
                self.losses = step(self.inputs)
        finally:
            torch.cuda.set_stream(stream)  # torch does not return to it by itself if a recording fails
            torch.cuda.synchronize()

    def __call__(self, inputs: Inputs) -> Losses:
        """The losses of the step on these rows."""
        for buffer, values in zip(self.inputs, inputs, strict=True):
            buffer.copy_(values)
        self.graph.replay()
        return self.losses


class Recorder:
    """A step that records itself once a shape of rows has come often enough; if that fails it warns and stays eager."""

    def __init__(
        self, step: Callable[[Inputs], Losses], owned: Callable[[], Iterable[object]], warn: Callable[[str], None]
    ) -> None:
        self.step, self.owned, self.warn = step, owned, warn
        self.eager_steps: dict[tuple[torch.Size, ...], int] = {}
        self.recordings: dict[tuple[torch.Size, ...], Recording] = {}
        self.failed = False

    def __call__(self, inputs: Inputs) -> Losses:
        """The losses of the step on these rows."""
        shape = tuple(tensor.shape for tensor in inputs)
        if shape not in self.recordings and not self.failed and self.eager_steps.get(shape, 0) >= EAGER_STEPS:
            self._record(shape, inputs)
        if shape in self.recordings:
            return self.recordings[shape](inputs)
        self.eager_steps[shape] = self.eager_steps.get(shape, 0) + 1
        return self.step(inputs)

    def _record(self, shape: tuple[torch.Size, ...], inputs: Inputs) -> None:
        try:
            self.recordings[shape] = Recording(self.step, inputs, self.owned())
        except RuntimeError as error:  # a method or a backbone may do anything that cannot be recorded
            self.failed = True
            self.warn(message("cuda-graph-not-recorded", reason=_cause(error)))
        if self.failed:
            gc.collect()  # what the failed step left behind belongs to the recording's stream


def _cause(error: BaseException) -> str:
    first = error.__context__ or error  # torch ends the failed recording with an error of its own
    return (str(first).splitlines() or [type(first).__name__])[0]
