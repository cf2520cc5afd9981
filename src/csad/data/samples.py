"""What every data set gives: rows of (x, y, b), and the task they pose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from csad.data.pairs import Related
from csad.data.vary import Vary
from csad.errors import InputError

UNKNOWN = -1  # a class label that nobody knows; for a number it is NaN
NO_ROWS = "The data hold no rows; at least two are needed."


@dataclass(frozen=True)
class Classes:
    """A label that is one of ``count`` classes, written 0 … count − 1."""

    count: int
    names: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What the classes are called: by their names, or by their numbers where they have none."""
        return self.names or tuple(map(str, range(self.count)))


@dataclass(frozen=True)
class Number:
    """A label that is a real number, such as an age; it is learned as (value − middle) / size."""

    middle: float = field(default=0.0, compare=False)
    size: float = field(default=1.0, compare=False)


@dataclass(frozen=True)
class Task:
    """What is to be learned (target), what not to lean on (biases), which samples share a bias (related)."""

    name: str
    shape: tuple[int, ...]  # of one x, as a net sees it
    target: Classes | Number
    biases: tuple[Classes | Number, ...]
    bias_names: tuple[str, ...]
    related: Related = field(default_factory=Related)


class Batch(NamedTuple):
    """The rows of one mini-batch that this process holds."""

    x: Tensor
    y: Tensor
    b: Tensor
    rows: Tensor  # their numbers in the training set


class Samples:
    """Rows of inputs x, targets y (n,) and bias labels b (n, columns); −1 or NaN in b means unknown.

    ``extra`` holds further facts per row that no method sees, such as the palette colour of a digit.
    """

    def __init__(self, x: Any, y: Any, b: Any, extra: Mapping[str, Any] | None = None) -> None:
        self.x = to_tensor(x, "x")
        self.y = _labels(to_tensor(y, "y"))
        b = _labels(to_tensor(b, "b"))
        self.b = b[:, None] if b.ndim == 1 else b
        self.extra = {name: to_tensor(values, name) for name, values in (extra or {}).items()}
        self._check()

    @classmethod
    def from_dataset(cls, rows: Any) -> Samples:
        """All rows of a torch Dataset of (x, y, b), read once into memory."""
        taken = [rows[i] for i in range(len(rows))]
        if any(not isinstance(row, (tuple, list)) or len(row) != 3 for row in taken):
            raise InputError("Each row of the data set must be (x, y, b): wrap yours so that it returns three values.")
        if not taken:
            raise InputError(NO_ROWS)
        x, y, b = (torch.stack([torch.as_tensor(v) for v in column]) for column in zip(*taken, strict=True))
        return cls(x, y, b)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def persons(self) -> Tensor | None:
        """(n,) whose rows they are, alike for rows of one person or group; None where nobody told."""
        return self.extra.get("person", self.extra.get("group"))

    @property
    def evidence(self) -> Tensor | None:
        """(n,) how much truly speaks for the second class, bias aside; None but for made-up rows."""
        told = self.extra.get("evidence")
        return told if told is not None and told.ndim == 1 and all_finite(told) else None

    def rows(self, index: Any) -> Samples:
        """The chosen rows, as samples again."""
        index = torch.as_tensor(index)
        extra = {name: values[index] for name, values in self.extra.items()}
        return Samples(_taken(self.x, index), self.y[index], self.b[index], extra)

    def to(self, device: torch.device) -> Samples:
        """The same rows on a device."""
        extra = {name: values.to(device) for name, values in self.extra.items()}
        return Samples(self.x.to(device), self.y.to(device), self.b.to(device), extra)

    def fingerprint(self) -> str:
        """A short word that other rows would not have."""
        found = hashlib.sha256()
        for values in (self.x, self.y, self.b):
            found.update(str((values.dtype, tuple(values.shape))).encode())
            found.update(values.cpu().contiguous().numpy().data)
        return found.hexdigest()[:16]

    def _check(self) -> None:
        n = len(self.x)
        if n == 0:
            raise InputError(NO_ROWS)
        for name, values in {"y": self.y, "b": self.b, **self.extra}.items():
            if len(values) != n:
                raise InputError(f"x has {n} rows but {name} has {len(values)}: give one {name} per row of x.")
        if self.y.ndim != 1 or self.b.ndim != 2:
            shapes = f"{tuple(self.y.shape)} and {tuple(self.b.shape)}"
            raise InputError(f"y must have shape (rows,) and b (rows, columns); they have {shapes}.")
        if self.x.is_floating_point() and not all_finite(self.x):
            bad = torch.nonzero(~torch.isfinite(self.x).reshape(n, -1).all(1))[0].item()
            raise InputError(f"x holds NaN or infinity (first in row {bad}): fill in or drop such rows.")


