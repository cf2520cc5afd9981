from __future__ import annotations

import importlib
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.tables.read_table import read_table_file
from csad.data.tables.table import CategoryColumn, DateColumn, HighCardinalityColumn, NumberColumn, named
from tests.support.messages import refused


def test_without_pyarrow_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    path = tmp_path / "people.parquet"
    path.write_bytes(b"PAR1")
    with refused("pyarrow-not-installed"):
        read_table_file(path)


def test_a_parquet_file_is_read_by_what_its_columns_are(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "whole": [1, None, 3],
        "float": [0.5, float("nan"), float("inf")],
        "decimal": [Decimal("1.50"), None, Decimal("2.25")],
        "flag": [True, False, None],
        "word": ["a", None, " ? "],
        "numbers": ["1", "2.5", ""],
        "day": [date(1970, 1, 2), None, date(1970, 1, 4)],
        "moment": [datetime(1970, 1, 1, 12), None, datetime(1970, 1, 2)],
        "kind": arrow.array(["x", "y", "x"]).dictionary_encode(),
        "list": [[1.0], [2.0], None],
        "nothing": arrow.nulls(3),
        "a.b": [1, 2, 3],
        "a": [4, 5, 6],
    }
    path = tmp_path / "people.pq"
    parquet.write_table(arrow.table(columns), path, row_group_size=2)
    table = read_table_file(path)
    nan = np.nan
    numbers = {
        "whole": [1, nan, 3],
        "float": [0.5, nan, nan],
        "decimal": [1.5, nan, 2.25],
        "numbers": [1, 2.5, nan],
        "nothing": [nan] * 3,
        "a.b": [1, 2, 3],
        "a": [4, 5, 6],
    }
    for name, values in numbers.items():
        found = table[name]
        assert isinstance(found, NumberColumn)
        np.testing.assert_array_equal(found.values, values)
    for name, codes, kinds in (
        ("flag", [1, 0, -1], ("false", "true")),
        ("word", [0, -1, -1], ("a",)),
        ("kind", [0, 1, 0], ("x", "y")),
    ):
        found = table[name]
        assert isinstance(found, CategoryColumn)
        assert (named(found)[0].tolist(), named(found)[1]) == (codes, kinds)
    for name, days in (("day", [1, nan, 3]), ("moment", [0.5, nan, 1])):
        found = table[name]
        assert isinstance(found, DateColumn)
        np.testing.assert_array_equal(found.days["ISO"], days)
    assert isinstance(table["list"], HighCardinalityColumn)
    assert table["list"].what.startswith("list<")


@pytest.mark.parametrize(
    ("name", "content"), [("a.parquet", b"a,b\n1,2\n"), ("b.pq", b""), ("c.csv", b"PAR1 and no more")]
)
def test_what_is_no_parquet_file_is_told(tmp_path: Path, name: str, content: bytes) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with refused("parquet-unreadable"):
        read_table_file(tmp_path / name)


def test_a_parquet_file_of_no_rows_is_told(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"a": arrow.array([], arrow.string()), "b": arrow.array([], arrow.int64())}), path)
    with refused("file-without-rows"):
        read_table_file(path)
