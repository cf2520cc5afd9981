from __future__ import annotations

import csv
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csad.data.tables import infer as table_codes
from csad.data.tables import read_table
from csad.data.tables.read_table import is_table_file, read_table_file
from csad.data.tables.table import (
    AMONG_NUMBERS,
    BLANKS,
    LARGEST,
    CategoryColumn,
    Column,
    DateColumn,
    HighCardinalityColumn,
    NumberColumn,
)
from tests.support.messages import Refusal, refused

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def written(folder: Path, text: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def words_of(column: Column) -> list[str | None]:
    assert isinstance(column, CategoryColumn)
    return [column.words[code] if code >= 0 else None for code in column.codes.tolist()]


def same(found: Column, numbers: list[float]) -> None:
    assert isinstance(found, NumberColumn)
    np.testing.assert_array_equal(found.values, numbers)


def test_each_column_is_read_as_what_it_holds(tmp_path: Path) -> None:
    text = "name,age,born,paid,note\nAda,36,1815-12-10,1.5,\n Bob ,,1990-01-02, 2e3 ,\n"
    table = read_table_file(written(tmp_path, text))
    assert (table.rows, list(table.columns)) == (2, ["name", "age", "born", "paid", "note"])
    assert words_of(table["name"]) == ["Ada", "Bob"]
    same(table["age"], [36, np.nan])
    born = table["born"]
    assert isinstance(born, DateColumn)
    assert born.days["ISO"].tolist() == [-56270, 7306]
    same(table["paid"], [1.5, 2000])
    same(table["note"], [np.nan, np.nan])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_the_delimiter_is_found_and_a_byte_order_mark_does_not_matter(
    tmp_path: Path, delimiter: str, start: str
) -> None:
    text = start + f'a{delimiter}b{delimiter}c\n\n1{delimiter}"x, y{delimiter} | ""z"" \nand on"{delimiter}u\n,;|\n'
    text = text.replace(",;|\n", "")
    table = read_table_file(written(tmp_path, text))
    assert list(table.columns) == ["a", "b", "c"]
    assert words_of(table["b"]) == [f'x, y{delimiter} | "z" \nand on']


def test_the_first_records_decide_between_two_delimiters(tmp_path: Path) -> None:
    table = read_table_file(written(tmp_path, "name;born, where and when;x\nAda;London, 1815;1\nBob;?;2\n"))
    assert list(table.columns) == ["name", "born, where and when", "x"]
    assert list(read_table_file(written(tmp_path, "a;b, c, d\n1;2\n3;4\n")).columns) == ["a", "b, c, d"]


def test_numbers_have_a_comma_where_semicolons_stand_between_them(tmp_path: Path) -> None:
    same(read_table_file(written(tmp_path, "a;b\n1,5;x\n2;y\n-,5;z\n"))["a"], [1.5, 2, -0.5])
    assert words_of(read_table_file(written(tmp_path, 'a|b\n"1,5"|x\n2|y\n'))["a"]) == ["1,5", "2"]
    assert words_of(read_table_file(written(tmp_path, "a;b\n1.234,5;x\n2;y\n"))["a"]) == ["1.234,5", "2"]


def test_lines_without_a_word_are_skipped_and_a_column_without_a_name_has_its_place(tmp_path: Path) -> None:
    table = read_table_file(written(tmp_path, "\n,a\n0,x\n\n,\n1,y\n"))
    assert list(table.columns) == ["column 1", "a"]
    assert table.rows == 2


def test_words_for_missing_values_are_known_and_told(tmp_path: Path) -> None:
    text = "number,word,mixed\n1,NA,5\nnone,none,?\n-,-,n/a\n.,?,NaN\nnull,b,1e999\n"
    table = read_table_file(written(tmp_path, text))
    same(table["number"], [1, *[np.nan] * 4])
    assert words_of(table["word"]) == [None, "none", "-", None, "b"]
    same(table["mixed"], [5, *[np.nan] * 4])
    assert [set(column.blanks) for column in table.columns.values()] == [
        {"none", "-", ".", "null"},
        {"NA", "?"},
        {"?", "n/a", "NaN", "1e999"},
    ]


def test_numbers_take_half_the_memory_where_that_loses_nothing(tmp_path: Path) -> None:
    table = read_table_file(written(tmp_path, "a,b,c\n1,0.1,16777217\n0.5,2,1\n"))
    assert [column.values.dtype for column in table.columns.values() if isinstance(column, NumberColumn)] == [
        np.float32,
        np.float64,
        np.float64,
    ]
    same(table["c"], [16777217, 1])


def test_words_that_come_after_blocks_of_numbers_or_dates_make_the_whole_column_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_table, "CELLS", 6)
    rows = [("007", "2020-01-01", ""), ("1.50", "?", "NA"), ("3", "2020-01-03", ""), ("4", "later", "x"), ("", "", "")]
    rows += [("many", "2020-01-05", "1")]
    text = "a,b,c\n" + "".join(",".join(row) + "\n" for row in rows)
    table = read_table_file(written(tmp_path, text))
    assert words_of(table["a"]) == ["007", "1.50", "3", "4", "many"]
    assert words_of(table["b"]) == ["2020-01-01", None, "2020-01-03", "later", "2020-01-05"]
    assert words_of(table["c"]) == [None, None, None, "x", "1"]
    a, b = table["a"], table["b"]
    assert isinstance(a, CategoryColumn)
    assert isinstance(b, CategoryColumn)
    assert (a.numbers, a.odd) == (4, ("many", 7))
    assert b.odd == ("later", 5)


