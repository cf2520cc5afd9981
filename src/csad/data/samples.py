"""What every data set gives: rows of (x, y, b), and the task that they pose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from csad.data.augment import Augmentation
from csad.data.pairs import Related
from csad.errors import InputError

UNKNOWN = -1  # an unknown class label; an unknown number is NaN


@dataclass(frozen=True)
class Classes:
    """A label that is one of several classes, written 0 … count − 1.

    Args:
        count: The number of classes.
        names: Their names, in the order of their numbers; empty if they have none.
    """

    count: int
    names: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The names of the classes, or their numbers if they have no names."""
        return self.names or tuple(map(str, range(self.count)))

    @property
    def outputs(self) -> int:
        """How many numbers a head gives for the label: one per class."""
        return self.count


@dataclass(frozen=True)
class Number:
    """A label that is a real number, such as an age; it is learned as (value − middle) / size.

    Args:
        middle: The value that is learned as 0.
        size: The distance from it that is learned as 1.
    """

    middle: float = field(default=0.0, compare=False)
    size: float = field(default=1.0, compare=False)

    @property
    def outputs(self) -> int:
        """How many numbers a head gives for the label."""
        return 1


@dataclass(frozen=True)
class Task:
    """What a model learns from samples, and what it must not lean on.

    Args:
        name: The name of the task.
        shape: The shape of one x, as a net sees it.
        target: What the model learns.
        biases: What it must not lean on, one for each column of b.
        bias_names: The names of these columns.
        related: Which samples share a bias.
    """

    name: str
    shape: tuple[int, ...]
    target: Classes | Number
    biases: tuple[Classes | Number, ...]
    bias_names: tuple[str, ...]
    related: Related = field(default_factory=Related)


class Batch(NamedTuple):
    """The rows of one mini-batch."""

    x: Tensor
    y: Tensor
    b: Tensor
    rows: Tensor  # their numbers in the training set


class Samples:
    """Rows of inputs, targets and bias labels.

    Args:
        x: The inputs (n, …): numbers on a common scale, or bytes of images.
        y: The targets (n,): class numbers, or numbers.
        b: The bias labels (n, columns) or (n,): class numbers, −1 if unknown, or numbers, NaN if unknown.
        extra: Further facts about each row that no method sees, such as the palette colour of a digit, by name.
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
        """All rows of a torch Dataset of (x, y, b), read into memory.

        Args:
            rows: The Dataset, or another sequence of (x, y, b).
        """
        items = [rows[i] for i in range(len(rows))]
        if any(not isinstance(row, (tuple, list)) or len(row) != 3 for row in items):
            raise InputError("dataset-row-not-triple")
        if not items:
            raise InputError("no-rows")
        x, y, b = (torch.stack([torch.as_tensor(v) for v in column]) for column in zip(*items, strict=True))
        return cls(x, y, b)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def persons(self) -> Tensor | None:
        """The number (n,) of each row's person or group; None if the data do not have it."""
        return self.extra.get("person", self.extra.get("group"))

    @property
    def evidence(self) -> Tensor | None:
        """How much speaks for the second class (n,) apart from the bias; only simulated rows have it, others None."""
        evidence = self.extra.get("evidence")
        return evidence if evidence is not None and evidence.ndim == 1 and all_finite(evidence) else None

    def rows(self, index: Any) -> Samples:
        """The chosen rows, as samples again.

        Args:
            index: Row numbers, or a mask.
        """
        index = torch.as_tensor(index)
        extra = {name: values[index] for name, values in self.extra.items()}
        return Samples(_select(self.x, index), self.y[index], self.b[index], extra)

    def to(self, device: torch.device) -> Samples:
        """The same rows on a device."""
        extra = {name: values.to(device) for name, values in self.extra.items()}
        return Samples(self.x.to(device), self.y.to(device), self.b.to(device), extra)

    def fingerprint(self) -> str:
        """A short digest of x, y and b."""
        digest = hashlib.sha256()
        for values in (self.x, self.y, self.b):
            digest.update(str((values.dtype, tuple(values.shape))).encode())
            digest.update(values.cpu().contiguous().numpy().data)
        return digest.hexdigest()[:16]

    def _check(self) -> None:
        n = len(self.x)
        if n == 0:
            raise InputError("no-rows")
        for name, values in {"y": self.y, "b": self.b, **self.extra}.items():
            if len(values) != n:
                raise InputError("x-label-rows-differ", rows=n, name=name, count=len(values))
        if self.y.ndim != 1 or self.b.ndim != 2:
            shapes = f"{tuple(self.y.shape)} and {tuple(self.b.shape)}"
            raise InputError("label-shapes-invalid", shapes=shapes)
        if self.x.is_floating_point() and not all_finite(self.x):
            bad = torch.nonzero(~torch.isfinite(self.x).reshape(n, -1).all(1))[0].item()
            raise InputError("x-not-finite", row=bad)


