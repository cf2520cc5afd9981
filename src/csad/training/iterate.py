"""One mini-batch through all the updates of a stage; the parts that each update moves decide what is computed when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from csad.methods.method import Assign, Encoded, Line, Update, add
from csad.training.optimizers import Optimizers
from csad.training.stacking import Runs, set_buffers

Source = Callable[[bool], Encoded]  # gives the mini-batch encoded, with gradient or without


def iterate(
    runs: Runs, lines: Sequence[Line], main: Source, fresh: Source, optimizers: Optimizers, rate: Tensor
) -> dict[str, Tensor]:
    """Run all lines in order, each ``repeat`` times; return the loss of each update, for one run or for each.

    h is encoded again only after a part of the encoder has moved. Updates that move no such part see the same h without
    gradient; the next one that does takes the gradient of that same h. So a CSAD iteration runs F forward twice, not 22
    times.
    """
    losses: dict[str, Tensor] = {}
    shared: Encoded | None = None
    for position, line in enumerate(lines):
        moving = runs.method.moves_encoder(line)
        for _ in range(line.repeat):
            if isinstance(line, Assign) and line.batch == "none":
                assign(runs, line)
                continue
            if line.batch == "fresh":
                e = fresh(moving)
            else:
                if shared is None:
                    shared = main(any(map(runs.method.moves_encoder, lines[position:])))
                e = shared if moving else without_gradient(shared)
            if isinstance(line, Assign):
                assign(runs, line, e)
            else:
                losses[line.name] = descend(runs, line, e, optimizers, rate)
            if moving:
                shared = None
    return losses


def descend(runs: Runs, update: Update, e: Encoded, optimizers: Optimizers, rate: Tensor) -> Tensor:
    """Take one step per moved part, on the joined gradients of its weights alone; return the loss before it."""
    movers = [optimizers.of(part, update.optimizer) for part in update.moves]
    movers = [mover for mover in movers if mover.weights]  # a frozen backbone has none
    weights = [w for mover in movers for w in mover.weights]
    value = runs.call(update.loss, e)
    terms = value if isinstance(value, tuple) else (value,)
    total = add(*(term.detach() for term in terms))
    if not weights:
        return total
    gradients_of_terms = [
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
    gradients = [runs.join(update.join, gradient) for gradient in zip(*gradients_of_terms, strict=True)]
    if update.pace:
        rate = rate * runs.state[update.pace]
    for mover in movers:
        size = len(mover.weights)
        mover.step(gradients[:size], rate)
        gradients = gradients[size:]
    return total


@torch.no_grad()
def assign(runs: Runs, line: Assign, *e: Encoded) -> None:
    """Set the buffers that the line gives, in place."""
    set_buffers(runs, runs.call(line.value, *e))


def without_gradient(e: Encoded) -> Encoded:
    """The same values without a gradient to F."""
    return e._replace(h=_detached(e.h))


def _detached(h: Any) -> Any:
    return {name: value.detach() for name, value in h.items()} if isinstance(h, dict) else h.detach()
