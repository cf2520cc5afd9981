"""The cells (y, b): target and all bias columns together, which reweighing and Group DRO count."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from csad.data.pairs import known
from csad.data.samples import Classes, Samples, Task
from csad.errors import InputError


class Cells:
    """Numbers the cells 0 … count − 1: by y first, then by the columns of b in their order.

    Raise InputError if the target or a bias holds numbers.
    """

    def __init__(self, task: Task, method: str) -> None:
        self.sizes: Sequence[int] = [kind.count for kind in (task.target, *task.biases) if isinstance(kind, Classes)]
        if len(self.sizes) <= len(task.biases):
            what = "a bias column" if isinstance(task.target, Classes) else "the target"
            raise InputError("method-needs-classes", method=method, column=what)
        self.count = prod(self.sizes)

    def of(self, y: Tensor, b: Tensor) -> Tensor:
        """The number of each row's cell (n,); −1 where a label is unknown."""
        cell = y.long()
        for k, size in enumerate(self.sizes[1:]):
            cell = cell * size + torch.nan_to_num(b[:, k]).long()
        return torch.where(known(b).all(-1), cell, -1)

    def counts(self, rows: Samples) -> Tensor:
        """How many of the rows each cell holds (count,), in float64 on the CPU; unknown labels have no cell."""
        cell = self.of(rows.y, rows.b).cpu()
        return torch.bincount(cell[cell >= 0], minlength=self.count).double()
