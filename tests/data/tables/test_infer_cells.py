"""Cells as they are written, tables of one column, and raw values that come from Python."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.events import listening
from csad.data.own.fit_preprocessor import fit_inputs
from csad.data.own.from_files import from_table
from csad.data.own.preprocessor import CategoryEncoder, NumberEncoder, Preprocessor
from csad.data.tables.infer import infer_columns, is_raw, table_from_values
from csad.data.tables.read_table import read_cells, read_table_file
from csad.data.tables.table import CategoryColumn, DateColumn, NumberColumn, comma_words, strip_currency
from csad.messages import message
from tests.support.csv_tables import write_table
from tests.support.messages import noticed, refused


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("22,550", "22550"), ("1,234,567.8", "1234567.8"), ("30.7%", "30.7"), ("$ 5", "5"), ("5 €", "5"),
        ("-3 %", "-3"), ("-1,000", "-1000"), (" 7% ", "7"), ("$22,550.50", "22550.50"),
        ("1.000,50", "1000.50"), ("1.000", ""), ("USD 1000", "1000"), ("12 EUR", "12"), ("\N{MINUS SIGN}12", "-12"),
        ("0,125", ""), ("-0,500", ""), ("3,5", ""), ("1 000", ""), ("75 001", ""),
        ("1.5", ""), ("x5%", ""), ("12,34,567", ""), ("(5)", ""), ("2020-01", ""), ("1,5,6", ""), ("", ""), ("%", ""),
    ],
)  # fmt: skip
def test_numbers_with_signs_about_them_are_known(word: str, number: str) -> None:
    assert strip_currency(word) == number


@pytest.mark.parametrize(
    ("cells", "doubtful"),
    [
        (["386", "1,024", "", "2,000"], "1,024"),
        (["386", "1,024", "2,5"], ""),
        (["0,386", "1,024"], ""),
        (["386", "1024"], ""),
    ],
)
def test_a_comma_that_may_mean_two_things_is_told(tmp_path: Path, cells: list[str], doubtful: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a;b\n" + "".join(f"{cell};{row}\n" for row, cell in enumerate(cells)))
    column = read_table_file(path)["a"]
    assert isinstance(column, NumberColumn)
    assert column.doubtful == column.take(np.array([0])).doubtful == doubtful
    told = [message("comma-read-as-point", column="a", value="1,024", read="1.024", other="1024")]
    assert comma_words("a", column) == (told if doubtful else [])


DAYS = [f"2020-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(60)]


@pytest.mark.parametrize("cells", [2**18, 16])
def test_the_one_cell_that_is_no_date_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """In the first block of a file, or in a later one; a word that is missing among dates is none."""
    monkeypatch.setattr("csad.data.tables.read_table.CELLS", cells)
    days = [*DAYS[:5], "none", *DAYS[6:57], "13/02/2021", *DAYS[58:]]
    table = read_table_file(write_table(tmp_path, {"day": days, "x": [k % 7 for k in range(60)]}))
    fitted = fit_inputs(table, ["day", "x"], np.arange(60))
    assert fitted.uses["day"].becomes == "left out: an id or free text"
    [notice] = [notice for notice in fitted.notices if noticed([notice], "column-not-used", column="day")]
    assert "words (such as '13/02/2021' in line 59)" in notice
    assert "; nearly all other values are dates (ISO): " in notice


def test_few_dates_and_a_word_are_categories_as_they_were(tmp_path: Path) -> None:
    days = [DAYS[k % 28] if k % 10 else "never" for k in range(200)]
    table = read_table_file(write_table(tmp_path, {"day": days, "x": [k % 7 for k in range(200)]}))
    fitted = fit_inputs(table, ["day", "x"], np.arange(200))
    assert fitted.uses["day"].becomes.startswith("input: one-hot")
    told = message("dates-mixed-with-others", column="day", format="ISO", value="never", line=2)
    assert fitted.notices == [told]


@pytest.mark.parametrize(
    ("words", "odd", "form"),
    [
        (
            [*(f"{m:02d}/01/{y}" for y in (2018, 2019, 2020) for m in range(1, 13)), "01/15/2021", "unknown"],
            37,
            "%m/%d/%Y",
        ),
        ([*DAYS, "13/02/2021"], 60, "ISO"),
        ([*DAYS[:3], "-", *DAYS, "soon"], 64, "ISO"),
        ([day if k % 3 else f"none {k}" for k, day in enumerate(DAYS)], 0, ""),
        ([*DAYS[:10], "soon"], 0, ""),  # too few to say what is usual
    ],
)
def test_the_word_that_is_no_date_is_found_by_the_format_of_most(words: list[str], odd: int, form: str) -> None:
    [column] = infer_columns(lambda: iter([(range(len(words)), [words])]), 1)
    assert isinstance(column, CategoryColumn)
    assert (column.date_format, column.odd[1]) == (form, odd)


def test_cells_are_as_the_file_writes_them(tmp_path: Path) -> None:
    table = read_table_file(write_table(tmp_path, {"id": ["007", " 8 ", None, "1e3"], "x": [1, 2, 3, 4]}))
    assert read_cells(table, "id") == ["007", "8", "", "1e3"]
    with refused("unknown-column", column="ids", advice="Nearest: id."):
        read_cells(table, "ids")


def test_cells_stay_whole_where_words_are_too_many_to_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.data.tables.infer.MOST_WORDS", 5)
    names = [f"faces/{k}.png" for k in range(20)]
    table = read_table_file(write_table(tmp_path, {"file": names, "x": range(20)}))
    assert read_cells(table, "file") == names


def test_cells_of_a_parquet_file_are_its_values_in_words(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    values = {"id": [7, None, 9], "name": ["007", None, "b"], "x": [1.0, 2.0, 3.0]}
    parquet.write_table(arrow.table(values), tmp_path / "people.parquet")
    table = read_table_file(tmp_path / "people.parquet")
    assert read_cells(table, "id") == ["7", "", "9"]
    assert read_cells(table, "name") == ["007", "", "b"]


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = write_table(tmp_path, {"id": [1, 2], "x": [1, 2]})
    table = read_table_file(path)
    write_table(tmp_path, {"id": [1, 2, 3], "x": [1, 2, 3]})
    with refused("file-changed-while-read"):
        read_cells(table, "id")


def test_a_single_column_is_a_table_where_it_is_the_one_that_is_wanted(tmp_path: Path) -> None:
    path = write_table(tmp_path, {"file": ["a.png", "b.png"]})
    table = read_table_file(path, alone=["file"])
    assert (table.rows, list(table.columns)) == (2, ["file"])
    assert read_cells(table, "file") == ["a.png", "b.png"]
    for alone in ((), ("files",)):
        with refused("csv-one-column", column="'file'"):
            read_table_file(path, alone=alone)


@pytest.mark.parametrize(
    "values",
    [
        {"age": [37, None], "city": ["Rome", "Oslo"], "seen": [date(2020, 1, 2), None]},
        [{"age": 37.0, "city": "Rome", "seen": "2020-01-02"}, {"city": "Oslo", "age": float("nan"), "seen": ""}],
        {"age": np.array([37, np.nan]), "city": np.array(["Rome", "Oslo"]), "seen": ["2020-01-02", "NaT"]},
    ],
)
def test_raw_values_are_looked_at_as_cells_of_a_file_are(values: Any) -> None:
    assert is_raw(values)
    table = table_from_values(values)
    age, city, seen = (table[name] for name in ("age", "city", "seen"))
    assert isinstance(age, NumberColumn)
    np.testing.assert_array_equal(age.values, [37, np.nan])
    assert isinstance(city, CategoryColumn)
    assert city.words == ("Rome", "Oslo")
    assert isinstance(seen, DateColumn)
    assert seen.missing().tolist() == [False, True]


def test_arrays_are_no_raw_values() -> None:
    assert [is_raw(values) for values in (np.ones((2, 3)), [[1.0, 2.0]], [], (), "people.csv")] == [False] * 5


def test_true_is_true_in_every_spelling() -> None:
    prepared = Preprocessor(
        (CategoryEncoder("smokes", ("true",), ("false",)), CategoryEncoder("word", ("Truth", "lie")))
    )
    for yes, no in (("True", "False"), ("TRUE", "FALSE"), (True, False)):
        table = table_from_values({"smokes": [yes, no], "word": ["truth", "lie"]})
        assert prepared.apply(table).tolist() == [[1, 0, 0], [0, 0, 1]]
        [notice] = prepared.notices(table)  # other words are what they are
        assert noticed([notice], "values-unknown-to-model", column="word", file="the given rows")


def test_what_stands_for_missing_values_is_told() -> None:
    columns = (
        NumberEncoder("age", 40.0, 10.0, 37.0),
        NumberEncoder("seen", 1.0, 1.0, 1.0, date="ISO"),
        CategoryEncoder("city", ("Rome",), missing=True),
        CategoryEncoder("job", ("cook",)),
        CategoryEncoder("pet", ("cat",)),
    )
    given = {"age": [1, None, None], "seen": [None, "2020-01-01", "2020-01-02"], "city": [None, "Rome", "Rome"],
             "job": ["cook", None, "cook"], "pet": ["cat"] * 3}  # fmt: skip
    notices = Preprocessor(columns).notices(table_from_values(given))
    assert len(notices) == 4
    for notice, column, rows, outcome in zip(
        notices,
        ("age", "seen", "city", "job"),
        (2, 1, 1, 1),
        ("training median 37 ", "training median ", "as missing, as in training", "none of the known values"),
        strict=True,
    ):
        assert noticed([notice], "input-column-missing-values", column=column, rows=rows)
        assert outcome in notice


def test_a_number_that_is_missing_only_in_rows_that_are_not_trained_on_is_told_too(tmp_path: Path) -> None:
    table = read_table_file(write_table(tmp_path, {"age": [20, 40, 50, None], "x": [4, 1, 2, 3]}))
    uses = fit_inputs(table, ["age", "x"], np.array([0, 1, 2])).uses
    assert uses["age"].becomes == "input: standardised, 1 column; missing values become the median 40"
    assert uses["x"].becomes == "input: standardised, 1 column"


def test_of_a_wide_table_neighbours_that_are_alike_share_a_line(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {f"x{k}": [k + (j * 7 + k) % 11 for j in range(40)] for k in range(50)}
    path = write_table(tmp_path, {"y": [0, 1] * 20, "b": [0, 0, 1, 1] * 10} | columns)
    made = from_table(path, target="y", bias="b")
    assert len(made.columns) == 52
    assert made.describe() == [
        "y                       numbers  target: 2 classes (0, 1)",
        "b                       numbers  bias: 2 classes (0, 1)",
        "x0, x1, … (50 columns)  numbers  each input: standardised, 1 column",
        "Rows: train 28, validation 4, test 8. Inputs: 50 columns.",
    ]


def test_whoever_hears_of_tables_hears_each_while_it_listens(tmp_path: Path) -> None:
    path = write_table(tmp_path, {"y": [0, 1] * 20, "b": [0, 0, 1, 1] * 10, "x": [k % 7 for k in range(40)]})
    found: list[Any] = []
    with listening(table=found.append):
        made = from_table(path, target="y", bias="b")
    from_table(path, target="y", bias="b")
    assert found == [made]
    assert made.about()["rows"] == {"train": 28, "validation": 4, "test": 8}
