"""The steps of one stage: row numbers in, losses out; eager or recorded, for one run or for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from csad.methods.method import Encoded, Features, Line, Stage
from csad.training.batches import FRESH, Batches
from csad.training.cuda_graph import Inputs, Losses, Recorder
from csad.training.device import ComputeSettings, copy_async
from csad.training.iterate import iterate
from csad.training.optimizers import Optimizers
from csad.training.stacking import Runs

Rows = tuple[Tensor, ...]  # the row numbers of each mini-batch


class Steps:
    """One call is one mini-batch through all updates of the stage.

    Args:
        runs: One run or many.
        batches: Their training rows.
        optimizers: One for each part.
        number: Which stage of the schedule this is.
        compute: How to compute.
        warn: Called with a sentence if the steps cannot be recorded.
    """

    def __init__(
        self,
        runs: Runs,
        batches: Batches,
        optimizers: Optimizers,
        number: int,
        compute: ComputeSettings,
        warn: Callable[[str], None],
    ) -> None:
        self.runs, self.optimizers, self.compute = runs, optimizers, compute
        self.stages: list[Stage] = [method.schedule()[number] for method in runs.methods]
        schedule = runs.method.schedule()
        self.lines = schedule[number].updates
        if number + 1 == len(schedule):
            self.lines += runs.method.averaging()
        self.feed = Feed(runs, batches, self.lines, number)
        if _alike([(stage.rate, stage.decay, stage.decay_every) for stage in self.stages]):
            del self.stages[1:]  # one rate serves all runs, and needs no axis
        self.rate = numbers([stage.rate for stage in self.stages], compute.device)
        recorded = compute.record and compute.device.type == "cuda"
        self.recorder = Recorder(self._step, self._owned, warn) if recorded else None

    def epoch(self, epoch: int) -> list[Rows]:
        """The row numbers of an epoch's mini-batches; its learning rate holds from now on."""
        self.rate.copy_(numbers([stage.rate_at(epoch) for stage in self.stages], self.compute.device))
        return self.feed.epoch(epoch)

    def __call__(self, rows: Rows) -> Losses:
        """The losses by update, of one run or of each."""
        inputs = self.feed.to_device(rows)
        return self.recorder(inputs) if self.recorder else self._step(inputs)

    @property
    def unrecordable(self) -> bool:
        """Whether a recording was tried and failed."""
        return self.recorder is not None and self.recorder.failed

    def close(self) -> None:
        """Free what was recorded."""
        self.recorder = None

    def _step(self, inputs: Inputs) -> Losses:
        count = 1 + self.feed.draws
        rows, x = inputs[:count], inputs[count:] or (None,) * count
        main, *others = (partial(self.feed.encode, *batch) for batch in zip(rows, x, strict=True))
        following = iter(others)
        return iterate(self.runs, self.lines, main, lambda g: next(following)(g), self.optimizers, self.rate)

    def _owned(self) -> list[object]:
        """All that a recording reads and writes: it must live as long as the recording."""
        return [self.rate, self.feed, *self.runs.state.values(), *self.optimizers.by_part.values()]


class Feed:
    """The mini-batches of one stage, encoded as its updates need them; encoded all at once if no update moves F."""

    def __init__(self, runs: Runs, batches: Batches, lines: Sequence[Line], stage: int) -> None:
        self.runs, self.batches, self.stage = runs, batches, stage
        self.draws = sum(line.repeat for line in lines if line.batch == "fresh")
        self.h = None if any(map(runs.method.moves_encoder, lines)) else encode_all(runs, batches)

    def epoch(self, epoch: int) -> list[Rows]:
        """For each mini-batch of an epoch its row numbers, then those of each fresh one that its updates draw."""
        self.batches.begin(self.stage, epoch)
        order = self.batches.order(self.stage, epoch)
        others = self.batches.order(self.stage, epoch, FRESH) if self.draws else ()
        return [
            (rows, *(others[(number * self.draws + k) % len(others)] for k in range(self.draws)))
            for number, rows in enumerate(order)
        ]

    def to_device(self, rows: Rows) -> Inputs:
        """All that a step reads of these mini-batches: their row numbers, then x of each if x is kept on the host.

        The step reads nothing else from the host. So it can be recorded, and the device gets its inputs while it still
        computes the step before.
        """
        if not self.batches.on_host:
            return rows
        x = (self.batches.stored(numbers) for numbers in rows) if self.h is None else ()
        return *(copy_async(numbers, self.batches.device) for numbers in rows), *x

    def encode(self, rows: Tensor, x: Tensor | None, gradient: bool) -> Encoded:
        """The rows, encoded; ``x`` if it is on the device already."""
        if self.h is None:
            return encode(self.runs, self.batches, rows, gradient, augmented=True, x=x)
        pick = self.batches.pick
        h = {n: pick(value, rows) for n, value in self.h.items()} if isinstance(self.h, dict) else pick(self.h, rows)
        return Encoded(h, *self.batches.labels(rows), rows)


def encode(
    runs: Runs, batches: Batches, rows: Tensor, gradient: bool, *, augmented: bool = False, x: Tensor | None = None
) -> Encoded:
    """The rows after F, in train mode only if the gradient will move it; ``x`` if their stored x was taken already."""
    for part in runs.method.encoder:
        runs.method.get_submodule(part).train(gradient)
    batch = batches.take(rows, augmented=augmented, x=x)
    with torch.set_grad_enabled(gradient):
        return Encoded(runs.call(runs.method.encode, batch), batch.y, batch.b, batch.rows)


def encode_all(runs: Runs, batches: Batches) -> Features:
    """h of the whole training set, without gradient; written in place, so that it is never stored twice."""
    whole: dict[str, Tensor] = {}
    axis = batches.rows.ndim - 1
    start = 0
    for rows in torch.split(batches.rows, batches.chunk, dim=axis):
        h = encode(runs, batches, rows, gradient=False).h
        for name, part in (h if isinstance(h, dict) else {"": h}).items():
            if name not in whole:
                shape = (*batches.rows.shape, *part.shape[axis + 1 :])
                whole[name] = part.new_empty(shape)
            whole[name].narrow(axis, start, rows.shape[axis]).copy_(part)
        start += rows.shape[axis]
    return whole if whole.keys() != {""} else whole[""]


def optimizers_of(runs: Runs, device: torch.device) -> Optimizers:
    """One optimizer per part, with the weight decay of each run."""
    decays = [method.course.weight_decay for method in runs.methods]
    decay = decays[0] if _alike(decays) else numbers(decays, device)
    return Optimizers(runs.weights, runs.method.course.optimizer, decay)


def numbers(values: Sequence[float], device: torch.device) -> Tensor:
    """One number, or one per run, on the device."""
    return torch.tensor(values[0] if len(values) == 1 else list(values), dtype=torch.float64, device=device)


def _alike(values: Sequence[object]) -> bool:
    return len(set(values)) == 1
