"""Mini-batches on the device, in an order that follows from the seed, the stage and the epoch alone.

So no random state has to be saved: a run that was stopped continues with exactly the batches that come next.

If x of a run does not fit on the device, it stays on the host, and so do row numbers until a mini-batch is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from csad.data.augment import Augmentation, hash_uniform
from csad.data.chunks import rows_at_a_time
from csad.data.sampler import balanced_over, epoch_order
from csad.data.samples import Batch, Dataset, Samples
from csad.methods.method import Course
from csad.training.device import lay_out, take_rows

# Streams of random numbers: the iteration's mini-batches, those of updates that draw others, augmentation.
MAIN, FRESH, AUGMENTED = 0, 1, 2


def mix_seed(*numbers: int) -> int:
    """One seed from several numbers; other numbers give another seed."""
    words = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
    return int(words[0]) << 31 | int(words[1]) >> 1


class Batches(Protocol):
    """The training rows of one run or of many; for many, row numbers have a leading axis of runs."""

    device: torch.device
    on_host: bool  # whether x stays on the host
    per_epoch: int
    rows: Tensor  # all row numbers
    chunk: int  # rows to encode or predict at a time if no gradient is needed

    def order(self, stage: int, epoch: int, stream: int = MAIN) -> Sequence[Tensor]:
        """The row numbers of each mini-batch of an epoch."""

    def begin(self, stage: int, epoch: int) -> None:
        """Augment rows as in this epoch from now on."""

    def stored(self, rows: Tensor) -> Tensor:
        """x of the rows as the data set holds it, on the device."""

    def take(self, rows: Tensor, *, augmented: bool = False, x: Tensor | None = None) -> Batch:
        """The rows as F sees them, or ``augmented`` as in training; ``x`` if their stored x was taken already."""

    def labels(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """y and b of the rows."""

    def pick(self, values: Tensor, rows: Tensor) -> Tensor:
        """The rows of values that were computed for all rows."""


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
        self.augment = dataset.vary
        self.tag = torch.zeros((), dtype=torch.long, device=device)
        self.course, self.seed, self.device = course, seed, device
        self.balance = balanced_over(course.balance, dataset.train.y, dataset.train.b)
        self.rows = torch.arange(len(self.train), device=self.x.device)
        self.chunk = rows_at_a_time(dataset.task.shape)
        self.per_epoch = batches_per_epoch(self.train.y, course)

    def order(self, stage: int, epoch: int, stream: int = MAIN) -> Sequence[Tensor]:
        """(n,) each."""
        seed = mix_seed(self.seed, stage, epoch, stream)
        order = _order(len(self.train), self.balance, self.course, seed)
        return torch.split(torch.cat(order).to(self.x.device), [len(rows) for rows in order])

    def begin(self, stage: int, epoch: int) -> None:
        """In place, because a recording reads this very tensor."""
        self.tag.fill_(mix_seed(self.seed, stage, epoch, AUGMENTED) & 0xFFFFFFFF)

    def stored(self, rows: Tensor) -> Tensor:
        """(n, …)."""
        return take_rows(self.x, rows, self.device) if self.on_host else self.x[rows]

    def take(self, rows: Tensor, *, augmented: bool = False, x: Tensor | None = None) -> Batch:
        """The rows (n, …) through the data set's view."""
        x = self.stored(rows) if x is None else x.clone()  # a view may change its input, and a step takes it twice
        rows = rows.to(self.device)
        x = _view(x, rows, self.tag, self.view, self.augment if augmented else None)
        return Batch(lay_out(x, self.course.precision), *self.labels(rows), rows)

    def labels(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(n,) and (n, columns)."""
        rows = rows.to(self.device)
        return self.y[rows], self.b[rows]

    def pick(self, values: Tensor, rows: Tensor) -> Tensor:
        """``values[rows]``."""
        return values[rows]


class StackedBatches:
    """The training rows of R runs; a data set that several runs share is stored once."""

    on_host = False  # a stack is only made as large as fits with its data

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
        self.augmentations = [dataset.vary for dataset in datasets]
        self.tags = torch.zeros(len(seeds), 1, dtype=torch.long, device=device)
        self.course, self.seeds, self.device = course, seeds, device
        self.number = torch.arange(len(seeds), device=device)[:, None]
        self.rows = torch.arange(self.x.shape[1], device=device).expand(len(seeds), -1)
        self.chunk = max(rows_at_a_time(datasets[0].task.shape, len(seeds)), course.batch_size)
        self.per_epoch = batches_per_epoch(trains[0].y, course)

    def order(self, stage: int, epoch: int, stream: int = MAIN) -> Sequence[Tensor]:
        """(R, n) each: the order of a run follows from its own seed."""
        seeds = [mix_seed(seed, stage, epoch, stream) for seed in self.seeds]
        n = self.rows.shape[1]
        orders = [_order(n, labels, self.course, seed) for labels, seed in zip(self.balances, seeds, strict=True)]
        together = torch.stack([torch.cat(order) for order in orders]).to(self.device)
        return torch.split(together, [len(rows) for rows in orders[0]], dim=1)

    def begin(self, stage: int, epoch: int) -> None:
        """Augment each run as if it were alone."""
        tags = [mix_seed(seed, stage, epoch, AUGMENTED) & 0xFFFFFFFF for seed in self.seeds]
        self.tags.copy_(torch.tensor(tags)[:, None])

    def stored(self, rows: Tensor) -> Tensor:
        """(R, n, …)."""
        return self.x[self.which, rows]

    def take(self, rows: Tensor, *, augmented: bool = False, x: Tensor | None = None) -> Batch:
        """The rows (R, n, …) through the data sets' views, as one batch if all runs have the same view."""
        x, tags = self.stored(rows) if x is None else x.clone(), self.tags.expand_as(rows)
        augmentations = self.augmentations if augmented else [None] * len(self.views)
        if len(set(self.views)) == len(set(augmentations)) == 1:
            together = _view(x.flatten(0, 1), rows.flatten(), tags.flatten(), self.views[0], augmentations[0])
            views = torch.unflatten(together, 0, rows.shape)
        else:
            runs = zip(x, rows, tags, self.views, augmentations, strict=True)
            views = torch.stack([_view(*run) for run in runs])
        return Batch(views, *self.labels(rows), rows)

    def labels(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(R, n) and (R, n, columns)."""
        return self.y[self.which, rows], self.b[self.which, rows]

    def pick(self, values: Tensor, rows: Tensor) -> Tensor:
        """The rows of values (R, all rows, …), run by run."""
        return values[self.number, rows]


def _view(
    x: Tensor, rows: Tensor, tag: Tensor, view: Callable[[Tensor], Tensor], augment: Augmentation | None
) -> Tensor:
    """Stored rows (n, …) as F sees them, with an augmentation that follows from row number and tag."""
    x = view(x)
    return augment(x, hash_uniform(rows, tag, augment.numbers)) if augment else x


def batches_per_epoch(y: Tensor, course: Course) -> int:
    """How many mini-batches an epoch has, for training targets y; it does not matter what is balanced."""
    return len(_order(len(y), y if course.balance else None, course, 0))


def _order(n: int, balance: Tensor | None, course: Course, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return epoch_order(n, min(course.batch_size, n), generator, partial=course.partial, balance=balance)
