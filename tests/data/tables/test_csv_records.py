"""Records in stretches are those read one by one, with the same lines; what is wrong is told alike."""

from __future__ import annotations

import csv
import gc
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csad.data.tables.csv_files import _uncollected, read_csv_columns
from csad.data.tables.csv_records import checked, records, stretches
from csad.errors import InputError

CELLS = st.sampled_from(["", "a", "1.5", " x ", 'say "hi"', "two\nlines", "three\r\nold\rlines", ",", "é"])
ROWS = st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=12)


def written(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_bytes(text.encode())
    return path


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 5), st.sampled_from(["\n", "\r\n"]))
def test_stretches_hold_the_records_and_their_lines(rows: list[list[str]], size: int, ending: str) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator=ending).writerows([["a", "b", "c"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), ending + text.getvalue())
        one_by_one = list(checked(path, records(path, ","), 3))[1:]
        found = list(stretches(path, ",", 3, size))
    lines = [line for some, _ in found for line in some]
    words = [list(row) for _, columns in found for row in zip(*columns, strict=True)]
    assert list(zip(lines, words, strict=True)) == one_by_one
    assert words == [row for row in [[cell.lstrip(" ") for cell in row] for row in rows] if any(row)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n3\n", "has 1 value in line 3 where its header names 2 columns"),
        ('a,b\n"x\ny",2\n3,4,5\n', "has 3 values in line 4 where its header names 2 columns"),
        ('a,b\n1,2\n3,"4\n5,6\n', "has a quote in line 3 that is never closed"),
        ("a,b\n1,2\n3,\0\n", "has a NUL byte in line 3"),
        ('a,b\n1,"x"y\n', "is no CSV file in line 2"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    for size in (1, 2, 100):
        with pytest.raises(InputError) as caught:
            list(stretches(path, ",", 2, size))
        assert says in str(caught.value)


def test_garbage_is_collected_again_once_a_file_is_read_or_could_not_be(tmp_path: Path) -> None:
    assert gc.isenabled()
    with _uncollected():
        assert not gc.isenabled()
    read_csv_columns(written(tmp_path, "a,b\n1,2\n"))
    assert gc.isenabled()
    with pytest.raises(InputError):
        read_csv_columns(written(tmp_path, "a,b\n1,2\n3\n"))
    assert gc.isenabled()
