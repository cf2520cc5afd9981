"""A PNG file read back with the standard library alone."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest
from numpy.typing import NDArray

from csad.report.plots.canvas import data_uri, png


def decoded(file: bytes) -> NDArray[np.uint8]:
    """The pixels of a PNG whose lines all have filter 0; every checksum is tested on the way."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(file):
        (length,) = struct.unpack(">I", file[place : place + 4])
        kind, body = file[place + 4 : place + 8], file[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack(">I", file[place + 8 + length : place + 12 + length])
        assert checksum == zlib.crc32(kind + body)
        chunks[kind] = body
        place += 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, color, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    channels = {2: 3, 6: 4}[color]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * channels)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 7, 3), (4, 2, 4)])
def test_a_png_decodes_to_the_pixels_it_was_made_of(shape: tuple[int, int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(decoded(png(pixels)), pixels)


def test_pixels_that_do_not_lie_in_a_row_in_memory_are_written_in_order() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (6, 4, 3), dtype=np.uint8).transpose(1, 0, 2)[::-1]
    np.testing.assert_array_equal(decoded(png(pixels)), pixels)


def test_a_data_uri_holds_the_png() -> None:
    pixels = np.array([[[255, 0, 0], [0, 0, 255]]], dtype=np.uint8)
    head, body = data_uri(pixels).split(",")
    assert head == "data:image/png;base64"
    np.testing.assert_array_equal(decoded(base64.b64decode(body)), pixels)
