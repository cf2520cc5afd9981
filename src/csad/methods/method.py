"""The contract of a method: parts that move, updates that move them, stages that hold updates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from csad.data.samples import Batch, Samples, Task
from csad.errors import InputError, bad_checkpoint
from csad.messages import message
from csad.methods.pieces.average import Average
from csad.methods.pieces.terms import fell_to_chance, label_loss
from csad.nets.layers import FreezableBatchNorm
from csad.nets.parts import Nets

Features = Tensor | dict[str, Tensor]


class Encoded(NamedTuple):
    """A mini-batch after the costly part, h = F(x), with its labels.

    Args:
        h: Features, rows first: a tensor, or a dict of tensors if ``encode`` gives several.
        y: Targets (n,).
        b: Bias labels (n, columns).
        rows: Row numbers in the training set (n,).
    """

    h: Any
    y: Tensor
    b: Tensor
    rows: Tensor


def add(*gradients: Tensor) -> Tensor:
    """The sum of several gradients of a weight: how they are joined unless a method joins them otherwise."""
    total = gradients[0]
    for gradient in gradients[1:]:
        total = total + gradient
    return total


@dataclass(frozen=True)
class Update:
    """One line of an algorithm: move these parts downhill on this loss.

    The loss is a pure function: it writes no state, draws no random number, indexes by no mask, and never leaves the
    device.

    Args:
        name: The name of the loss in the log.
        moves: The parts to move.
        loss: Gives a scalar, or a tuple of scalars whose gradients are joined, from an encoded mini-batch.
        repeat: How often the line runs in an iteration, the paper's K.
        batch: ``same``, or ``fresh``: another mini-batch each time.
        join: Makes one gradient of several, weight by weight; the sum by default.
        optimizer: The name of a second optimizer for the same part, only where a paper has one.
        pace: A buffer that multiplies the stage's rate. (With Adam a factor of the loss would change nothing.)
    """

    name: str
    moves: tuple[str, ...]
    loss: Callable[[Encoded], Tensor | tuple[Tensor, ...]]
    repeat: int = 1
    batch: str = "same"
    join: Callable[..., Tensor] = add
    optimizer: str = ""
    pace: str = ""


@dataclass(frozen=True)
class Assign:
    """A line of an algorithm that sets buffers instead of descending: group weights, moving averages.

    Args:
        name: The name of the line.
        value: Gives the new values of buffers by name, from an encoded mini-batch.
        repeat: How often the line runs in an iteration.
        batch: ``same``, ``fresh``: another mini-batch each time, or ``none``: ``value`` takes no mini-batch.
        moves: The parts to move: none.
    """

    name: str
    value: Callable[..., Mapping[str, Tensor]]
    repeat: int = 1
    batch: str = "same"
    moves: tuple[str, ...] = ()


Line = Update | Assign


class Stage(NamedTuple):
    """Lines that run in order on each mini-batch, for some epochs.

    Args:
        name: The name of the stage in the log.
        updates: The lines.
        epochs: How many epochs it lasts.
        rate: The learning rate at its beginning.
        decay: The factor of the rate after each ``decay_every`` epochs.
        decay_every: How many epochs a rate lasts; 0: it never changes.
        renew: The parts whose optimizers start afresh.
        common: Whether the stage depends on no setting of the method and is the same in every method that has a stage
            of this name: pretraining that runs may share.
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
    """How long and how fast to train. Defaults are the authors' for Colored MNIST.

    Args:
        batch_size: Rows in a mini-batch.
        partial: What becomes of a last mini-batch that is too small: ``fill``, ``keep`` (the authors' code) or
            ``drop``.
        balance: ``target``: every class equally often in each mini-batch; ``cells``: every class with every bias; ""
            for neither.
        target_epochs: Epochs of pretraining for F, D_y, P_y.
        bias_epochs: Epochs of pretraining for D_b, P_b.
        estimator_epochs: Epochs of pretraining for M.
        epochs: Epochs of the last stage.
        pretrain_rate: Learning rate of pretraining.
        rate: Learning rate of the last stage.
        decay: Factor of that rate after each ``decay_every`` epochs.
        decay_every: How many epochs a rate lasts; 0: it never changes.
        weight_decay: Weight decay of every optimizer.
        optimizer: ``adam`` or ``sgd``.
        average: Decay of a moving average of the last stage's weights, which the model gets in the end; 0: none (the
            authors).
        select_by: The metric on the validation split that selects the best epoch of the last stage; "": the last.
        precision: ``float32``; ``tf32``, on a GPU; or ``bf16``, in which only F computes.
    """

    batch_size: int = 128
    partial: str = "fill"
    balance: str = ""
    target_epochs: int = 20
    bias_epochs: int = 20
    estimator_epochs: int = 2
    epochs: int = 5
    pretrain_rate: float = 5e-4
    rate: float = 5e-5
    decay: float = 0.1
    decay_every: int = 3
    weight_decay: float = 5e-4
    optimizer: str = "adam"
    average: float = 0.0
    select_by: str = ""
    precision: str = "float32"

    def __post_init__(self) -> None:
        lengths = ("epochs", "target_epochs", "bias_epochs", "estimator_epochs")
        problems = [
            (self.batch_size < 2, "batch_size", "2 or more, because pairs need two samples"),
            (self.rate <= 0, "rate", "above 0"),
            (self.pretrain_rate <= 0, "pretrain_rate", "above 0"),
            (self.weight_decay < 0, "weight_decay", "0 or more"),
            (not 0 < self.decay <= 1, "decay", "above 0 and at most 1"),
            (not 0 <= self.average < 1, "average", "at least 0 and below 1 (0: no average)"),
            (self.decay_every < 0, "decay_every", "0 or more (0: the rate does not change)"),
            *((getattr(self, name) < 0, name, "0 or more") for name in lengths),
            *((getattr(self, name) not in allowed, name, f"one of {allowed}") for name, allowed in CHOICES.items()),
        ]
        messages = [
            message("training-setting-out-of-range", setting=name, value=getattr(self, name), expected=expected)
            for wrong, name, expected in problems
            if wrong
        ]
        if messages:
            raise InputError("training-settings-invalid", problems=" ".join(messages))


