"""Files of series: what is read of them, and what is said of broken ones; nothing in them is ever run."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.own.read_series import Series, read_series, series_of
from tests.support.messages import Refusal, refused
from tests.support.picture_files import KINDS, as_zip, stored


def npy(values: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values, **options)
    return stream.getvalue()


def read(text: str | bytes, name: str = "a.csv") -> Series:
    found = series_of(name, text if isinstance(text, bytes) else text.encode())
    assert isinstance(found, Series), found
    return found


@pytest.mark.parametrize(
    ("text", "channels", "values"),
    [
        ("1,2\n3,4\n", (), [[1, 2], [3, 4]]),
        ("x, y z\n1,2\n\n3,4\n", ("x", "y z"), [[1, 2], [3, 4]]),
        ("\ufeffx;y\n1,5;2\n3;-4e2\n", ("x", "y"), [[1.5, 2], [3, -400]]),
        ("1,5;2\n3;4,5\n", (), [[1.5, 2], [3, 4.5]]),
        ("1\t\n\t4\n", (), [[1, np.nan], [np.nan, 4]]),
        ("nan,1\nNA,2\n1e40,3\n", (), [[np.nan, 1], [np.nan, 2], [np.nan, 3]]),
        ("7\n8\n9", (), [[7], [8], [9]]),
    ],
)
def test_a_text_has_a_row_for_each_step_and_perhaps_a_header(
    text: str, channels: tuple[str, ...], values: list[list[float]]
) -> None:
    found = read(text)
    assert found.channels == channels
    np.testing.assert_array_equal(found.values, np.array(values, np.float32))


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_has_a_row_for_each_step(order: Any) -> None:
    values = np.arange(6, dtype=np.int16).reshape(3, 2)
    np.testing.assert_array_equal(read(npy(np.asarray(values, order=order)), "a.NPY").values, values)
    np.testing.assert_array_equal(read(npy(values[:, 0]), "a.npy").values, values[:, :1])
    np.testing.assert_array_equal(read(npy(np.array([1.0, np.inf])), "a.npy").values, [[1], [np.nan]])


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.csv", b"", "it is empty, or larger than 256 MB"),
        ("a.npy", b"", "it is empty, or larger than 256 MB"),
        ("a.csv", b" \n", "it is empty"),
        ("a.csv", b"\xff\xfe1", "it is not text in UTF-8"),
        ("a.csv", b"x,y\n", "it has a header but no values"),
        ("a.csv", b"x,x\n1,2\n", "it names a channel twice"),
        ("a.csv", b"1,2\n3\n", "it has 1 values in line 2, but 2 in the first line"),
        ("a.csv", b"1,2\n3,old\n", "its column 2 holds values that are not numbers"),
        ("a.csv", b'1,2\n3,"4\n', "it is not a CSV file"),
        ("a.csv", b"x,y\n,\n", "it holds no value"),
        ("a.npy", b"1,2\n3,4\n", "it is not an .npy file"),
        ("a.npy", npy(np.array([None, 1])), "it holds values that are not numbers"),
        ("a.npy", npy(np.array(["a", "b"])), "it holds values that are not numbers"),
        ("a.npy", npy(np.zeros((2, 2, 2))), "it has shape (2, 2, 2), not (steps,) or (steps, channels)"),
        ("a.npy", npy(np.zeros((0, 2))), "it has shape (0, 2)"),
        ("a.npy", npy(np.zeros(100))[:-8], "it is incomplete"),
        ("a.npy", npy(np.zeros(2)).replace(b"(2,), }", b"(9999999999999,), }"), "it is incomplete"),
        ("a.npy", npy(np.full(3, np.nan)), "it holds no value"),
    ],
)
def test_why_a_file_holds_no_series_is_told(name: str, data: bytes, why: str) -> None:
    found = series_of(name, data)
    assert isinstance(found, str)
    assert found.startswith(why)


@pytest.mark.parametrize("kind", KINDS)
def test_series_are_read_from_wherever_they_lie(kind: str, tmp_path: Path) -> None:
    place = stored(kind, tmp_path, {"in/a.csv": b"1\n2\n", "b.npy": npy(np.ones(3)), "c.csv": b"<html>\n"})
    found = read_series(place, ["b.npy", "in/a.csv", "b.npy", "c.csv"])
    assert {name: type(one) for name, one in found.items()} == {"b.npy": Series, "in/a.csv": Series, "c.csv": str}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../a.csv", Refusal("path-leaves-folder", files="Series", name="../a.csv")),
        ("/etc/a.csv", Refusal("path-leaves-folder", files="Series", name="/etc/a.csv")),
        ("none.csv", Refusal("files-missing", missing=1, total=1, files="series", name="none.csv")),
        ("a.mat", Refusal("series-file-ending", name="a.mat")),
    ],
)
@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_names_that_cannot_be_read_are_an_input_error(name: str, says: Refusal, kind: str, tmp_path: Path) -> None:
    place = stored(kind, tmp_path, {"a.csv": b"1\n", "a.mat": b""})
    with refused(says):
        read_series(place, [name])


def test_a_place_that_is_not_there_or_cut_short_is_an_input_error(tmp_path: Path) -> None:
    with refused("series-not-found"):
        read_series(tmp_path / "nowhere", ["a.csv"])
    cut = as_zip(tmp_path / "a.zip", {"a.csv": b"1\n"})
    cut.write_bytes(cut.read_bytes()[:-20])
    with refused("archive-unreadable"):
        read_series(cut, ["a.csv"])


def test_a_file_of_an_archive_that_is_damaged_is_broken(tmp_path: Path) -> None:
    place = as_zip(tmp_path / "a.zip", {"a.csv": b"12345678\n", "b.csv": b"1\n"})
    place.write_bytes(place.read_bytes().replace(b"12345678", b"12345679"))
    found = read_series(place, ["a.csv", "b.csv"])
    assert str(found["a.csv"]).startswith("it cannot be unpacked")
    assert isinstance(found["b.csv"], Series)
