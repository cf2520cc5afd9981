"""The result of a fit: the trained method and the scale of X; as bytes in the format of safetensors."""

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

from csad.data.chunks import rows_at_a_time
from csad.errors import InputError
from csad.estimator.fit_inputs import Array
from csad.methods.method import Method
from csad.nets.parts import OwnBackbone
from csad.nets.weights import without_files
from csad.runs.build import build, describe, task_from
from csad.runs.settings import Plan
from csad.training.device import computing_in

Call = Callable[[Method, Tensor], Tensor]
FORMAT = "csad-estimator-1"


@dataclass(frozen=True)
class InputScale:
    """Standardizes columns, or the channels of images and series; a constant one becomes 0."""

    mean: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def of(cls, x: Array) -> InputScale:
        """The scale on which these rows have mean 0 and spread 1."""
        over = (0, *range(2, x.ndim))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = x.mean(over, dtype=np.float64, keepdims=True)[0]
            spread = x.std(over, dtype=np.float64, keepdims=True)[0]
        if not np.isfinite(spread).all():
            raise InputError("numbers-too-large")
        varies = x.max(over, keepdims=True)[0] > x.min(over, keepdims=True)[0]
        return cls(mean, np.where(varies, 1 / np.where(spread > 0, spread, 1), 0))

    @classmethod
    def none(cls, x: Array) -> InputScale:
        """The scale on which x stays as it is."""
        shape = (x.shape[1], *[1] * (x.ndim - 2))
        return cls(np.zeros(shape), np.ones(shape))

    def __call__(self, x: Array) -> Array:
        """x on this scale, in its own precision."""
        return ((x - self.mean) * self.factor).astype(x.dtype)


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained method on the CPU. It is pickled as the bytes of ``to_bytes``, so that no pickle holds a module."""

    name: str
    plan: Plan
    model: Method
    scale: InputScale

    @torch.no_grad()
    def each(self, x: Array, device: torch.device, call: Call) -> Array:
        """The results of ``call`` for the rows, in x's own precision; no row depends on other rows or their order."""
        shape = tuple(self.model.task.shape)
        if x.shape[1:] != shape:
            raise InputError("estimator-row-shape-mismatch", expected=shape, shape=x.shape[1:])
        rows = torch.as_tensor(self.scale(x))
        model = copy.deepcopy(self.model).to(device, rows.dtype)  # a copy: others may predict at the same time
        with computing_in(model.course.precision):
            pieces = torch.split(rows, rows_at_a_time(shape))
            return np.asarray(torch.cat([call(model, part.to(device)).cpu() for part in pieces]))

    @property
    def width(self) -> int:
        """The width of h_y."""
        zeros = np.zeros((1, *self.model.task.shape), dtype=np.float32)
        return int(self.each(zeros, torch.device("cpu"), lambda model, x: model.features(x)["h_y"]).shape[1])

    def to_bytes(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """The whole as a safetensors file; ``extra`` and what is no tensor are JSON in its header."""
        from safetensors.torch import save

        weights = self.model.named_tensors()
        tensors = {f"method/{name}": value.detach().contiguous().clone() for name, value in weights.items()}
        tensors |= {f"scale/{name}": torch.as_tensor(value) for name, value in vars(self.scale).items()}
        about = {"method": self.name, "plan": self.plan.sections(), "task": describe(self.model.task), **(extra or {})}
        data: bytes = save(tensors, metadata={"format": FORMAT, "about": json.dumps(about, default=_plain)})
        return data

    @classmethod
    def from_bytes(cls, data: bytes, backbone: OwnBackbone | None = None) -> Trained:
        """Rebuild from ``to_bytes``; ``backbone`` is the caller's, if a class of the user's was trained."""
        from safetensors.torch import load

        about, tensors = header(data), load(data)
        plan = Plan.from_config(about["plan"], backbone)
        with without_files():  # of pretrained weights: all are in the bytes
            model = build(task_from(about["task"]), about["method"], plan, seed=0)
        weights = {n.removeprefix("method/"): value for n, value in tensors.items() if n.startswith("method/")}
        model.load_weights(weights)
        scale = InputScale(tensors["scale/mean"].numpy(), tensors["scale/factor"].numpy())
        return cls(about["method"], plan, model.eval(), scale)

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle names a class of the user's itself, as it does that of any object: the bytes alone import nothing.
        return Trained.from_bytes, (self.to_bytes(), self.plan.own_backbone)


def header(data: bytes) -> dict[str, Any]:
    """The JSON in the header that ``to_bytes`` wrote."""
    length = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + length])["__metadata__"]
    if about["format"] != FORMAT:
        raise ValueError(f"its format is {about['format']}, not {FORMAT}")
    description: dict[str, Any] = json.loads(about["about"])
    return description


def _plain(value: Any) -> Any:
    """A NumPy number as a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError("value-not-saveable", value=value)
