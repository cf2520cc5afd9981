"""Load a backbone's weights from a file: only tensors are unpickled, and every name and shape must fit."""

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

from csad.errors import InputError, reason

NAMED = 3  # names of a kind that an error lists; a file of another net has dozens
_reads_files: ContextVar[bool] = ContextVar("reads_files", default=True)


@contextmanager
def without_files() -> Iterator[None]:
    """Read no file of weights meanwhile: nets built here get their weights from elsewhere, or need none."""
    token = _reads_files.set(False)
    try:
        yield
    finally:
        _reads_files.reset(token)


@torch.no_grad()
def take_weights(net: nn.Module, path: str, *, left_out: tuple[str, ...] = (), fresh: tuple[str, ...] = ()) -> None:
    """Copy the weights and buffers of a file over the net's own. Raise InputError if names or shapes differ.

    Args:
        net: The net to fill.
        path: A .safetensors file, or one that torch.save wrote.
        left_out: Beginnings of names in the file to pass over, such as the layer of ImageNet's classes.
        fresh: Beginnings of names in the net that need not be in the file. BatchNorm's counts of batches never need
            to be: old files lack them.
    """
    if not _reads_files.get():
        return
    state = net.state_dict()
    tensors = {name: value for name, value in read_weights(path).items() if not name.startswith(left_out)}
    needed = [name for name in state if not name.startswith(fresh) and not name.endswith("num_batches_tracked")]
    problems = [
        _list("the file has no", [name for name in needed if name not in tensors]),
        _list("the backbone has no", [name for name in tensors if name not in state]),
        _list("the shape differs for", _misshapen(tensors, state)),
    ]
    if any(problems):
        raise InputError("weights-do-not-fit", file=path, problems="; ".join(filter(None, problems)))
    for name, value in tensors.items():
        state[name].copy_(value)


def read_weights(path: str) -> dict[str, Tensor]:
    """Tensors by name, from a .safetensors file or from one that torch.save wrote."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise InputError("weights-file-missing", file=path)
    try:
        tensors = _safetensors(file) if file.suffix == ".safetensors" else _pickled(file)
    except (UnpicklingError, LookupError) as error:  # its message would advise to unpickle the file
        raise InputError("weights-file-unsafe", file=path) from error
    except Exception as error:  # a broken file may raise anything
        raise InputError("weights-unreadable", file=path, reason=reason(error)) from error
    if not isinstance(tensors, Mapping) or not all(isinstance(value, Tensor) for value in tensors.values()):
        raise InputError("weights-not-state-dict", file=path)
    return dict(tensors)


def _pickled(file: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a pickle that is refused right after
        return torch.load(file, map_location="cpu", weights_only=True)


def _safetensors(file: Path) -> Any:
    from safetensors.torch import load_file

    return load_file(file)


def _misshapen(tensors: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> list[str]:
    return [
        f"{name} {tuple(value.shape)} instead of {tuple(state[name].shape)}"
        for name, value in tensors.items()
        if name in state and value.shape != state[name].shape
    ]


def _list(what: str, names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{what} {', '.join(names[:NAMED])}{more}" if names else ""
