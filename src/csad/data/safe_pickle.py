"""Reads a .npy file of Python objects without running any code in it.

A pickle may name any function and have it called. Here a few names of NumPy mean stand-ins that build plain values;
every other name is refused.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from csad.data.local_files import damaged
from csad.errors import InputError, unreadable

PLAIN = re.compile(r"[biufSU]\d+|O8?")  # whole numbers, floats, bytes, words, objects
ARRAYS = ("_reconstruct", "scalar")
NAMES = {
    "numpy": ("dtype", "ndarray"),
    "numpy.core.multiarray": ARRAYS,
    "numpy._core.multiarray": ARRAYS,  # as NumPy 2 has it
    "_codecs": ("encode",),
}


def read_objects(path: Path) -> Any:
    """The saved value: one Python object, such as a dict, or the list of an array's entries."""
    try:
        with path.open("rb") as stream:
            _skip_header(stream)
            loaded: _Array = _Reader(stream, encoding="latin1").load()  # Python 2 wrote words as bytes
            return loaded if loaded.shape else loaded[0]
    except OSError as error:
        raise unreadable(path, error) from error
    except _Refused as error:
        raise InputError("unsafe-pickle-refused", file=path, content=error) from error
    except Exception as error:  # a damaged pickle fails with any error, by its bytes
        raise damaged(path, "is not a complete .npy file of plain values") from error


def _skip_header(stream: BinaryIO) -> None:
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    read[np.lib.format.read_magic(stream)](stream)


class _Refused(pickle.UnpicklingError):
    """Raised if a pickle names something that is not plain."""


class _Kind:
    """Stands in for numpy.dtype."""

    __slots__ = ("code", "order")

    def __init__(self, code: str) -> None:
        if not PLAIN.fullmatch(code):
            raise _Refused(f"values of type {code[:20]!r}")
        self.code, self.order = code, "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def values(self, data: bytes) -> list[Any]:
        """The values of the bytes."""
        values: list[Any] = np.frombuffer(data, np.dtype(self.order + self.code)).tolist()
        return values


class _Array(list[Any]):
    """Stands in for numpy.ndarray: a list of its entries."""

    __slots__ = ("shape",)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, kind, _, data = state
        self[:] = data if kind.code.startswith("O") else kind.values(data)


class _Named:
    """Stands in for a function or class of NumPy; it has no __dict__, so that a pickle cannot change it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        if self.name == "dtype":
            return _Kind(arguments[0])
        if self.name == "_reconstruct":
            return _Array()
        if self.name == "scalar":
            return arguments[0].values(arguments[1])[0]
        if self.name == "encode":
            return arguments[0].encode("latin1")  # how Python 3 writes bytes for Python 2
        raise _Refused(f"a call of {self.name}")


class _Reader(pickle.Unpickler):
    """An unpickler that knows a few names."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a name, whatever the module really holds."""
        if name not in NAMES.get(module, ()):
            raise _Refused(f"{module}.{name}")
        return _Named(name)
