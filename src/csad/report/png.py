"""Pixels as PNG, written with the standard library alone so that a page needs no imaging package."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def png(pixels: Pixels) -> bytes:
    """The bytes of a PNG file: (h, w, 3) is red, green, blue; a fourth channel is opacity."""
    height, width, channels = pixels.shape
    # Each line of a PNG opens with the number of its filter; 0 means the bytes stand as they are.
    lines = np.zeros((height, 1 + width * channels), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def data_uri(pixels: Pixels, scale: int = 1) -> str:
    """The PNG as a ``data:`` address, every pixel enlarged to ``scale`` × ``scale``."""
    enlarged = pixels.repeat(scale, axis=0).repeat(scale, axis=1)
    return "data:image/png;base64," + base64.b64encode(png(enlarged)).decode("ascii")