def _select(x: Tensor, index: Tensor) -> Tensor:
    """``x[index]``: in memory by NumPy, which copies whole rows, while torch copies number by number."""
    plain = index.ndim == 1 and index.dtype in (torch.bool, torch.int64)  # bytes mean other rows to torch than to NumPy
    on_host = x.device.type == index.device.type == "cpu"
    if plain and on_host and x.dtype in (torch.uint8, torch.float32):
        return torch.from_numpy(x.detach().numpy()[index.numpy()])
    return x[index]


def all_finite(x: Tensor) -> bool:
    """Whether every value is finite: NaN and infinity show in the least or greatest one, which takes little memory."""
    return x.numel() == 0 or bool(torch.isfinite(torch.stack(torch.aminmax(x))).all())


def local(values: Any) -> Any:
    """A tensor as a NumPy array; anything else as it is."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def to_tensor(values: Any, name: str) -> Tensor:
    """The values as a tensor; an error calls them ``name``."""
    tensor = values if isinstance(values, Tensor) else _from_array(values, name)
    if tensor.is_complex():
        raise InputError("values-not-real", name=name, dtype=tensor.dtype)
    return tensor


def _from_array(values: Any, name: str) -> Tensor:
    try:
        # torch cannot share arrays that are read-only, as those of pandas, or run backwards: those are copied.
        array = np.require(values, requirements=("C", "W"))
    except ValueError as error:
        raise InputError("ragged-values", name=name) from error
    try:
        return torch.as_tensor(array)
    except TypeError as error:
        raise InputError("values-not-numeric", name=name, dtype=array.dtype) from error


def _labels(values: Tensor) -> Tensor:
    """Whole numbers as int64: differences of bytes would wrap, and of booleans fail."""
    return values if values.is_floating_point() else values.long()


def as_float(x: Tensor) -> Tensor:
    """x as floats; images in bytes become −1 … 1, as the authors normalise pixels: (x / 255 − .5) / .5."""
    values = x.to(torch.get_default_dtype())
    return values.div(127.5).sub(1) if x.dtype == torch.uint8 and x.ndim == 4 else values


@dataclass(frozen=True)
class Dataset:
    """A task with its splits.

    Args:
        task: What is to be learned.
        splits: The samples by name: "train", and others such as "validation" and "test".
        view: Makes what a net sees of stored x.
        consistency: By metric, the copies of a split ("husband" of "test" is the split "test:husband") that differ in
            nothing that should matter: predictions for them should agree.
        vary: Varies training rows, such as by flipping pictures.
    """

    task: Task
    splits: Mapping[str, Samples]
    view: Callable[[Tensor], Tensor] = as_float
    consistency: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vary: Augmentation | None = None

    @property
    def train(self) -> Samples:
        """The training split."""
        return self.splits["train"]

    def fingerprint(self) -> str:
        """A short digest of the training rows and of how they are varied."""
        rows = self.train.fingerprint()
        if self.vary is not None and type(self.vary).__repr__ is object.__repr__:
            raise InputError("vary-without-repr")
        return rows if self.vary is None else hashlib.sha256(f"{rows} {self.vary}".encode()).hexdigest()[:16]
