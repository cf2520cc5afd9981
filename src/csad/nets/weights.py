"""Weights of a backbone from a file: nothing but tensors is unpickled, and every name and shape must fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from csad.errors import InputError
from csad.nets.layers import reason

NAMED = 3  # so many names of a kind are told; a file of another net has dozens
_wanted: ContextVar[bool] = ContextVar("wanted", default=True)


@contextmanager
def without_files() -> Iterator[None]:
    """Within it no file of weights is read: what is built there gets its weights from elsewhere, or needs none."""
    token = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(token)


@torch.no_grad()
def take_weights(net: nn.Module, path: str, *, left_out: tuple[str, ...] = (), fresh: tuple[str, ...] = ()) -> None:
    """Copies the weights and buffers of a file over the net's own.

    Of the file, names that begin as ``left_out`` are passed over (the layer of ImageNet's classes). Of the net, those
    that begin as ``fresh`` need not be in it, nor counts of batches, which files of old lack.
    """
    if not _wanted.get():
        return
    state = net.state_dict()
    found = {name: value for name, value in read(path).items() if not name.startswith(left_out)}
    needed = [name for name in state if not name.startswith(fresh) and not name.endswith("num_batches_tracked")]
    problems = [
        _told("it lacks", [name for name in needed if name not in found]),
        _told("the net has no", [name for name in found if name not in state]),
        _told("another shape has", _misshapen(found, state)),
    ]
    if any(problems):
        raise InputError(f"The weights in {path} are not those of this backbone: {'; '.join(filter(None, problems))}.")
    for name, value in found.items():
        state[name].copy_(value)


def read(path: str) -> dict[str, Tensor]:
    """Tensors by name, from a .safetensors file or from one that torch.save has written."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise InputError(f"There is no file of weights at net.weights = {path}.")
    try:
        found = _safetensors(file) if file.suffix == ".safetensors" else _pickled(file)
    except (UnpicklingError, LookupError) as error:  # whose own message tells how to load it all the same, or nothing
        raise InputError(f"{path} is no file of weights, or holds more than tensors, which is not loaded.") from error
    except Exception as error:  # a broken file may raise anything
        raise InputError(f"The weights in {path} cannot be read ({reason(error)}).") from error
    if not isinstance(found, Mapping) or not all(isinstance(value, Tensor) for value in found.values()):
        raise InputError(f"{path} must hold tensors by name, as torch.save(net.state_dict(), …) writes them.")
    return dict(found)


def _pickled(file: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a pickle that is refused right after
        return torch.load(file, map_location="cpu", weights_only=True)


def _safetensors(file: Path) -> Any:
    from safetensors.torch import load_file

    return load_file(file)


def _misshapen(found: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> list[str]:
    return [
        f"{name} {tuple(value.shape)} instead of {tuple(state[name].shape)}"
        for name, value in found.items()
        if name in state and value.shape != state[name].shape
    ]


def _told(what: str, names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{what} {', '.join(names[:NAMED])}{more}" if names else ""
