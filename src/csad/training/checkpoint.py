"""A training's whole state as one safetensors file, replaced in one move: a run is never half-saved."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from csad.errors import InputError

FORMAT = "csad-checkpoint-1"


@dataclass(frozen=True)
class Place:
    """Where a training stands: the mini-batch that comes next, and how many steps were made."""

    stage: int = 0
    epoch: int = 0
    batch: int = 0
    step: int = 0


def save(path: Path, method: nn.Module, optimisers: dict[str, Tensor], place: Place) -> None:
    """Writes weights, buffers, optimisers and place; the former file stays until the new one is whole."""
    from safetensors.torch import save_file

    state = {f"method/{name}": value for name, value in method.state_dict().items()}
    state |= {f"optimisers/{name}": value for name, value in optimisers.items()}
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in state.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    save_file(tensors, fresh, metadata={"format": FORMAT, "place": json.dumps(asdict(place))})
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    fresh.replace(path)


def load(path: Path, method: nn.Module) -> tuple[Place, dict[str, Tensor]]:
    """Puts weights and buffers back into the method; gives the place and the optimisers' state."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        if about.get("format") != FORMAT:
            raise InputError(f"{path} is not a checkpoint of this version of csad: train the run again.")
        place = Place(**json.loads(about["place"]))
        method.load_state_dict({k.removeprefix("method/"): v for k, v in tensors.items() if k.startswith("method/")})
    except (SafetensorError, RuntimeError, OSError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} cannot be read as a checkpoint of this run ({reason}): train the run again."
        ) from error
    kept = {k.removeprefix("optimisers/"): v for k, v in tensors.items() if k.startswith("optimisers/")}
    return place, kept


def all_finite(method: nn.Module) -> bool:
    """Whether every weight and buffer is a number."""
    return all(bool(torch.isfinite(value).all()) for value in method.state_dict().values())
