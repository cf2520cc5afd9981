"""Mini-batches on the device, in an order that follows from the seed, the stage and the epoch alone.

Nothing random has to be saved: a run that stops anywhere goes on with the very batches it would have had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from csad.data.order import epoch_order
from csad.data.samples import Batch, Dataset, Samples
from csad.methods.method import Course, Encoded, Features, Line, Method
from csad.training.iterate import Source, moves_encoder

OWN, FRESH = 0, 1  # streams: the iteration's mini-batches, and those of updates that want others
CHUNK = 1000  # rows encoded or predicted at a time where no gradient is needed


def mixed(*numbers: int) -> int:
    """One seed from several numbers, alike only where all of them are."""
    words = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
    return int(words[0]) << 31 | int(words[1]) >> 1


class Batches:
    """The training rows on the device, and the mini-batches of each epoch."""

    def __init__(self, dataset: Dataset, course: Course, seed: int, device: torch.device) -> None:
        self.train: Samples = dataset.train.to(device)
        self.view: Callable[[Tensor], Tensor] = dataset.view
        self.course = course
        self.seed = seed
        self.device = device
        self.per_epoch = len(self.order(0, 0))

    def order(self, stage: int, epoch: int, stream: int = OWN) -> list[Tensor]:
        """The row numbers of each mini-batch of an epoch."""
        generator = torch.Generator().manual_seed(mixed(self.seed, stage, epoch, stream))
        c, n = self.course, len(self.train)
        balance = self.train.y if c.balance == "target" else None
        order = epoch_order(n, min(c.batch_size, n), generator, partial=c.partial, balance=balance)
        return [rows.to(self.device) for rows in order]

    def encode(self, method: Method, rows: Tensor, gradient: bool) -> Encoded:
        """The rows after F, in train mode only when the gradient will move it."""
        for part in method.encoder:
            method.get_submodule(part).train(gradient)
        t = self.train
        batch = Batch(self.view(t.x[rows]), t.y[rows], t.b[rows], rows)
        with torch.set_grad_enabled(gradient):
            return Encoded(method.encode(batch), batch.y, batch.b, batch.rows)

    def encode_all(self, method: Method) -> Features:
        """h of the whole training set, without gradient."""
        every = torch.split(torch.arange(len(self.train), device=self.device), CHUNK)
        chunks = [self.encode(method, rows, gradient=False).h for rows in every]
        if isinstance(chunks[0], dict):
            return {name: torch.cat([chunk[name] for chunk in chunks]) for name in chunks[0]}
        return torch.cat(chunks)


class Feed:
    """The mini-batches of one stage, encoded as its updates ask; all at once where the stage leaves F alone."""

    def __init__(self, method: Method, batches: Batches, lines: Sequence[Line], stage: int) -> None:
        self.method, self.batches, self.stage = method, batches, stage
        self.draws = sum(line.repeat for line in lines if line.batch == "fresh")
        still = not any(moves_encoder(method, line) for line in lines)
        self.h = batches.encode_all(method) if still else None

    def epoch(self, epoch: int) -> list[tuple[Source, Source]]:
        """For each mini-batch of an epoch, the source of its own rows and that of fresh ones."""
        order = self.batches.order(self.stage, epoch)
        others = self.batches.order(self.stage, epoch, FRESH) if self.draws else []
        found: list[tuple[Source, Source]] = []
        for number, rows in enumerate(order):
            following = iter(others[(number * self.draws + k) % len(others)] for k in range(self.draws))
            found.append((partial(self._encoded, rows), partial(self._next, following)))
        return found

    def _next(self, following: Iterator[Tensor], gradient: bool) -> Encoded:
        return self._encoded(next(following), gradient)

    def _encoded(self, rows: Tensor, gradient: bool) -> Encoded:
        if self.h is None:
            return self.batches.encode(self.method, rows, gradient)
        h = {name: value[rows] for name, value in self.h.items()} if isinstance(self.h, dict) else self.h[rows]
        return Encoded(h, self.batches.train.y[rows], self.batches.train.b[rows], rows)
