"""Reads idx files, the format that MNIST is distributed in, packed with gzip or not."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.given_files import damaged
from csad.errors import unreadable

UNSIGNED_BYTES = 8  # the type code in an idx file's third byte
MOST_BYTES = 2**30


def read_idx(path: Path, shape: tuple[int | None, ...]) -> NDArray[np.uint8]:
    """The bytes of an idx file as an array of this shape, ``None`` being any length.

    Two zero bytes, a type code and the number of dimensions, each dimension as four bytes, then the data:
    what differs from that, down to one byte too many, is an error. No more is read than the shape calls for.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            magic = stream.read(4)
            if len(magic) < 4 or magic[:3] != bytes((0, 0, UNSIGNED_BYTES)):
                found = magic.hex(" ") or "nothing"
                raise damaged(path, f"is no idx file of bytes: it starts with {found} instead of 00 00 08")
            head = stream.read(4 * magic[3])
            found_shape = tuple(int.from_bytes(head[k : k + 4]) for k in range(0, len(head), 4))
            if len(head) < 4 * magic[3]:
                raise damaged(path, "is cut short within its header")
            if not _fits(found_shape, shape):
                wanted = ", ".join("any" if length is None else str(length) for length in shape)
                raise damaged(path, f"has shape {found_shape} where ({wanted}) is wanted")
            size = math.prod(found_shape)
            if size > MOST_BYTES:
                raise damaged(path, f"claims {size:,} bytes; at most {MOST_BYTES:,} are read")
            data = bytearray(stream.read(size))
            if len(data) < size:
                raise damaged(path, f"is cut short: it holds {len(data):,} of {size:,} bytes")
            if stream.read(1):
                raise damaged(path, f"is too long: more follows after its {size:,} bytes")
    except gzip.BadGzipFile as error:
        raise damaged(path, "ends in .gz but is not a whole gzip file") from error
    except (EOFError, zlib.error) as error:
        raise damaged(path, "is cut short or damaged: its gzip data break off") from error
    except OSError as error:
        raise unreadable(path, error) from error
    return np.frombuffer(data, dtype=np.uint8).reshape(found_shape)


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(w in (None, f) for f, w in zip(found, wanted, strict=True))