def test_of_too_many_words_only_their_likeness_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_table, "CELLS", 8)
    monkeypatch.setattr(table_codes, "MOST_WORDS", 3)
    words = ["a", "b", "?", " a", "c", "d", "e", "a ", "NA", "b"]
    table = read_table_file(written(tmp_path, "who,n\n" + "".join(f"{word},1\n" for word in words)))
    who = table["who"]
    assert isinstance(who, HighCardinalityColumn)
    assert who.missing().tolist() == [word in ("?", "NA") for word in words]
    assert len(set(who.keys.tolist())) == 6
    assert who.keys[0] == who.keys[3] == who.keys[7]
    assert who.keys[1] == who.keys[9]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", Refusal("csv-file-empty")),
        (b"\n\n", Refusal("csv-file-empty")),
        (b"a,b\n", Refusal("file-without-rows")),
        (b"name\nAda\n", Refusal("csv-one-column", column="'name'")),
        (b"a,b,a\n1,2,3\n", Refusal("duplicate-column-names", columns="'a'")),
        (b"a,b\n1,2\n3\n", Refusal("csv-wrong-value-count", values="1 value", line=3, columns=2)),
        (b"a,b\n1,2\n\n3,4,5\n", Refusal("csv-wrong-value-count", values="3 values", line=4, columns=2)),
        (b"a,b\n1,x\nM\xe9t,2\n", Refusal("csv-byte-not-utf8", byte="byte 0xe9 in line 3")),
        (b'a,b\n1,2\n3,"open\n4,5\n', Refusal("csv-quote-not-closed", line=3)),
        (b'a,b\n1,2\n"x"y,3\n', Refusal("csv-line-invalid", line=3)),
        (b'a,b\n1,2\n3,"' + b"x" * 200_000 + b'"\n', Refusal("csv-cell-too-long", limit="131,072 characters", line=3)),
        (b"PK\x03\x04....", Refusal("not-a-table-file", problem=re.compile("^is a zip file"))),
        (b"\x1f\x8b....", Refusal("not-a-table-file", problem=re.compile("^is compressed"))),
        ("a,b\n1,2\n".encode("utf-16"), Refusal("not-a-table-file", problem=re.compile("^is UTF-16"))),
    ],
)
def test_what_is_no_table_is_told_in_a_sentence(tmp_path: Path, text: bytes, complaint: Refusal) -> None:
    with refused(complaint):
        read_table_file(written(tmp_path, text))


def test_a_folder_and_a_file_that_is_not_there_are_told(tmp_path: Path) -> None:
    with refused("file-unreadable", reason="Is a directory"):
        read_table_file(tmp_path)
    with refused("file-unreadable"):
        read_table_file(tmp_path / "none.csv")


def test_a_name_tells_whether_it_is_a_table() -> None:
    assert [is_table_file(name) for name in ("a.csv", "b/c.TSV", "d.parquet", "e.npz", "adult")] == [1, 1, 1, 0, 0]


def expected(words: list[str]) -> list[float] | list[str | None]:
    """A column as it should be read, by a slow look at every word."""
    words = [word.strip() for word in words]
    if all(word.lower() in AMONG_NUMBERS or NUMBER.fullmatch(word) for word in words):
        values = [float(word) if NUMBER.fullmatch(word) else np.nan for word in words]
        return [value if abs(value) <= LARGEST else np.nan for value in values]
    return [None if word.lower() in BLANKS else word for word in words]


@settings(deadline=None)
@given(data=st.data(), delimiter=st.sampled_from([",", ";", "\t", "|"]), cells=st.sampled_from([4, 9, 1000]))
def test_what_csv_writes_is_read_back(data: st.DataObject, delimiter: str, cells: int) -> None:
    columns = data.draw(st.integers(2, 4))
    # Dates need more than six letters.
    word = st.one_of(st.sampled_from(["", "1", "-2.5", "x"]), st.text("12.-e? aZé\"'\n\r" + delimiter, max_size=6))
    rows = data.draw(st.lists(st.lists(word, min_size=columns, max_size=columns), min_size=1, max_size=12))
    kept = [row for row in rows if any(cell.lstrip(" ") for cell in row)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_table, "CELLS", cells)
        path = Path(folder) / "small.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, delimiter=delimiter).writerows([[f"c{k}" for k in range(columns)], *rows])
        if not kept:
            with refused("file-without-rows"):
                read_table_file(path)
            return
        table = read_table_file(path)
    assert table.rows == len(kept)
    for k, column in enumerate(table.columns.values()):
        wanted = expected([row[k] for row in kept])
        if isinstance(column, NumberColumn):
            np.testing.assert_array_equal(column.values, np.array(wanted, np.float64))
        else:
            assert words_of(column) == wanted
