"""Where and how exactly a training computes, and how a signal stops it between two mini-batches."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import torch
from torch import Tensor

from csad.errors import InputError


class StopRequest:
    """Whether a stop was asked for."""

    def __init__(self) -> None:
        self.pending = False


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Let SIGINT (Ctrl-C) and SIGTERM (a cluster's) ask for a stop; a second signal stops at once.

    Outside the main thread no signal is caught, and no stop is ever asked for.
    """
    request = StopRequest()

    def ask(number: int, frame: FrameType | None) -> None:
        if request.pending:
            raise KeyboardInterrupt
        request.pending = True

    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" is a GPU if there is one. Raise InputError if there is no such device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        here = "auto, cpu, cuda or cuda:N" if torch.cuda.is_available() else "auto or cpu, because torch finds no GPU"
        raise InputError("device-not-available", device=name, known=here) from error
    return device


@contextmanager
def computing_in(precision: str) -> Iterator[None]:
    """Compute products and convolutions in float32 or TF32, and restore torch's settings afterwards.

    bf16 means float32 here: the method itself calls F, and only F, in bf16.
    """
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, convolution.allow_tf32
    matmul.allow_tf32 = convolution.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        matmul.allow_tf32, convolution.allow_tf32 = before


def lay_out(x: Tensor, precision: str) -> Tensor:
    """x in the memory layout that F reads fastest: images with channels last if F computes in bf16.

    Numbers and shape (n, channels, height, width) stay the same. A convolution's output has the layout of its input,
    so it is enough to change x.
    """
    return x.contiguous(memory_format=torch.channels_last) if precision == "bf16" and x.ndim == 4 else x


def copy_async(values: Tensor, device: torch.device) -> Tensor:
    """The values on the device; a GPU receives them while it still computes."""
    # Only pinned memory is copied without waiting; torch keeps it until it has been read.
    return values.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else values.to(device)


def take_rows(values: Tensor, rows: Tensor, device: torch.device) -> Tensor:
    """``values[rows]`` on the device, for values on the host."""
    buffer = torch.empty(len(rows), *values.shape[1:], dtype=values.dtype, pin_memory=device.type == "cuda")
    return copy_async(torch.index_select(values, 0, rows.to(values.device), out=buffer), device)


@contextmanager
def repeatable(device: torch.device, deterministic: bool) -> Iterator[None]:
    """Leave the caller's random state alone, and allow only deterministic algorithms if ``deterministic``."""
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
    """Wait until the device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@contextmanager
def explain_out_of_memory(device: torch.device) -> Iterator[None]:
    """Raise InputError with advice if the device has too little memory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        cause = str(error).removeprefix("CUDA out of memory. ").split(". ")[0]  # the rest is about torch's own settings
        raise InputError("out-of-memory", device=device, reason=cause) from error


@dataclass(frozen=True)
class ComputeSettings:
    """How to compute.

    Args:
        device: Where to compute.
        deterministic: Whether to allow only deterministic algorithms.
        record: Whether to record steps as a CUDA graph on a GPU, rather than make them one by one.
    """

    device: torch.device
    deterministic: bool = False
    record: bool = True

    @contextmanager
    def computing(self, precision: str) -> Iterator[StopRequest]:
        """Set torch up and catch requests to stop; restore everything afterwards."""
        with (
            stop_request() as request,
            repeatable(self.device, self.deterministic),
            computing_in(precision),
            explain_out_of_memory(self.device),
        ):
            yield request
