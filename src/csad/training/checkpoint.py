"""A training's whole state as one safetensors file, replaced in one move: a run is never half-saved."""

from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from csad.atomic import replacing
from csad.errors import InputError

FORMAT = "csad-checkpoint-1"


@dataclass(frozen=True)
class Place:
    """Where a training stands: the mini-batch that comes next, and how many steps were made."""

    stage: int = 0
    epoch: int = 0
    batch: int = 0
    step: int = 0


@dataclass(frozen=True)
class State:
    """A training between two mini-batches: all that going on needs."""

    place: Place
    weights: dict[str, Tensor]  # and buffers
    optimisers: dict[str, Tensor]


def save(path: Path, state: State) -> None:
    """Writes weights, buffers, optimisers and place; the former file stays until the new one is whole."""
    named = {f"method/{name}": value for name, value in state.weights.items()}
    named |= {f"optimisers/{name}": value for name, value in state.optimisers.items()}
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in named.items()}
    write_tensors(path, tensors, {"format": FORMAT, "place": json.dumps(asdict(state.place))})


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Writes tensors as one safetensors file, in one move."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(path) as fresh:
            save_file(tensors, fresh, metadata=metadata)
            with fresh.open("rb") as file:
                os.fsync(file.fileno())
    except SafetensorError as error:  # it has the system's error, such as that of a full disk, only in words
        told = re.search(r"os error (\d+)", str(error))
        number = int(told[1]) if told else errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


def load(path: Path) -> State:
    """The state that a file holds."""
    place, tensors = _read(path, whole=True)
    return State(place, _below("method/", tensors), _below("optimisers/", tensors))


def place_in(path: Path) -> Place:
    """How far the training had come whose state a file holds; its beginning where there is no such file."""
    return _read(path, whole=False)[0] if path.exists() else Place()


def _read(path: Path, *, whole: bool) -> tuple[Place, dict[str, Tensor]]:
    """The place, and all tensors where the ``whole`` is wanted."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            names = file.keys() if whole else ()
            tensors = {name: file.get_tensor(name) for name in names}
        if about.get("format") != FORMAT:
            raise InputError(f"{path} is not a checkpoint of this version of csad: train the run again.")
        return Place(**json.loads(about["place"])), tensors
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise _unreadable(str(path), error) from error


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


@torch.no_grad()
def put(weights: dict[str, Tensor], into: dict[str, Tensor], source: str = "The checkpoint") -> None:
    """Copies weights and buffers over others of the same names and shapes.

    A buffer without rows yet, of a method that was built without data and keeps something of each training row, takes
    on as many as come.
    """
    if weights.keys() != into.keys():
        strange = sorted(weights.keys() ^ into.keys())[0]
        raise _unreadable(source, f"{strange} is in only one of the two")
    for name, value in weights.items():
        if into[name].shape == (0, *value.shape[1:]):
            into[name].resize_(value.shape)
        if value.shape != into[name].shape:
            raise _unreadable(source, f"{name} has the shape {tuple(value.shape)}, not {tuple(into[name].shape)}")
        into[name].copy_(value)


def _unreadable(source: str, reason: object) -> InputError:
    first = (str(reason).splitlines() or [type(reason).__name__])[0]
    return InputError(f"{source} cannot be read as a checkpoint of this run ({first}): train the run again.")


def all_finite(weights: dict[str, Tensor]) -> bool:
    """Whether every weight and buffer is a number."""
    return all(bool(torch.isfinite(value).all()) for value in weights.values())
