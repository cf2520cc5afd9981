from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from csad.data.datasets.colored_mnist import read_idx
from tests.support.messages import Refusal, refused

HEAD = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3])
WHOLE = HEAD + bytes(range(6))


def written(folder: Path, content: bytes, name: str = "digits-idx2-ubyte") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("shape", [(2, 3), (None, 3), (None, None)])
def test_an_idx_file_gives_its_array(tmp_path: Path, shape: tuple[int | None, ...]) -> None:
    read = read_idx(written(tmp_path, WHOLE), shape)
    assert read.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert read.dtype == np.uint8
    assert read.flags.writeable


def test_a_packed_file_gives_the_same(tmp_path: Path) -> None:
    packed = written(tmp_path, gzip.compress(WHOLE), "digits-idx2-ubyte.gz")
    assert read_idx(packed, (2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "starts with nothing instead of 00 00 08"),
        (b"\x00\x00", "starts with 00 00 instead"),
        (b"PK\x03\x04" + WHOLE, "starts with 50 4b 03 04 instead"),
        (b"\x00\x00\x0d" + WHOLE[3:], "starts with 00 00 0d 02 instead"),
        (HEAD[:9], "within its header"),
        (WHOLE[:-1], "5 of 6 bytes"),
        (WHOLE + b"\x00", "is too long: .* after its 6 bytes"),
        (bytes([0, 0, 8, 1, 0, 0, 0, 6]) + bytes(6), r"shape \(6,\) instead of \(2, any\)"),
        (bytes([0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 2]) + bytes(6), r"shape \(3, 2\) instead of \(2, any\)"),
        (bytes([0, 0, 8, 2, 0, 0, 0, 2, 255, 255, 255, 255]), "8,589,934,590 bytes"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_broken_file_is_named_with_what_to_do(tmp_path: Path, content: bytes, complaint: str, packed: bool) -> None:
    name = "digits-idx2-ubyte.gz" if packed else "digits-idx2-ubyte"
    path = written(tmp_path, gzip.compress(content) if packed else content, name)
    with refused("file-damaged", file=path) as error:
        read_idx(path, (2, None))
    assert re.search(complaint, error.value.facts["problem"])


def test_a_broken_gzip_file_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(bytes([0, 0, 8, 1, 0, 0, 19, 136]) + np.random.default_rng(0).bytes(5000))
    assert read_idx(written(tmp_path, packed, "x.gz"), (5000,)).shape == (5000,)
    damaged = packed[:2000] + bytes(20) + packed[2020:]
    for content, complaint in (
        (WHOLE, Refusal("file-damaged", problem=re.compile("not a complete gzip"))),
        (packed[:-30], Refusal("file-damaged", problem=re.compile("gzip data end early"))),
        (damaged, Refusal("file-damaged", problem=re.compile("gzip"))),
    ):
        with refused(complaint):
            read_idx(written(tmp_path, content, "x.gz"), (None,))


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with refused("file-unreadable"):
        read_idx(tmp_path / "missing.gz", (2, 3))
    with refused("file-unreadable", reason="Is a directory"):
        read_idx(tmp_path, (2, 3))
