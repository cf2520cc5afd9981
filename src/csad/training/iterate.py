"""One mini-batch through all the updates of a stage. What is computed when follows from what each update moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from csad.methods.method import Assign, Encoded, Line, Method, Update, add
from csad.training.descent import Optimisers
from csad.training.stack import Runs

Source = Callable[[bool], Encoded]  # gives the mini-batch encoded, with gradient or without


def iterate(
    runs: Runs, lines: Sequence[Line], own: Source, fresh: Source, optimisers: Optimisers, rate: Tensor
) -> dict[str, Tensor]:
    """The losses by update, of one run or of each, after all have moved their parts once, or ``repeat`` times.

    h is encoded again only after an encoder part has moved. Updates that move none see the same h without gradient; the
    next one that does takes the gradient of that very h, so a CSAD iteration runs F forward twice, not 22 times.
    """
    losses: dict[str, Tensor] = {}
    shared: Encoded | None = None
    for position, line in enumerate(lines):
        moving = moves_encoder(runs.method, line)
        for _ in range(line.repeat):
            if isinstance(line, Assign) and line.batch == "none":
                assign(runs, line)
                continue
            if line.batch == "fresh":
                e = fresh(moving)
            else:
                if shared is None:
                    shared = own(any(moves_encoder(runs.method, later) for later in lines[position:]))
                e = shared if moving else without_gradient(shared)
            if isinstance(line, Assign):
                assign(runs, line, e)
            else:
                losses[line.name] = descend(runs, line, e, optimisers, rate)
            if moving:
                shared = None
    return losses


def moves_encoder(method: Method, line: Line) -> bool:
    """Whether h is stale after this line."""
    return any(part in method.encoder for part in line.moves)


def descend(runs: Runs, update: Update, e: Encoded, optimisers: Optimisers, rate: Tensor) -> Tensor:
    """The loss before the step that is taken here: gradients for the moved weights only, joined, one step per part."""
    movers = [optimisers.of(part, update.optimiser) for part in update.moves]
    movers = [mover for mover in movers if mover.weights]  # a frozen backbone has none
    weights = [w for mover in movers for w in mover.weights]
    value = runs.call(update.loss, e)
    terms = value if isinstance(value, tuple) else (value,)
    total = add(*(term.detach() for term in terms))
    if not weights:
        return total
    each = [
        # No run's loss depends on another's weights: the gradient of their sum is the gradient of each.
        torch.autograd.grad(
            term,
            weights,
            torch.ones_like(term),
            retain_graph=k + 1 < len(terms),
            allow_unused=True,
            materialize_grads=True,
        )
        for k, term in enumerate(terms)
    ]
    gradients = [runs.join(update.join, gradient) for gradient in zip(*each, strict=True)]
    if update.pace:
        rate = rate * runs.state[update.pace]
    for mover in movers:
        size = len(mover.weights)
        mover.step(gradients[:size], rate)
        gradients = gradients[size:]
    return total


@torch.no_grad()
def assign(runs: Runs, line: Assign, *e: Encoded) -> None:
    """Sets the buffers that the line gives, in place."""
    put(runs, runs.call(line.value, *e))


@torch.no_grad()
def put(runs: Runs, values: Mapping[str, Tensor]) -> None:
    """Sets weights and buffers by name, in place: a recording and an optimiser go on with the same tensors."""
    for name, value in values.items():
        runs.state[name].copy_(value)


def without_gradient(e: Encoded) -> Encoded:
    """The same values, cut off from F."""
    return e._replace(h=_detached(e.h))


def _detached(h: Any) -> Any:
    return {name: value.detach() for name, value in h.items()} if isinstance(h, dict) else h.detach()
