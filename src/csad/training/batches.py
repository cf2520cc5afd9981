"""Mini-batches on the device, in an order that follows from the seed, the stage and the epoch alone.

Nothing random has to be saved: a run that stops anywhere goes on with the very batches it would have had.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from csad.data.order import epoch_order
from csad.data.samples import Batch, Dataset, Samples
from csad.methods.method import Course, Encoded, Method

OWN, FRESH = 0, 1  # streams: the iteration's mini-batches, and those of updates that want others
CHUNK = 1000  # rows encoded or predicted at a time where no gradient is needed


class Batches:
    """The training rows on the device, and the mini-batches of each epoch."""

    def __init__(self, dataset: Dataset, course: Course, seed: int, device: torch.device) -> None:
        self.train: Samples = dataset.train.to(device)
        self.view: Callable[[Tensor], Tensor] = dataset.view
        self.course = course
        self.seed = seed
        self.device = device

    def order(self, stage: int, epoch: int, stream: int = OWN) -> list[Tensor]:
        """The row numbers of each mini-batch of an epoch."""
        entropy = np.random.SeedSequence([self.seed, stage, epoch, stream]).generate_state(2, np.uint32)
        generator = torch.Generator().manual_seed(int(entropy[0]) << 31 | int(entropy[1]) >> 1)
        c = self.course
        balance = self.train.y if c.balance == "target" else None
        n = len(self.train)
        order = epoch_order(n, min(c.batch_size, n), generator, partial=c.partial, balance=balance)
        return [rows.to(self.device) for rows in order]

    def batch(self, rows: Tensor) -> Batch:
        """The rows as a net sees them."""
        t = self.train
        return Batch(self.view(t.x[rows]), t.y[rows], t.b[rows], rows)

    def encode(self, method: Method, rows: Tensor, gradient: bool) -> Encoded:
        """The rows after F, in train mode only when the gradient will move it."""
        for part in method.encoder:
            method.get_submodule(part).train(gradient)
        batch = self.batch(rows)
        with torch.set_grad_enabled(gradient):
            return Encoded(method.encode(batch), batch.y, batch.b, batch.rows)

    def encode_all(self, method: Method) -> Callable[[Tensor], Encoded]:
        """Row numbers → encoded rows, from one encoding of the whole training set: for stages that leave F alone."""
        every = torch.split(torch.arange(len(self.train), device=self.device), CHUNK)
        chunks = [self.encode(method, rows, gradient=False).h for rows in every]
        if isinstance(chunks[0], dict):
            h = {name: torch.cat([chunk[name] for chunk in chunks]) for name in chunks[0]}
            return lambda rows: Encoded(
                {name: value[rows] for name, value in h.items()}, self.train.y[rows], self.train.b[rows], rows
            )
        whole = torch.cat(chunks)
        return lambda rows: Encoded(whole[rows], self.train.y[rows], self.train.b[rows], rows)
