"""How much memory a run needs, so that a stack can be made as large as the machine allows; found without a GPU."""

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
from csad.training.device import Way
from csad.training.iterate import moves_encoder
from csad.training.stack import Alone
from csad.training.steps import Steps, optimisers_of

WORKING_SPACE = 1.3  # what a step holds for each byte it keeps for the backward pass: 1.2 on stacks of 21 and 84
SHARE = 0.8  # of the free memory that a training may fill
LIGHT = 0.1  # of what may be filled: data that take no more are not worth counting what else is needed
COUNTED = 2**21, 32  # bytes of x, and rows: of larger mini-batches so much is counted, and the rest is in proportion


def run_bytes(method: Method, dataset: Dataset) -> int:
    """About how many bytes a run of this method holds while it trains, its data left out.

    What is kept for the backward pass is counted in one real step of each stage, of a copy on the CPU: it is the same
    on every device. Of mini-batches of photographs, which a CPU would take minutes for, a part is counted.
    """
    cpu = torch.device("cpu")
    size = method.course.batch_size
    rows = min(size, max(COUNTED[0] // (prod(method.task.shape) * 4), COUNTED[1]))
    sample = small(dataset, rows)
    method = copy.deepcopy(method).to(cpu)
    # In plain order: so few rows may not hold every class, and whose rows they are changes no byte.
    method.course = replace(method.course, batch_size=rows, balance="")
    method.prepare(sample.train, sample.view)
    batches = OwnBatches(sample, method.course, 0, cpu)
    runs = Alone(method)
    most = 0
    for number, stage in enumerate(method.schedule()):
        steps = Steps(runs, batches, optimisers_of(runs, cpu), number, Way(cpu), lambda text: None)
        with Kept() as kept:
            steps(steps.epoch(0)[0])
        still = not any(moves_encoder(method, line) for line in stage.updates)
        features = _bytes(steps.feed.h) * len(dataset.train) // len(sample.train) if still else 0
        # Weights are kept once, however many rows there are.
        whole = kept.most + max(kept.most - _bytes(runs.state), 0) * (size / rows - 1)
        most = max(most, int(WORKING_SPACE * whole) + features)
    # A weight, its gradient, two moments, and the move of a step.
    return most + 5 * _bytes(runs.state)


def small(dataset: Dataset, batch_size: int) -> Dataset:
    """The data set with no more training rows than a few mini-batches need."""
    few = dataset.train.rows(torch.arange(min(len(dataset.train), 2 * batch_size)))
    return replace(dataset, splits={**dataset.splits, "train": few})


def stays_on_host(x: Tensor, device: torch.device, needed: Callable[[], int]) -> bool:
    """Whether x is too large to lie on the device beside the bytes that are ``needed``, counted where that matters."""
    if device.type in ("cpu", x.device.type):
        return False  # it lies there already
    free = free_bytes(device)
    return x.nbytes > LIGHT * free and (x.nbytes > free or x.nbytes + needed() > free)


def free_bytes(device: torch.device) -> int:
    """The memory that a training may fill."""
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
        return int(SHARE * (free - torch.cuda.memory_allocated(device)))
    try:
        return int(SHARE * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError):  # a system that does not tell
        return 4 * 2**30


class Kept:
    """Counts the bytes that autograd keeps for backward passes, and the most at any time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.times: Counter[int] = Counter()
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda held: held.tensor)

    def __enter__(self) -> Kept:
        self.hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.hooks.__exit__(*error)

    def _pack(self, tensor: Tensor) -> _Held:
        return _Held(self, tensor)


class _Held:
    """A kept tensor; one that shares its memory with another counts once. It goes when autograd lets go of it."""

    def __init__(self, kept: Kept, tensor: Tensor) -> None:
        self.kept, self.tensor = kept, tensor
        storage = tensor.untyped_storage()
        self.place, self.size = storage.data_ptr(), storage.nbytes()
        if kept.times[self.place] == 0:
            kept.now += self.size
            kept.most = max(kept.most, kept.now)
        kept.times[self.place] += 1

    def __del__(self) -> None:
        self.kept.times[self.place] -= 1
        if self.kept.times[self.place] == 0:
            self.kept.now -= self.size


def _bytes(tensors: Any) -> int:
    values = tensors.values() if isinstance(tensors, dict) else [tensors]
    return sum(value.nbytes for value in values)
