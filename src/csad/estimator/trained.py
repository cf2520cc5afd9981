"""What is left of a fit: the trained method and the scale on which it sees X; as bytes in safetensors' format."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad.data.pieces import rows_at_a_time
from csad.errors import InputError
from csad.estimator.rows import Array
from csad.experiments.build import build
from csad.experiments.folder import describe, task_from
from csad.experiments.plan import SECTIONS, Plan
from csad.methods.method import Method
from csad.nets.parts import OwnBackbone
from csad.nets.weights import without_files
from csad.training import checkpoint
from csad.training.device import computing_in
from csad.training.stack import Alone

Call = Callable[[Method, Tensor], Tensor]
FORMAT = "csad-estimator-1"


@dataclass(frozen=True)
class Scale:
    """Standardises columns, or the channels of images and series; what was constant is always 0."""

    mean: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def of(cls, x: Array) -> Scale:
        """The scale on which these rows have mean 0 and spread 1."""
        over = (0, *range(2, x.ndim))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = x.mean(over, dtype=np.float64, keepdims=True)[0]
            spread = x.std(over, dtype=np.float64, keepdims=True)[0]
        if not np.isfinite(spread).all():
            raise InputError("X holds numbers that are too large to standardise: rescale it first.")
        varies = x.max(over, keepdims=True)[0] > x.min(over, keepdims=True)[0]
        return cls(mean, np.where(varies, 1 / np.where(spread > 0, spread, 1), 0))

    @classmethod
    def none(cls, x: Array) -> Scale:
        """The scale on which x stays as it is."""
        shape = (x.shape[1], *[1] * (x.ndim - 2))
        return cls(np.zeros(shape), np.ones(shape))

    def __call__(self, x: Array) -> Array:
        """x on this scale, as exact as it came."""
        return ((x - self.mean) * self.factor).astype(x.dtype)


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained method, resting on the CPU; pickled as ``to_bytes`` gives it, so that no module is in a pickle."""

    name: str
    plan: Plan
    model: Method
    scale: Scale

    @torch.no_grad()
    def each(self, x: Array, device: torch.device, call: Call) -> Array:
        """What ``call`` makes of the rows, computed in x's own precision: alike in any order and any company."""
        shape = tuple(self.model.task.shape)
        if x.shape[1:] != shape:
            raise InputError(f"X must have rows of shape {shape}, not {x.shape[1:]}.")
        rows = torch.as_tensor(self.scale(x))
        model = copy.deepcopy(self.model).to(device, rows.dtype)  # a copy: others may predict at the same time
        with computing_in(model.course.precision):
            pieces = torch.split(rows, rows_at_a_time(shape))
            return np.asarray(torch.cat([call(model, part.to(device)).cpu() for part in pieces]))

    @property
    def width(self) -> int:
        """How many numbers h_y has."""
        zeros = np.zeros((1, *self.model.task.shape), dtype=np.float32)
        return int(self.each(zeros, torch.device("cpu"), lambda model, x: model.features(x)["h_y"]).shape[1])

    def to_bytes(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """All of it as a safetensors file; what are no tensors, and ``extra``, as JSON in its header."""
        from safetensors.torch import save

        state = Alone(self.model).state
        tensors = {f"method/{name}": value.detach().contiguous().clone() for name, value in state.items()}
        tensors |= {f"scale/{name}": torch.as_tensor(value) for name, value in vars(self.scale).items()}
        about = {"method": self.name, "plan": self.plan.sections(), "task": describe(self.model.task), **(extra or {})}
        data: bytes = save(tensors, metadata={"format": FORMAT, "about": json.dumps(about, default=_plain)})
        return data

    @classmethod
    def from_bytes(cls, data: bytes, backbone: OwnBackbone | None = None) -> Trained:
        """What ``to_bytes`` was given; ``backbone`` is the caller's, if a class of one's own was trained."""
        from safetensors.torch import load

        about, tensors = header(data), load(data)
        plan = Plan(**{section: about["plan"][section] for section in SECTIONS}, own_backbone=backbone)
        with without_files():  # of pretrained weights: all are in the bytes
            model = build(task_from(about["task"]), about["method"], plan, seed=0)
        weights = {n.removeprefix("method/"): value for n, value in tensors.items() if n.startswith("method/")}
        checkpoint.put(weights, Alone(model).state)
        scale = Scale(tensors["scale/mean"].numpy(), tensors["scale/factor"].numpy())
        return cls(about["method"], plan, model.eval(), scale)

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle names a class of one's own itself, as it does that of any object: the bytes alone import nothing.
        return Trained.from_bytes, (self.to_bytes(), self.plan.own_backbone)


def header(data: bytes) -> dict[str, Any]:
    """The JSON that ``to_bytes`` put beside the tensors."""
    length = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + length])["__metadata__"]
    if about["format"] != FORMAT:
        raise ValueError(f"its format is {about['format']}, not {FORMAT}")
    found: dict[str, Any] = json.loads(about["about"])
    return found


def _plain(value: Any) -> Any:
    """A NumPy number as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError(f"{value!r} cannot be saved: only numbers, words, lists and dicts of them can.")
