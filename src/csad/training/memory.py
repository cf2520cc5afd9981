"""How much memory a run needs, so that a stack can be as large as the machine allows; measured without a GPU."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.methods.method import Method
from csad.training.batches import OwnBatches
from csad.training.device import ComputeSettings
from csad.training.stacking import Alone
from csad.training.steps import Steps, optimizers_of

WORKING_SPACE = 1.3  # bytes of a step for each byte that it saves for the backward pass: 1.2 on stacks of 21 and 84
SHARE = 0.8  # of the free memory that a training may fill
LIGHT = 0.1  # of what may be filled: for smaller data it is not worth measuring what else is needed
MEASURED = 2**21, 32  # bytes of x, and rows: of larger mini-batches so much is measured, the rest in proportion


def run_bytes(method: Method, dataset: Dataset) -> int:
    """About how many bytes a run of this method needs while it trains, without its data.

    The bytes saved for the backward pass are measured in one real step of each stage, on a copy on the CPU: they are
    the same on every device. A CPU would take minutes for mini-batches of photographs, so a part of them is measured.
    """
    cpu = torch.device("cpu")
    size = method.course.batch_size
    rows = min(size, max(MEASURED[0] // (prod(method.task.shape) * 4), MEASURED[1]))
    sample = small(dataset, rows)
    method = copy.deepcopy(method).to(cpu)
    # Not balanced: so few rows may lack a class, and which rows they are changes no byte.
    method.course = replace(method.course, batch_size=rows, balance="")
    method.prepare(sample.train, sample.view)
    batches = OwnBatches(sample, method.course, 0, cpu)
    runs = Alone(method)
    most = 0
    for number, stage in enumerate(method.schedule()):
        steps = Steps(runs, batches, optimizers_of(runs, cpu), number, ComputeSettings(cpu), lambda text: None)
        with SavedBytes() as saved:
            steps(steps.epoch(0)[0])
        frozen = not any(map(method.moves_encoder, stage.updates))
        features = _bytes(steps.feed.h) * len(dataset.train) // len(sample.train) if frozen else 0
        # Weights are saved once, however many rows there are.
        whole = saved.most + max(saved.most - _bytes(runs.state), 0) * (size / rows - 1)
        most = max(most, int(WORKING_SPACE * whole) + features)
    # A weight, its gradient, two moments, and the move of a step.
    return most + 5 * _bytes(runs.state)


def small(dataset: Dataset, batch_size: int) -> Dataset:
    """The data set with no more training rows than a few mini-batches need."""
    few = dataset.train.rows(torch.arange(min(len(dataset.train), 2 * batch_size)))
    return replace(dataset, splits={**dataset.splits, "train": few})


def stays_on_host(x: Tensor, device: torch.device, needed: Callable[[], int]) -> bool:
    """Whether x does not fit on the device beside the bytes that are ``needed``, which is called only if it matters."""
    if device.type in ("cpu", x.device.type):
        return False  # it is there already
    free = free_bytes(device)
    return x.nbytes > LIGHT * free and (x.nbytes > free or x.nbytes + needed() > free)


def free_bytes(device: torch.device) -> int:
    """The memory that a training may fill."""
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
        return int(SHARE * (free - torch.cuda.memory_allocated(device)))
    try:
        return int(SHARE * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError):  # a system that does not know
        return 4 * 2**30


class SavedBytes:
    """Counts the bytes that autograd saves for backward passes, and the most at any time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.times: Counter[int] = Counter()
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda saved: saved.tensor)

    def __enter__(self) -> SavedBytes:
        self.hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.hooks.__exit__(*error)

    def _pack(self, tensor: Tensor) -> _SavedTensor:
        return _SavedTensor(self, tensor)


class _SavedTensor:
    """A saved tensor, counted until autograd frees it; tensors that share their memory count once."""

    def __init__(self, counter: SavedBytes, tensor: Tensor) -> None:
        self.counter, self.tensor = counter, tensor
        storage = tensor.untyped_storage()
        self.place, self.size = storage.data_ptr(), storage.nbytes()
        if counter.times[self.place] == 0:
            counter.now += self.size
            counter.most = max(counter.most, counter.now)
        counter.times[self.place] += 1

    def __del__(self) -> None:
        self.counter.times[self.place] -= 1
        if self.counter.times[self.place] == 0:
            self.counter.now -= self.size


def _bytes(tensors: Any) -> int:
    values = tensors.values() if isinstance(tensors, dict) else [tensors]
    return sum(value.nbytes for value in values)
