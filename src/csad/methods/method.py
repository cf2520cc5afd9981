"""The contract of a method: parts that move, updates that move them, stages that hold updates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from csad.data.samples import Batch, Samples, Task
from csad.errors import InputError
from csad.methods.average import Average
from csad.methods.terms import fell_to_chance, label_loss
from csad.nets.norms import Resting
from csad.nets.parts import Nets

Features = Tensor | dict[str, Tensor]


class Encoded(NamedTuple):
    """A mini-batch after the costly part: h (a tensor, or a dict of tensors, rows first) beside its labels."""

    h: Any
    y: Tensor
    b: Tensor
    rows: Tensor  # their numbers in the training set


def add(*gradients: Tensor) -> Tensor:
    """The sum: how several gradients of one weight become one unless a method says otherwise."""
    total = gradients[0]
    for gradient in gradients[1:]:
        total = total + gradient
    return total


@dataclass(frozen=True)
class Update:
    """One line of an algorithm: move these parts downhill on this loss.

    ``loss`` gives a scalar, or a tuple of scalars whose gradients ``join`` makes one, weight by weight. It is pure: it
    writes no state, draws no random number, indexes by no mask, and never leaves the device.
    """

    name: str
    moves: tuple[str, ...]
    loss: Callable[[Encoded], Tensor | tuple[Tensor, ...]]
    repeat: int = 1  # the paper's K
    batch: str = "same"  # or "fresh": other mini-batches than the iteration's own
    join: Callable[..., Tensor] = add
    optimiser: str = ""  # a second optimiser for the same part, only where a paper has one
    pace: str = ""  # a buffer that multiplies the stage's rate: for Adam a factor of the loss would change nothing


@dataclass(frozen=True)
class Assign:
    """A line of an algorithm that sets buffers instead of descending: group weights, moving averages."""

    name: str
    value: Callable[..., Mapping[str, Tensor]]  # of an Encoded, or of nothing
    repeat: int = 1
    batch: str = "same"  # or "fresh", or "none": it needs no mini-batch
    moves: tuple[str, ...] = ()


Line = Update | Assign


class Stage(NamedTuple):
    """Lines run in order on each mini-batch, for some epochs; ``renew`` names parts whose optimisers start afresh.

    A stage that is ``common`` depends on no setting of the method's own and is alike in every method that has one of
    its name: pretraining that runs may share.
    """

    name: str
    updates: tuple[Line, ...]
    epochs: int
    rate: float
    decay: float = 1.0
    decay_every: int = 0
    renew: tuple[str, ...] = ()
    common: bool = False

    def rate_at(self, epoch: int) -> float:
        """The learning rate of an epoch, multiplied by ``decay`` after each ``decay_every`` epochs."""
        return self.rate * self.decay ** (epoch // self.decay_every) if self.decay_every else self.rate


@dataclass(frozen=True)
class Course:
    """How long and how fast to train. Defaults are the authors' for Colored MNIST."""

    batch_size: int = 128
    partial: str = "fill"  # a last batch that is too small: fill, keep (the authors' code) or drop
    balance: str = ""  # "target": every class equally often in each batch; "cells": every class with every bias
    target_epochs: int = 20  # pretraining of F, D_y, P_y
    bias_epochs: int = 20  # pretraining of D_b, P_b
    estimator_epochs: int = 2  # pretraining of M
    epochs: int = 5
    pretrain_rate: float = 5e-4
    rate: float = 5e-5
    decay: float = 0.1
    decay_every: int = 3
    weight_decay: float = 5e-4
    optimiser: str = "adam"
    average: float = 0.0  # of the last stage's weights, kept from step to step, taken in the end; 0: none (the authors)
    select_by: str = ""  # the figure of the validation split whose best epoch of the last stage is taken; "": the last
    precision: str = "float32"  # or tf32, on a GPU; or bf16, in which F alone computes

    def __post_init__(self) -> None:
        problems = [
            (
                self.batch_size < 2,
                f"train.batch_size must be at least 2 (pairs need two samples), not {self.batch_size}",
            ),
            (self.rate <= 0 or self.pretrain_rate <= 0, "train.rate and train.pretrain_rate must be above 0"),
            (self.weight_decay < 0, "train.weight_decay must not be negative"),
            (not 0 < self.decay <= 1, "train.decay must lie above 0 and at most at 1"),
            (not 0 <= self.average < 1, "train.average must lie in 0 … 1, and below 1 (0: no average)"),
            (self.decay_every < 0, "train.decay_every must not be negative (0: the rate stays)"),
            (
                min(self.epochs, self.target_epochs, self.bias_epochs, self.estimator_epochs) < 0,
                "epochs cannot be negative",
            ),
        ]
        for name, allowed in CHOICES.items():
            given = getattr(self, name)
            problems.append((given not in allowed, f"train.{name} must be one of {allowed}, not {given!r}"))
        found = [text for wrong, text in problems if wrong]
        if found:
            raise InputError("; ".join(found) + ".")


TARGET_BRANCH = ("F", "D_y", "P_y")  # all that is left at test time
CHOICES = {
    "partial": ("fill", "keep", "drop"),
    "balance": ("", "target", "cells"),
    "optimiser": ("adam", "sgd"),
    "precision": ("float32", "tf32", "bf16"),
}


