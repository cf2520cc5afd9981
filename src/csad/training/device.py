"""Where and how exactly to compute."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from csad.errors import InputError
from csad.training.crowd import Crowd
from csad.training.stop import Request, stop_request


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        here = "auto, cpu, cuda or cuda:N" if torch.cuda.is_available() else "auto or cpu, since torch finds no GPU"
        raise InputError(f"There is no device '{name}' here: give {here}.") from error
    return device


@contextmanager
def computing_in(precision: str) -> Iterator[None]:
    """Products and convolutions in float32 or TF32; put back afterwards.

    With bf16 it is float32 as well: the method itself calls F, and F alone, in bf16.
    """
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, convolution.allow_tf32
    matmul.allow_tf32 = convolution.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        matmul.allow_tf32, convolution.allow_tf32 = before


def laid_out(x: Tensor, precision: str) -> Tensor:
    """x as F reads it fastest: pictures (n, channels, height, width) with channels last in memory where F is in bf16.

    The numbers and the shape are the same. What a convolution gives lies as its input does, so x alone decides.
    """
    return x.contiguous(memory_format=torch.channels_last) if precision == "bf16" and x.ndim == 4 else x


def sent(values: Tensor, device: torch.device) -> Tensor:
    """The values on the device; a GPU is handed them while it still computes."""
    # From memory that may not be moved, which alone is copied without waiting; torch keeps it until it has been read.
    return values.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else values.to(device)


def gathered(values: Tensor, rows: Tensor, device: torch.device) -> Tensor:
    """``values[rows]`` on the device, of values on the host."""
    taken = torch.empty(len(rows), *values.shape[1:], dtype=values.dtype, pin_memory=device.type == "cuda")
    return sent(torch.index_select(values, 0, rows.to(values.device), out=taken), device)


@contextmanager
def repeatable(device: torch.device, deterministic: bool) -> Iterator[None]:
    """Random numbers that leave the caller's alone, and only deterministic algorithms if asked; put back afterwards."""
    if deterministic:
        # cuBLAS reads this when it starts; without it torch refuses deterministic products on a GPU.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
    changes = deterministic and (only_warns or not before)
    if changes:  # only then, since the call loads torch's compiler, which takes a second
        torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        if changes:
            torch.use_deterministic_algorithms(before, warn_only=only_warns)


def wait(device: torch.device) -> None:
    """Lets the device finish what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@contextmanager
def memory_told(device: torch.device) -> Iterator[None]:
    """What does not fit into the device's memory is an input error that says what to do."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        cause = str(error).removeprefix("CUDA out of memory. ").split(". ")[0]  # then follow torch's own settings
        raise InputError(
            f"This training does not fit into the memory of {device} (torch says: {cause}): "
            "take a smaller train.batch_size, a smaller data.size of pictures, or --device cpu."
        ) from error


@dataclass(frozen=True)
class Way:
    """How to compute: where, only repeatably or not, recorded as a CUDA graph or step by step."""

    device: torch.device
    deterministic: bool = False
    record: bool = True
    crowd: Crowd = field(default_factory=Crowd, compare=False)  # of all trainings that go this way, told of once

    @contextmanager
    def computing(self, precision: str) -> Iterator[Request]:
        """Sets torch up, and hears a request to stop; all is put back afterwards."""
        with (
            stop_request() as request,
            repeatable(self.device, self.deterministic),
            computing_in(precision),
            memory_told(self.device),
        ):
            yield request
