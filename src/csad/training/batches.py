"""Mini-batches on the device, in an order that follows from the seed, the stage and the epoch alone.

Nothing random has to be saved: a run that stops anywhere goes on with the very batches it would have had.

Where x of a run would not fit on the device it stays on the host, and so do row numbers until a mini-batch is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from csad.data.order import balanced_over, epoch_order
from csad.data.pieces import rows_at_a_time
from csad.data.samples import Batch, Dataset, Samples
from csad.data.vary import Vary, as_if_random
from csad.methods.method import Course, Encoded, Features, Line
from csad.training.device import gathered, laid_out, sent
from csad.training.iterate import moves_encoder
from csad.training.stack import Runs

OWN, FRESH, VARIED = 0, 1, 2  # streams: the iteration's mini-batches, those of updates that want others, variation


def mixed(*numbers: int) -> int:
    """One seed from several numbers, alike only where all of them are."""
    words = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
    return int(words[0]) << 31 | int(words[1]) >> 1


class Batches(Protocol):
    """The training rows of one run or of many; row numbers of many have a leading axis of runs."""

    device: torch.device
    on_host: bool  # whether x stays on the host
    per_epoch: int
    rows: Tensor  # all row numbers
    chunk: int  # rows encoded or predicted at a time where no gradient is needed

    def order(self, stage: int, epoch: int, stream: int = OWN) -> Sequence[Tensor]:
        """The row numbers of each mini-batch of an epoch."""

    def begin(self, stage: int, epoch: int) -> None:
        """From here on rows are varied as in this epoch."""

    def stored(self, rows: Tensor) -> Tensor:
        """x of the rows as the data set holds it, on the device."""

    def take(self, rows: Tensor, *, varied: bool = False, x: Tensor | None = None) -> Batch:
        """The rows as F sees them, or as training varies them; ``x`` where that has been taken already."""

    def labels(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """y and b of the rows."""

    def pick(self, values: Tensor, rows: Tensor) -> Tensor:
        """The rows of something that was computed for all rows."""


class OwnBatches:
    """The training rows of one run."""

    def __init__(
        self, dataset: Dataset, course: Course, seed: int, device: torch.device, *, on_host: bool = False
    ) -> None:
        self.train: Samples = dataset.train
        self.on_host = on_host
        self.x = self.train.x if on_host else self.train.x.to(device)
        self.y, self.b = self.train.y.to(device), self.train.b.to(device)
        self.view: Callable[[Tensor], Tensor] = dataset.view
        self.vary = dataset.vary
        self.tag = torch.zeros((), dtype=torch.long, device=device)
        self.course, self.seed, self.device = course, seed, device
        self.balance = balanced_over(course.balance, dataset.train.y, dataset.train.b)
        self.rows = torch.arange(len(self.train), device=self.x.device)
        self.chunk = rows_at_a_time(dataset.task.shape)
        self.per_epoch = batches_per_epoch(self.train.y, course)

    def order(self, stage: int, epoch: int, stream: int = OWN) -> Sequence[Tensor]:
        """(n,) each."""
        seed = mixed(self.seed, stage, epoch, stream)
        order = _order(len(self.train), self.balance, self.course, seed)
        return torch.split(torch.cat(order).to(self.x.device), [len(rows) for rows in order])

    def begin(self, stage: int, epoch: int) -> None:
        """In place, so that a recording goes on with it."""
        self.tag.fill_(mixed(self.seed, stage, epoch, VARIED) & 0xFFFFFFFF)

    def stored(self, rows: Tensor) -> Tensor:
        """(n, …)."""
        return gathered(self.x, rows, self.device) if self.on_host else self.x[rows]

    def take(self, rows: Tensor, *, varied: bool = False, x: Tensor | None = None) -> Batch:
        """The rows through the data set's view."""
        x = self.stored(rows) if x is None else x.clone()  # a view may change what it is given, and a step asks twice
        rows = rows.to(self.device)
        x = _seen(x, rows, self.tag, self.view, self.vary if varied else None)
        return Batch(laid_out(x, self.course.precision), *self.labels(rows), rows)

    def labels(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(n,) and (n, columns)."""
        rows = rows.to(self.device)
        return self.y[rows], self.b[rows]

    def pick(self, values: Tensor, rows: Tensor) -> Tensor:
        """``values[rows]``."""
        return values[rows]


class StackedBatches:
    """The training rows of R runs; a data set that several share is held once."""

    on_host = False  # stacks are made no larger than fits with their data

    def __init__(self, datasets: Sequence[Dataset], course: Course, seeds: Sequence[int], device: torch.device) -> None:
        distinct = list({id(dataset): dataset for dataset in datasets}.values())
        trains = [dataset.train for dataset in distinct]
        self.x, self.y, self.b = (
            torch.stack([getattr(train, name) for train in trains]).to(device) for name in ("x", "y", "b")
        )
        balances = [balanced_over(course.balance, train.y, train.b) for train in trains]
        place = {id(dataset): k for k, dataset in enumerate(distinct)}
        self.which = torch.tensor([place[id(dataset)] for dataset in datasets], device=device)[:, None]
        self.balances = [balances[place[id(dataset)]] for dataset in datasets]
        self.views: list[Callable[[Tensor], Tensor]] = [dataset.view for dataset in datasets]
        self.varies = [dataset.vary for dataset in datasets]
        self.tags = torch.zeros(len(seeds), 1, dtype=torch.long, device=device)
        self.course, self.seeds, self.device = course, seeds, device
        self.number = torch.arange(len(seeds), device=device)[:, None]
        self.rows = torch.arange(self.x.shape[1], device=device).expand(len(seeds), -1)
        self.chunk = max(rows_at_a_time(datasets[0].task.shape, len(seeds)), course.batch_size)
        self.per_epoch = batches_per_epoch(trains[0].y, course)

    def order(self, stage: int, epoch: int, stream: int = OWN) -> Sequence[Tensor]:
        """(R, n) each: every run has the order that its own seed gives."""
        seeds = [mixed(seed, stage, epoch, stream) for seed in self.seeds]
        n = self.rows.shape[1]
        orders = [_order(n, own, self.course, seed) for own, seed in zip(self.balances, seeds, strict=True)]
        together = torch.stack([torch.cat(order) for order in orders]).to(self.device)
        return torch.split(together, [len(rows) for rows in orders[0]], dim=1)

    def begin(self, stage: int, epoch: int) -> None:
        """Each run as if it were alone."""
        tags = [mixed(seed, stage, epoch, VARIED) & 0xFFFFFFFF for seed in self.seeds]
        self.tags.copy_(torch.tensor(tags)[:, None])

    def stored(self, rows: Tensor) -> Tensor:
        """(R, n, …)."""
        return self.x[self.which, rows]

    def take(self, rows: Tensor, *, varied: bool = False, x: Tensor | None = None) -> Batch:
        """The rows (R, n, …) through the data sets' view, which sees them as one batch where all have the same."""
        x, tags = self.stored(rows) if x is None else x.clone(), self.tags.expand_as(rows)
        varies = self.varies if varied else [None] * len(self.varies)
        if len(set(self.views)) == len(set(varies)) == 1:
            together = _seen(x.flatten(0, 1), rows.flatten(), tags.flatten(), self.views[0], varies[0])
            seen = torch.unflatten(together, 0, rows.shape)
        else:
            seen = torch.stack([_seen(*own) for own in zip(x, rows, tags, self.views, varies, strict=True)])
        return Batch(seen, *self.labels(rows), rows)

    def labels(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(R, n) and (R, n, columns)."""
        return self.y[self.which, rows], self.b[self.which, rows]

    def pick(self, values: Tensor, rows: Tensor) -> Tensor:
        """The rows of values (R, all rows, …), each run its own."""
        return values[self.number, rows]


def _seen(x: Tensor, rows: Tensor, tag: Tensor, view: Callable[[Tensor], Tensor], vary: Vary | None) -> Tensor:
    """Stored rows (n, …) as F sees them, varied as row number and tag say."""
    x = view(x)
    return vary(x, as_if_random(rows, tag, vary.numbers)) if vary else x


def batches_per_epoch(y: Tensor, course: Course) -> int:
    """How many mini-batches an epoch has, for training targets y; over what they are balanced changes nothing."""
    return len(_order(len(y), y if course.balance else None, course, 0))


def _order(n: int, balance: Tensor | None, course: Course, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return epoch_order(n, min(course.batch_size, n), generator, partial=course.partial, balance=balance)


def encode(
    runs: Runs, batches: Batches, rows: Tensor, gradient: bool, *, varied: bool = False, x: Tensor | None = None
) -> Encoded:
    """The rows after F, in train mode only when the gradient will move it; ``x`` where that has been taken already."""
    for part in runs.method.encoder:
        runs.method.get_submodule(part).train(gradient)
    batch = batches.take(rows, varied=varied, x=x)
    with torch.set_grad_enabled(gradient):
        return Encoded(runs.call(runs.method.encode, batch), batch.y, batch.b, batch.rows)


def encode_all(runs: Runs, batches: Batches) -> Features:
    """h of the whole training set, without gradient; written in place, so that it is never held twice."""
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


class Feed:
    """The mini-batches of one stage, encoded as its updates ask; all at once where the stage leaves F alone."""

    def __init__(self, runs: Runs, batches: Batches, lines: Sequence[Line], stage: int) -> None:
        self.runs, self.batches, self.stage = runs, batches, stage
        self.draws = sum(line.repeat for line in lines if line.batch == "fresh")
        still = not any(moves_encoder(runs.method, line) for line in lines)
        self.h = encode_all(runs, batches) if still else None

    def epoch(self, epoch: int) -> list[tuple[Tensor, ...]]:
        """For each mini-batch of an epoch its own row numbers, then those of each fresh one that its updates draw."""
        self.batches.begin(self.stage, epoch)
        order = self.batches.order(self.stage, epoch)
        others = self.batches.order(self.stage, epoch, FRESH) if self.draws else ()
        return [
            (rows, *(others[(number * self.draws + k) % len(others)] for k in range(self.draws)))
            for number, rows in enumerate(order)
        ]

    def brought(self, rows: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """All that a step reads of these mini-batches' rows: their numbers, then x of each where that lies on the host.

        A step asks the host for nothing more, so it can be recorded, and is handed to the device while that computes.
        """
        if not self.batches.on_host:
            return rows
        x = (self.batches.stored(each) for each in rows) if self.h is None else ()
        return *(sent(each, self.batches.device) for each in rows), *x

    def encoded(self, rows: Tensor, gradient: bool, x: Tensor | None = None) -> Encoded:
        """The rows, encoded; ``x`` where that has been brought."""
        if self.h is None:
            return encode(self.runs, self.batches, rows, gradient, varied=True, x=x)
        pick = self.batches.pick
        h = {n: pick(value, rows) for n, value in self.h.items()} if isinstance(self.h, dict) else pick(self.h, rows)
        return Encoded(h, *self.batches.labels(rows), rows)
