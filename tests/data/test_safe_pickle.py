from __future__ import annotations

import builtins
import os
import pickle
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.safe_pickle import read_objects
from tests.support.messages import refused


class Calls:
    """Pickles to a call of anything."""

    def __init__(self, function: Callable[..., Any], *given: Any) -> None:
        self.call = function, given

    def __reduce__(self) -> Any:
        return self.call


def written(path: Path, value: Any, protocol: int = 4) -> Path:
    """The value as numpy.save writes it, in any of pickle's protocols."""
    array = np.empty((), dtype=object)
    array[()] = value
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "|O", "fortran_order": False, "shape": ()})
        pickle.dump(array, stream, protocol=protocol)
    return path


@pytest.mark.parametrize("protocol", range(5))
def test_plain_values_come_back_in_every_protocol(tmp_path: Path, protocol: int) -> None:
    value = {b"01/nm\xff.jpg": {"age": 31, "gender": 1.0}, "list": ["a", b"b", None, True, (1, 2)], 3: -(2**70)}
    assert read_objects(written(tmp_path / "a.npy", value, protocol)) == value


@pytest.mark.parametrize("protocol", range(5))
def test_numpys_numbers_and_arrays_become_plain_ones(tmp_path: Path, protocol: int) -> None:
    value = {
        "numbers": [np.int64(-3), np.uint8(200), np.float32(0.5), np.bool_(True), np.str_("é"), np.bytes_(b"x")],
        "words": np.array(["ab", "c"]),
        "bytes": np.array([b"ab", b"c"]),
        "big-endian": np.array([1, 2], dtype=">i4"),
        "objects": np.array(["a", {"b": 1}], dtype=object),
    }
    assert read_objects(written(tmp_path / "a.npy", value, protocol)) == {
        "numbers": [-3, 200, 0.5, True, "é", b"x"],
        "words": ["ab", "c"],
        "bytes": [b"ab", b"c"],
        "big-endian": [1, 2],
        "objects": ["a", {"b": 1}],
    }


def test_what_numpy_saves_can_be_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array({"train_list": ["a"]}, dtype=object), allow_pickle=True)
    assert read_objects(tmp_path / "a.npy") == {"train_list": ["a"]}
    np.save(tmp_path / "a.npy", np.array(["a", "b"], dtype=object), allow_pickle=True)
    assert read_objects(tmp_path / "a.npy") == ["a", "b"]


def test_words_of_python_2_can_be_read(tmp_path: Path) -> None:
    """As Python 2 would pickle the 0-d array of {'01/a.jpg': {'age': 31}}: its words are bytes."""
    words = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
        b"(I1\n(tcnumpy\ndtype\n(S'O8'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI63\ntbI00\n"
        b"(lp0\n(dS'01/a.jpg'\n(dS'age'\nI31\nssatb."
    )
    path = written(tmp_path / "a.npy", None)
    head = path.read_bytes()[:128]
    path.write_bytes(head + words)
    assert read_objects(path) == {"01/a.jpg": {"age": 31}}


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (os.system, r"(posix|nt)\.system"),
        (builtins.eval, "(builtins|__builtin__).eval"),
        (builtins.getattr, "(builtins|__builtin__).getattr"),
        (subprocess.call, "(subprocess|commands).call"),
        (np.load, "numpy.load"),
        (np.fromfile, r"numpy\..*fromfile"),
        (pickle.loads, "_?pickle.loads"),
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_call_something_is_refused(
    tmp_path: Path, function: Callable[..., Any], name: str, protocol: int
) -> None:
    path = written(tmp_path / "a.npy", {"a": Calls(function, f"touch {tmp_path / 'ran'}")}, protocol)
    with refused("unsafe-pickle-refused", file=path, content=re.compile(name)):
        read_objects(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_the_malicious_pickle_would_run_elsewhere(tmp_path: Path, protocol: int) -> None:
    path = written(tmp_path / "a.npy", Calls(Path.touch, tmp_path / "ran"), protocol)
    np.load(path, allow_pickle=True)
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    with refused("unsafe-pickle-refused", content=re.compile(r"^(pathlib\..*|__builtin__\.getattr)$")):
        read_objects(path)
    assert not (tmp_path / "ran").exists()


def test_kinds_of_values_that_are_not_plain_are_refused(tmp_path: Path) -> None:
    for value in (np.zeros(2, dtype=[("a", int)]), np.zeros(2, dtype="m8[s]"), np.zeros(2, dtype=complex)):
        with refused("unsafe-pickle-refused", content=re.compile(r"'[VmMc]\d+'")):
            read_objects(written(tmp_path / "a.npy", {"a": value}))


def test_bytes_are_never_taken_for_objects(tmp_path: Path) -> None:
    """NumPy would follow such bytes as addresses; here they stay bytes, or are an error."""
    path = written(tmp_path / "a.npy", None)
    head = path.read_bytes()[:128]
    scalar = b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(VO8\ntRC\x08AAAAAAAAtR."
    array = b"cnumpy.core.multiarray\n_reconstruct\n(tR(I1\n(I1\ntcnumpy\ndtype\n(VO8\ntRI00\nC\x08AAAAAAAAtb."
    path.write_bytes(head + scalar)
    with refused("file-damaged", problem="is not a complete .npy file of plain values"):
        read_objects(path)
    path.write_bytes(head + array)
    assert read_objects(path) == [65] * 8


def test_a_pickle_cannot_change_what_stands_in_for_numpy(tmp_path: Path) -> None:
    path = written(tmp_path / "a.npy", None)
    head = path.read_bytes()[:128]
    for names in (b"cnumpy\ndtype\n", b"cnumpy\nndarray\n", b"cnumpy.core.multiarray\nscalar\n"):
        path.write_bytes(head + names + b"}(Vname\nVscalar\nub.")
        with refused("file-damaged", problem="is not a complete .npy file of plain values"):
            read_objects(path)
    assert read_objects(written(path, {"a": np.int64(1)})) == {"a": 1}


def test_a_file_that_is_cut_short_anywhere_is_told(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.npy", {b"a": {"age": np.int64(3)}, "b": np.array(["c"])}).read_bytes()
    path = tmp_path / "a.npy"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with refused("file-damaged", problem="is not a complete .npy file of plain values"):
            read_objects(path)


@pytest.mark.parametrize("data", [b"<html>", b"\x93NUMPY\x09\0", pickle.dumps({"a": 1})])
def test_what_is_no_npy_file_is_told(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    with refused("file-damaged", problem="is not a complete .npy file of plain values"):
        read_objects(path)
    with refused("file-unreadable"):
        read_objects(tmp_path / "b.npy")