class Method(nn.Module, ABC):
    """A network with a schedule; parts are attributes named by the paper's letters. Children are final.

    Every method has the target branch F, D_y, P_y, all that is left at test time; what it adds is thrown away. Class
    attributes: ``needs_bias`` is False where bias labels are not needed; ``encoder`` names the parts that ``encode``
    uses, after whose moves h is computed again; ``starts`` are settings that a part holds as a buffer of its own;
    ``at_chance`` is what a user hears where the loss of the last stage's target has come to be no better than chance.
    """

    encoder: ClassVar[tuple[str, ...]] = ("F",)  # the parts that encode uses: h is stale once one of them has moved
    needs_bias: ClassVar[bool] = True
    starts: ClassVar[tuple[str, ...]] = ()  # settings that a part holds as a buffer of its own
    at_chance: ClassVar[str] = "The target branch has fallen to chance: lower debias_weight or train.rate."

    def __init__(self, task: Task, nets: Nets, course: Course) -> None:
        super().__init__()
        self.task = task
        self.course = course
        self.F, self.D_y, self.P_y = nets.extractor(), nets.branch(), nets.target_head()
        kept = {part: self.get_submodule(part) for part in TARGET_BRANCH}
        self.averaged = Average(kept, course.average) if course.average else None

    @abstractmethod
    def schedule(self) -> tuple[Stage, ...]:
        """The stages of training, in order: the same whenever it is asked."""

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Sets buffers that follow from the training data; ``view`` turns stored x into what is to be seen of it."""

    def seen(self, x: Tensor) -> Tensor:
        """x as F is to see it: all of it, unless a method hides a part."""
        return x

    def hold(self, **numbers: float) -> None:
        """Holds settings, none below 0, as buffers: numbers in which stacked runs may differ."""
        for name, number in numbers.items():
            if number < 0:
                raise InputError(f"{name} must be 0 or more, not {number}.")
            self.register_buffer(name, torch.tensor(float(number)))

    def target_update(self) -> Update:
        """The plain target step."""
        return Update("target", moves=TARGET_BRANCH, loss=self.target_loss)

    def target_stage(self) -> Stage:
        """The pretraining of the target branch, which all methods have; runs share it where it is plain."""
        c, own = self.course, type(self)
        plain = all(getattr(own, name) is getattr(Method, name) for name in ("seen", "encode", "target_loss"))
        return Stage("target", (self.target_update(),), c.target_epochs, c.pretrain_rate, common=plain)

    def last_stage(self, name: str, updates: tuple[Line, ...], renew: tuple[str, ...] = TARGET_BRANCH) -> Stage:
        """What follows pretraining: its own rate, which decays."""
        c = self.course
        return Stage(name, updates, c.epochs, c.rate, c.decay, c.decay_every, renew)

    def averaging(self) -> tuple[Line, ...]:
        """The line that keeps an average of the target branch's weights, run after those of the last stage; or none."""
        return (Assign("average", self._average, batch="none"),) if self.averaged else ()

    def _average(self) -> Mapping[str, Tensor]:
        assert self.averaged is not None
        buffers = self.averaged.after(dict(self.named_parameters()))
        return {f"averaged.{name}": value for name, value in buffers.items()}

    def settled(self) -> Mapping[str, Tensor]:
        """Weights that are set once the last stage is over: the average, where one was kept."""
        return self.averaged.taken(dict(self.named_parameters())) if self.averaged else {}

    def rest(self) -> tuple[str, ...]:
        """The encoder's parts whose BatchNorm is put to rest just now, where it learns in one stage only."""
        parts = {part: self.get_submodule(part) for part in self.encoder}
        return tuple(name for name, part in parts.items() if isinstance(part, Resting) and part.rest())

    def encode(self, batch: Batch) -> Features:
        """h = F(x), the only costly part."""
        return self.extract(self.F, self.seen(batch.x))

    def extract(self, net: nn.Module, x: Tensor) -> Tensor:
        """net(x), an extractor's features: computed in bf16 where the course asks for it, given as x is, in float32."""
        if self.course.precision != "bf16":
            h: Tensor = net(x)
            return h
        # Weights that are cast are not kept from call to call: a recording would read those of an earlier step.
        with torch.autocast(x.device.type, torch.bfloat16, cache_enabled=False):
            h = net(x)
        return h.to(x.dtype)

    def target_loss(self, e: Encoded) -> Tensor:
        """The loss of the target, P_y(D_y(h)) against y."""
        return label_loss(self.P_y(self.D_y(e.h)), e.y, self.task.target)

    def features(self, x: Tensor) -> dict[str, Tensor]:
        """What the model knows of x, layer by layer: h and h_y, for probes and for transform."""
        h = self.extract(self.F, self.seen(x))
        return {"h": h, "h_y": self.D_y(h)}

    def predict(self, x: Tensor) -> Tensor:
        """P_y(D_y(F(x))): logits (n, classes), two columns for a binary target too."""
        logits: Tensor = self.P_y(self.features(x)["h_y"])
        return logits

    def symptoms(self, stage: str, curves: Mapping[str, Sequence[float]]) -> list[str]:
        """Warnings, with advice, that the losses logged in a stage so far call for: here, a target at chance."""
        if stage == "debias" and fell_to_chance(curves.get("target", ()), self.task.target):
            return [self.at_chance]
        return []

    def forward(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """``call(*arguments)``: lets torch.func run any piece of a method with other weights."""
        return call(*arguments)