def _taken(x: Tensor, index: Tensor) -> Tensor:
    """``x[index]``: in memory by NumPy, which copies whole rows where torch goes through them number by number."""
    plain = index.ndim == 1 and index.dtype in (torch.bool, torch.int64)  # bytes mean other rows to torch than to NumPy
    on_host = x.device.type == index.device.type == "cpu"
    if plain and on_host and x.dtype in (torch.uint8, torch.float32):
        return torch.from_numpy(x.detach().numpy()[index.numpy()])
    return x[index]


def all_finite(x: Tensor) -> bool:
    """Whether every value is a number: what is not shows in the least or the greatest, at a fraction of the memory."""
    return x.numel() == 0 or bool(torch.isfinite(torch.stack(torch.aminmax(x))).all())


def local(values: Any) -> Any:
    """A tensor as a NumPy array; anything else as it is."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def to_tensor(values: Any, name: str) -> Tensor:
    """The values as a tensor; what cannot be one is named in the error."""
    tensor = values if isinstance(values, Tensor) else _from_array(values, name)
    if tensor.is_complex():
        raise InputError(f"{name} must be real numbers, not {tensor.dtype}.")
    return tensor


def _from_array(values: Any, name: str) -> Tensor:
    try:
        # torch cannot share what is read-only, as pandas gives it, or runs backwards: those are copied.
        array = np.require(values, requirements=("C", "W"))
    except ValueError as error:
        raise InputError(f"{name} must be an array whose rows are all of one length.") from error
    try:
        return torch.as_tensor(array)
    except TypeError as error:
        raise InputError(f"{name} must be numbers, not {array.dtype}: encode it first.") from error


def _labels(values: Tensor) -> Tensor:
    """Whole numbers as int64: differences of bytes would wrap, and of booleans fail."""
    return values if values.is_floating_point() else values.long()


def as_float(x: Tensor) -> Tensor:
    """x as floats; images in bytes become −1 … 1, as the authors normalise pixels: (x / 255 − .5) / .5."""
    values = x.to(torch.get_default_dtype())
    return values.div(127.5).sub(1) if x.dtype == torch.uint8 and x.ndim == 4 else values


@dataclass(frozen=True)
class Dataset:
    """A task with its splits by name ("train", "test", …); ``view`` turns stored x into what F sees.

    ``consistency`` names figures and, for each, the copies of a split ("husband" of "test" is the split
    "test:husband") that differ from one another in nothing that should matter: what is predicted for them should agree.
    """

    task: Task
    splits: Mapping[str, Samples]
    view: Callable[[Tensor], Tensor] = as_float
    consistency: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vary: Vary | None = None  # what training does to seen rows, such as flipping pictures

    @property
    def train(self) -> Samples:
        """The split that is trained on."""
        return self.splits["train"]

    def fingerprint(self) -> str:
        """A short word that other training rows, or the same ones varied in another way, would not have."""
        rows = self.train.fingerprint()
        if self.vary is not None and type(self.vary).__repr__ is object.__repr__:
            raise InputError("vary needs a __repr__ that tells what it does, as a dataclass has: runs are known by it.")
        return rows if self.vary is None else hashlib.sha256(f"{rows} {self.vary}".encode()).hexdigest()[:16]
