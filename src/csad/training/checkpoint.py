"""The whole state of a training as one safetensors file, replaced in one move: no run is ever half-saved."""

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
from csad.errors import InputError, bad_checkpoint

FORMAT = "csad-checkpoint-1"


@dataclass(frozen=True)
class Place:
    """The place of a training in its schedule: the mini-batch that comes next, and how many steps were made."""

    stage: int = 0
    epoch: int = 0
    batch: int = 0
    step: int = 0


@dataclass(frozen=True)
class State:
    """A training between two mini-batches: all that it needs to continue."""

    place: Place
    weights: dict[str, Tensor]  # and buffers
    optimizers: dict[str, Tensor]


def save(path: Path, state: State) -> None:
    """Write weights, buffers, optimizers and place; the former file stays until the new one is complete."""
    named = {f"method/{name}": value for name, value in state.weights.items()}
    named |= {f"optimisers/{name}": value for name, value in state.optimizers.items()}
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in named.items()}
    write_tensors(path, tensors, {"format": FORMAT, "place": json.dumps(asdict(state.place))})


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors as one safetensors file, in one move."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(path) as fresh:
            save_file(tensors, fresh, metadata=metadata)
            with fresh.open("rb") as file:
                os.fsync(file.fileno())
    except SafetensorError as error:  # its text alone names the system's error, such as a full disk
        match = re.search(r"os error (\d+)", str(error))
        number = int(match[1]) if match else errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


def read_checkpoint(path: Path) -> State:
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
        if about.get("format") == FORMAT:
            return Place(**json.loads(about["place"])), tensors
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise bad_checkpoint(str(path), error) from error
    raise InputError("checkpoint-other-version", file=path)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def weights_finite(weights: dict[str, Tensor]) -> bool:
    """Whether every weight and buffer is a finite number."""
    return all(bool(torch.isfinite(value).all()) for value in weights.values())
