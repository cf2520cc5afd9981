"""One run of a method, or R runs of it as one program: how a function of the method is called, and on which weights.

R runs differ only in numbers: seed, λ, data, learning rate. Their weights and buffers get a leading axis, and all that
a method declares is called under ``vmap``. So each run sees exactly what it would see alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.modules.dropout import _DropoutNd

from csad.data.samples import Batch
from csad.methods.method import Method, add


class Runs(Protocol):
    """One run or many; the tensors of many have a leading axis of runs."""

    method: Method  # a template if there are many: its declarations hold for all, its weights for none
    methods: Sequence[Method]
    state: dict[str, Tensor]  # weights and buffers by name

    def weights(self, part: str) -> dict[str, Tensor]:
        """The weights of a part that may move."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the method (a loss, an assignment, encode)."""

    def join(self, join: Callable[..., Tensor], gradients: Sequence[Tensor]) -> Tensor:
        """Join several gradients of a weight into one."""

    def each(self, values: Tensor) -> list[Any]:
        """A tensor of one number per run as numbers."""

    def call_for(self, number: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the method for one of the runs."""

    def slice(self, number: int) -> dict[str, Tensor]:
        """The weights and buffers of one of the runs."""


class Alone:
    """One run: the method as it is."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.methods: Sequence[Method] = (method,)
        self.state = method.named_tensors()

    def weights(self, part: str) -> dict[str, Tensor]:
        """The part's parameters; a frozen weight of a user's backbone is left out."""
        return {n: w for n, w in self.method.get_submodule(part).named_parameters() if w.requires_grad}

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it."""
        return function(*arguments)

    def join(self, join: Callable[..., Tensor], gradients: Sequence[Tensor]) -> Tensor:
        """The joined gradient."""
        return join(*gradients)

    def each(self, values: Tensor) -> list[Any]:
        """The one number."""
        return [values.item()]

    def call_for(self, number: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it."""
        return function(*arguments)

    def slice(self, number: int) -> dict[str, Tensor]:
        """All of them."""
        return self.state


class Stack:
    """R runs of one method and one net as one."""

    def __init__(self, methods: Sequence[Method], device: torch.device) -> None:
        self.methods = methods
        self.method = methods[0]
        states = [method.named_tensors() for method in methods]
        self.state = {name: torch.stack([state[name].detach() for state in states]).to(device) for name in states[0]}
        for name, weight in self.method.named_parameters():
            self.state[name].requires_grad_(weight.requires_grad)

    def weights(self, part: str) -> dict[str, Tensor]:
        """The part's weights (R, …)."""
        parameters = self.method.get_submodule(part).named_parameters()
        return {n: self.state[f"{part}.{n}"] for n, w in parameters if w.requires_grad}

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the function for each run, on its weights and its slice of the arguments."""

        def call_alone(state: dict[str, Tensor], *slices: Any) -> Any:
            return functional_call(self.method, state, (function, *slices))

        return vmap(call_alone)(self.state, *arguments)

    def join(self, join: Callable[..., Tensor], gradients: Sequence[Tensor]) -> Tensor:
        """The joined gradient, run by run."""
        joined: Tensor = gradients[0] if len(gradients) == 1 and join is add else vmap(join)(*gradients)
        return joined

    def each(self, values: Tensor) -> list[Any]:
        """R numbers."""
        return list(values.tolist())

    def call_for(self, number: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the function on the weights of one run."""
        return functional_call(self.method, self.slice(number), (function, *arguments))

    def slice(self, number: int) -> dict[str, Tensor]:
        """The weights and buffers of one run."""
        return {name: value[number].detach() for name, value in self.state.items()}


@torch.no_grad()
def set_buffers(runs: Runs, values: Mapping[str, Tensor]) -> None:
    """Set weights and buffers by name, in place: a recording and an optimizer keep using the same tensors."""
    for name, value in values.items():
        runs.state[name].copy_(value)


def why_not_stacked(method: Method) -> str:
    """Why runs of this method cannot be one program; empty if they can. It encodes two rows of zeros to find out."""
    for name, part in method.named_modules():
        if isinstance(part, _DropoutNd) and part.p > 0:
            return f"{name} uses dropout, and stacked runs cannot draw separate random numbers"
    device = next(method.parameters()).device
    zeros = torch.zeros(2, 2, dtype=torch.long, device=device)
    biases = torch.zeros(2, 2, len(method.task.biases), dtype=torch.long, device=device)
    x = torch.zeros(2, 2, *method.task.shape, device=device)
    try:
        with torch.no_grad(), in_mode(method, training=True):
            Stack([method, method], device).call(method.encode, Batch(x, zeros, biases, zeros))
    except RuntimeError as error:  # a user's backbone may do anything that vmap refuses
        return f"its encoder cannot be stacked ({str(error).splitlines()[0]})"
    return ""


@contextmanager
def in_mode(method: nn.Module, *, training: bool) -> Iterator[None]:
    """Put the method in train or eval mode, and restore each part's own mode afterwards."""
    modes = [(part, part.training) for part in method.modules()]
    method.train(training)
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def may_differ(method: Method, setting: str) -> bool:
    """Whether stacked runs may differ in a setting of the method: it is a buffer, not a Python number."""
    return setting in method.starts or setting in dict(method.named_buffers())
