"""The steps of one stage: row numbers in, losses out; eager or recorded, of one run or of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from csad.methods.method import Stage
from csad.training.batches import Batches, Feed
from csad.training.descent import Optimisers
from csad.training.device import Way
from csad.training.iterate import iterate
from csad.training.record import Given, Losses, Recorder
from csad.training.stack import Runs

Rows = tuple[Tensor, ...]  # the row numbers of each mini-batch


class Steps:
    """One call is one mini-batch through all updates of the stage."""

    def __init__(
        self,
        runs: Runs,
        batches: Batches,
        optimisers: Optimisers,
        number: int,
        way: Way,
        warn: Callable[[str], None],
    ) -> None:
        self.runs, self.optimisers, self.way = runs, optimisers, way
        self.own: list[Stage] = [method.schedule()[number] for method in runs.methods]
        stages = runs.method.schedule()
        self.lines = stages[number].updates
        if number + 1 == len(stages):
            self.lines += runs.method.averaging()
        self.feed = Feed(runs, batches, self.lines, number)
        if _alike([(stage.rate, stage.decay, stage.decay_every) for stage in self.own]):
            del self.own[1:]  # one rate serves all runs, and needs no axis
        self.rate = numbers([stage.rate for stage in self.own], way.device)
        recorded = way.record and way.device.type == "cuda"
        self.recorder = Recorder(self._step, self._owned, warn) if recorded else None

    def epoch(self, epoch: int) -> list[Rows]:
        """The row numbers of an epoch's mini-batches; its learning rate holds from here on."""
        self.rate.copy_(numbers([stage.rate_at(epoch) for stage in self.own], self.way.device))
        return self.feed.epoch(epoch)

    def __call__(self, rows: Rows) -> Losses:
        """The losses by update, of one run or of each."""
        given = self.feed.brought(rows)
        return self.recorder(given) if self.recorder else self._step(given)

    @property
    def unrecordable(self) -> bool:
        """Whether a recording was tried and failed."""
        return self.recorder is not None and self.recorder.failed

    def close(self) -> None:
        """Lets go of what was recorded."""
        self.recorder = None

    def _step(self, given: Given) -> Losses:
        count = 1 + self.feed.draws
        rows, x = given[:count], given[count:] or (None,) * count
        own, *others = (partial(self.feed.encoded, each, x=its) for each, its in zip(rows, x, strict=True))
        following = iter(others)
        return iterate(self.runs, self.lines, own, lambda g: next(following)(g), self.optimisers, self.rate)

    def _owned(self) -> list[object]:
        """What a recording reads and writes: as long as it lives, none of these may go."""
        return [self.rate, self.feed, *self.runs.state.values(), *self.optimisers.made.values()]


def optimisers_of(runs: Runs, device: torch.device) -> Optimisers:
    """One optimiser per part, with the weight decay of each run."""
    decays = [method.course.weight_decay for method in runs.methods]
    return Optimisers(runs, runs.method.course.optimiser, decays[0] if _alike(decays) else numbers(decays, device))


def numbers(values: Sequence[float], device: torch.device) -> Tensor:
    """One number, or one per run, on the device."""
    return torch.tensor(values[0] if len(values) == 1 else list(values), dtype=torch.float64, device=device)


def _alike(values: Sequence[object]) -> bool:
    return len(set(values)) == 1
