"""One mini-batch through all the updates of a stage. What is computed when follows from what each update moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from csad.methods.method import Assign, Encoded, Line, Method, Update
from csad.training.descent import Optimisers

Source = Callable[[bool], Encoded]  # gives the mini-batch encoded, with gradient or without


def iterate(
    method: Method, lines: Sequence[Line], own: Source, fresh: Source, optimisers: Optimisers, rate: float
) -> dict[str, Tensor]:
    """The losses by update, after each has moved its parts once, or ``repeat`` times.

    h is encoded again only after an encoder part has moved. Updates that move none see the same h without gradient; the
    next one that does takes the gradient of that very h, so a CSAD iteration runs F forward twice, not 22 times.
    """
    losses: dict[str, Tensor] = {}
    shared: Encoded | None = None
    for position, line in enumerate(lines):
        moving = moves_encoder(method, line)
        for _ in range(line.repeat):
            if line.batch == "fresh":
                e = fresh(moving)
            else:
                if shared is None:
                    shared = own(any(moves_encoder(method, later) for later in lines[position:]))
                e = shared if moving else without_gradient(shared)
            if isinstance(line, Assign):
                assign(method, line, e)
            else:
                losses[line.name] = descend(line, e, optimisers, rate)
            if moving:
                shared = None
    return losses


def moves_encoder(method: Method, line: Line) -> bool:
    """Whether h is stale after this line."""
    return any(part in method.encoder for part in line.moves)


def descend(update: Update, e: Encoded, optimisers: Optimisers, rate: float) -> Tensor:
    """The loss before the step that is taken here: gradients for the moved weights only, joined, one step per part."""
    movers = [optimisers.of(part, update.optimiser) for part in update.moves]
    movers = [mover for mover in movers if mover.weights]  # a frozen backbone has none
    weights = [w for mover in movers for w in mover.weights]
    value = update.loss(e)
    terms = value if isinstance(value, tuple) else (value,)
    total = torch.stack([term.detach() for term in terms]).sum()
    if not weights:
        return total
    each = [
        torch.autograd.grad(term, weights, retain_graph=k + 1 < len(terms), allow_unused=True, materialize_grads=True)
        for k, term in enumerate(terms)
    ]
    gradients = [update.join(*gradient) for gradient in zip(*each, strict=True)]
    for mover in movers:
        size = len(mover.weights)
        mover.step(gradients[:size], rate)
        gradients = gradients[size:]
    return total


@torch.no_grad()
def assign(method: Method, line: Assign, e: Encoded) -> None:
    """Sets the buffers that the line gives, in place."""
    for name, value in line.value(e).items():
        method.get_buffer(name).copy_(value)


def without_gradient(e: Encoded) -> Encoded:
    """The same values, cut off from F."""
    return e._replace(h=_detached(e.h))


def _detached(h: Any) -> Any:
    return {name: value.detach() for name, value in h.items()} if isinstance(h, dict) else h.detach()