TARGET_BRANCH = ("F", "D_y", "P_y")  # all that is left at test time
CHOICES = {
    "partial": ("fill", "keep", "drop"),
    "balance": ("", "target", "cells"),
    "optimizer": ("adam", "sgd"),
    "precision": ("float32", "tf32", "bf16"),
}


class Method(nn.Module, ABC):
    """A network with a schedule; parts are attributes named by the paper's letters. Children are final.

    Every method has the target branch F, D_y, P_y, which is all that is left at test time; the parts that it adds are
    thrown away. Class attributes: ``needs_bias`` is False if no bias labels are needed; ``encoder`` names the parts
    that ``encode`` uses: once one of them has moved, h is computed again; ``starts`` names settings that a part holds
    as a buffer of its own; ``at_chance`` is the warning if the target loss of the last stage has risen to chance.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
    """

    encoder: ClassVar[tuple[str, ...]] = ("F",)
    needs_bias: ClassVar[bool] = True
    starts: ClassVar[tuple[str, ...]] = ()
    at_chance: ClassVar[str] = message("target-at-chance")

    def __init__(self, task: Task, nets: Nets, course: Course) -> None:
        super().__init__()
        self.task = task
        self.course = course
        self.F, self.D_y, self.P_y = nets.extractor(), nets.branch(), nets.target_head()
        parts = {part: self.get_submodule(part) for part in TARGET_BRANCH}
        self.averaged = Average(parts, course.average) if course.average else None

    @abstractmethod
    def schedule(self) -> tuple[Stage, ...]:
        """The stages of training, in order; every call gives the same."""

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Set buffers that follow from the training data.

        Args:
            train: The training rows.
            view: Turns stored x into the x that the method sees.
        """

    def mask_input(self, x: Tensor) -> Tensor:
        """x as F sees it: all of it, unless a method hides a part."""
        return x

    def register_settings(self, **numbers: float) -> None:
        """Register settings as buffers, so that stacked runs may differ in them. Raise InputError if one is below 0."""
        for name, number in numbers.items():
            if number < 0:
                raise InputError("negative-setting", setting=name, value=number)
            self.register_buffer(name, torch.tensor(float(number)))

    def target_update(self) -> Update:
        """The plain target step."""
        return Update("target", moves=TARGET_BRANCH, loss=self.target_loss)

    def target_stage(self) -> Stage:
        """The pretraining of the target branch, which all methods have; runs may share it if it is plain."""
        c, kind = self.course, type(self)
        plain = all(getattr(kind, name) is getattr(Method, name) for name in ("mask_input", "encode", "target_loss"))
        return Stage("target", (self.target_update(),), c.target_epochs, c.pretrain_rate, common=plain)

    def last_stage(self, name: str, updates: tuple[Line, ...], renew: tuple[str, ...] = TARGET_BRANCH) -> Stage:
        """The stage after pretraining, with its own rate, which decays."""
        c = self.course
        return Stage(name, updates, c.epochs, c.rate, c.decay, c.decay_every, renew)

    def averaging(self) -> tuple[Line, ...]:
        """The line that updates the average of the target branch's weights, the last of the last stage; or none."""
        return (Assign("average", self._average, batch="none"),) if self.averaged else ()

    def _average(self) -> Mapping[str, Tensor]:
        assert self.averaged is not None
        buffers = self.averaged.after(dict(self.named_parameters()))
        return {f"averaged.{name}": value for name, value in buffers.items()}

    def final_weights(self) -> Mapping[str, Tensor]:
        """Weights that are set once the last stage is over: the average, if there is one."""
        return self.averaged.weights(dict(self.named_parameters())) if self.averaged else {}

    def named_tensors(self) -> dict[str, Tensor]:
        """All weights and buffers by name."""
        return {**dict(self.named_parameters()), **dict(self.named_buffers())}

    def load_weights(self, weights: Mapping[str, Tensor], source: str = "The checkpoint") -> None:
        """Copy weights and buffers over the method's own. Raise InputError if names or shapes differ.

        Args:
            weights: Weights and buffers by name, as a checkpoint or an exported file holds them.
            source: Where they come from, for the message.
        """
        load_into(weights, self.named_tensors(), source)

    def moves_encoder(self, line: Line) -> bool:
        """Whether h must be computed again after this line."""
        return any(part in self.encoder for part in line.moves)

    def freeze_batch_norm(self) -> tuple[str, ...]:
        """Freeze the BatchNorm that learns in one stage only; return the encoder's parts in which this changed it."""
        parts = {part: self.get_submodule(part) for part in self.encoder}
        return tuple(name for name, part in parts.items() if isinstance(part, FreezableBatchNorm) and part.freeze())

    def encode(self, batch: Batch) -> Features:
        """h = F(x), the only costly part."""
        return self.extract(self.F, self.mask_input(batch.x))

    def extract(self, net: nn.Module, x: Tensor) -> Tensor:
        """net(x), the features of an extractor: computed in bf16 if the course says so, and returned in float32."""
        if self.course.precision != "bf16":
            h: Tensor = net(x)
            return h
        # No cache of cast weights from call to call: a recording would read those of an earlier step.
        with torch.autocast(x.device.type, torch.bfloat16, cache_enabled=False):
            h = net(x)
        return h.to(x.dtype)

    def target_loss(self, e: Encoded) -> Tensor:
        """The loss of the target, P_y(D_y(h)) against y."""
        return label_loss(self.P_y(self.D_y(e.h)), e.y, self.task.target)

    def features(self, x: Tensor) -> dict[str, Tensor]:
        """The model's representations of x, layer by layer: h and h_y, for probes and for transform."""
        h = self.extract(self.F, self.mask_input(x))
        return {"h": h, "h_y": self.D_y(h)}

    def predict(self, x: Tensor) -> Tensor:
        """P_y(D_y(F(x))): logits (n, classes), two columns for a binary target too."""
        logits: Tensor = self.P_y(self.features(x)["h_y"])
        return logits

    def diagnose(self, stage: str, curves: Mapping[str, Sequence[float]]) -> list[str]:
        """Warnings, with advice, about a training that goes wrong; here, a target at chance.

        Args:
            stage: The name of the stage.
            curves: The losses logged in it so far, by update.
        """
        if stage == "debias" and fell_to_chance(curves.get("target", ()), self.task.target):
            return [self.at_chance]
        return []

    def forward(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """``call(*arguments)``: so torch.func can run any function of a method with other weights."""
        return call(*arguments)


@torch.no_grad()
def load_into(weights: Mapping[str, Tensor], into: Mapping[str, Tensor], source: str = "The checkpoint") -> None:
    """Copy weights and buffers over others of the same names and shapes. Raise InputError if these differ.

    A buffer without rows takes on as many as come: a method that was built without data may hold something for each
    training row.
    """
    if weights.keys() != into.keys():
        strange = sorted(weights.keys() ^ into.keys())[0]
        raise bad_checkpoint(source, f"{strange} is in only one of checkpoint and model")
    for name, value in weights.items():
        if into[name].shape == (0, *value.shape[1:]):
            into[name].resize_(value.shape)
        if value.shape != into[name].shape:
            raise bad_checkpoint(source, f"{name} has shape {tuple(value.shape)}, not {tuple(into[name].shape)}")
        into[name].copy_(value)
