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

from csad.data.tables.read_table import _uncollected, check_widths, csv_records, read_blocks, read_csv_columns
from tests.support.messages import Refusal, refused

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
        one_by_one = list(check_widths(path, csv_records(path, ","), 3))[1:]
        found = list(read_blocks(path, ",", 3, size))
    lines = [line for some, _ in found for line in some]
    words = [list(row) for _, columns in found for row in zip(*columns, strict=True)]
    assert list(zip(lines, words, strict=True)) == one_by_one
    assert words == [row for row in [[cell.lstrip(" ") for cell in row] for row in rows] if any(row)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n3\n", Refusal("csv-wrong-value-count", values="1 value", line=3, columns=2)),
        ('a,b\n"x\ny",2\n3,4,5\n', Refusal("csv-wrong-value-count", values="3 values", line=4, columns=2)),
        ('a,b\n1,2\n3,"4\n5,6\n', Refusal("csv-quote-not-closed", line=3)),
        ("a,b\n1,2\n3,\0\n", Refusal("csv-nul-byte", line=3)),
        ('a,b\n1,"x"y\n', Refusal("csv-line-invalid", line=2)),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, says: Refusal) -> None:
    path = written(tmp_path, text)
    for size in (1, 2, 100):
        with refused(says):
            list(read_blocks(path, ",", 2, size))


def test_garbage_is_collected_again_once_a_file_is_read_or_could_not_be(tmp_path: Path) -> None:
    assert gc.isenabled()
    with _uncollected():
        assert not gc.isenabled()
    read_csv_columns(written(tmp_path, "a,b\n1,2\n"))
    assert gc.isenabled()
    with refused("csv-wrong-value-count"):
        read_csv_columns(written(tmp_path, "a,b\n1,2\n3\n"))
    assert gc.isenabled()
