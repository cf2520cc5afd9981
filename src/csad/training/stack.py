"""One run of a method, or R runs of it as one program: how a piece of the method is called, and on which weights.

R runs differ only in numbers: seed, λ, data, learning rate. Their weights and buffers get a leading axis, and whatever
a method declares is called under ``vmap``; so each run sees exactly what it would see alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.modules.dropout import _DropoutNd

from csad.data.samples import Batch
from csad.methods.method import Method, add


class Runs(Protocol):
    """What training asks of one run or of many; tensors of many have a leading axis of runs."""

    method: Method  # of many, a template: its declarations hold for all, its weights for none
    methods: Sequence[Method]
    state: dict[str, Tensor]  # weights and buffers by name

    def weights(self, part: str) -> dict[str, Tensor]:
        """The weights of a part that may move."""

    def call(self, piece: Callable[..., Any], *arguments: Any) -> Any:
        """What a piece of the method (a loss, an assignment, encode) gives."""

    def join(self, join: Callable[..., Tensor], gradients: Sequence[Tensor]) -> Tensor:
        """Several gradients of a weight as one."""

    def each(self, values: Tensor) -> list[Any]:
        """A tensor of one number per run as numbers."""

    def look(self, number: int, piece: Callable[..., Any], *arguments: Any) -> Any:
        """What a piece of the method gives for one of the runs."""

    def slice(self, number: int) -> dict[str, Tensor]:
        """The weights and buffers of one of the runs."""


class Alone:
    """One run: the method as it is."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.methods: Sequence[Method] = (method,)
        self.state = _state(method)

    def weights(self, part: str) -> dict[str, Tensor]:
        """The part's parameters; a frozen weight of a user's backbone is left out."""
        return {n: w for n, w in self.method.get_submodule(part).named_parameters() if w.requires_grad}

    def call(self, piece: Callable[..., Any], *arguments: Any) -> Any:
        """The piece, called."""
        return piece(*arguments)

    def join(self, join: Callable[..., Tensor], gradients: Sequence[Tensor]) -> Tensor:
        """The joined gradient."""
        return join(*gradients)

    def each(self, values: Tensor) -> list[Any]:
        """The one number."""
        return [values.item()]

    def look(self, number: int, piece: Callable[..., Any], *arguments: Any) -> Any:
        """The piece, called."""
        return piece(*arguments)

    def slice(self, number: int) -> dict[str, Tensor]:
        """All of them."""
        return self.state


class Stack:
    """R runs of one method and one net as one."""

    def __init__(self, methods: Sequence[Method], device: torch.device) -> None:
        self.methods = methods
        self.method = methods[0]
        states = [_state(method) for method in methods]
        self.state = {name: torch.stack([state[name].detach() for state in states]).to(device) for name in states[0]}
        for name, weight in self.method.named_parameters():
            self.state[name].requires_grad_(weight.requires_grad)

    def weights(self, part: str) -> dict[str, Tensor]:
        """The part's weights (R, …)."""
        own = self.method.get_submodule(part).named_parameters()
        return {n: self.state[f"{part}.{n}"] for n, w in own if w.requires_grad}

    def call(self, piece: Callable[..., Any], *arguments: Any) -> Any:
        """What the piece gives for each run, on its weights and its slice of the arguments."""

        def alone(state: dict[str, Tensor], *own: Any) -> Any:
            return functional_call(self.method, state, (piece, *own))

        return vmap(alone)(self.state, *arguments)

    def join(self, join: Callable[..., Tensor], gradients: Sequence[Tensor]) -> Tensor:
        """The joined gradient, run by run."""
        joined: Tensor = gradients[0] if len(gradients) == 1 and join is add else vmap(join)(*gradients)
        return joined

    def each(self, values: Tensor) -> list[Any]:
        """R numbers."""
        return list(values.tolist())

    def look(self, number: int, piece: Callable[..., Any], *arguments: Any) -> Any:
        """What the piece gives on the weights of one run."""
        return functional_call(self.method, self.slice(number), (piece, *arguments))

    def slice(self, number: int) -> dict[str, Tensor]:
        """The weights and buffers of one run."""
        return {name: value[number].detach() for name, value in self.state.items()}


def _state(method: Method) -> dict[str, Tensor]:
    return {**dict(method.named_parameters()), **dict(method.named_buffers())}


def why_not_stacked(method: Method) -> str:
    """Why runs of this method cannot be one program; empty when they can. Two rows of zeros are encoded to see."""
    for name, part in method.named_modules():
        if isinstance(part, _DropoutNd) and part.p > 0:
            return f"{name} draws random numbers (dropout), which stacked runs cannot do each for itself"
    device = next(method.parameters()).device
    zeros = torch.zeros(2, 2, dtype=torch.long, device=device)
    biases = torch.zeros(2, 2, len(method.task.biases), dtype=torch.long, device=device)
    x = torch.zeros(2, 2, *method.task.shape, device=device)
    try:
        with torch.no_grad(), in_mode(method, training=True):
            Stack([method, method], device).call(method.encode, Batch(x, zeros, biases, zeros))
    except RuntimeError as error:  # whatever a backbone of the user's own does that vmap refuses
        return f"its encoder cannot be stacked ({str(error).splitlines()[0]})"
    return ""


@contextmanager
def in_mode(method: nn.Module, *, training: bool) -> Iterator[None]:
    """The method in train or eval mode; each part's own mode is put back."""
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
