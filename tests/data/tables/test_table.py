from __future__ import annotations

from pathlib import Path

import numpy as np

from csad.data.tables.table import (
    ColumnTable,
    DateColumn,
    HighCardinalityColumn,
    NumberColumn,
    keys_of,
    named,
    number_name,
)
from tests.support.messages import refused
from tests.support.word_columns import words


def test_values_are_named_numbers_in_their_order_and_then_words() -> None:
    codes, names = named(words("b", "10", "", "9", "b", "a"))
    assert names == ("9", "10", "a", "b")
    assert codes.tolist() == [3, 1, -1, 0, 3, 2]
    codes, names = named(NumberColumn(np.array([2.5, np.nan, -1, 1e20, 2.5])))
    assert names == ("-1", "2.5", "1e+20")
    assert codes.tolist() == [1, -1, 0, 2, 1]


def test_a_number_has_one_name_however_it_is_written() -> None:
    assert named(words("1.0", "01", "x", "1"))[1] == ("1", "x")
    assert number_name(float(np.float32(0.5))) == "0.5"


def test_only_values_that_are_there_count() -> None:
    column = words("a", "b", "c").take(np.array([2, 0]))
    assert named(column)[1] == ("a", "c")


def test_rows_that_are_alike_have_one_key_counted_as_they_come() -> None:
    wanted = [0, 1, 0, 2]
    assert keys_of(words("z", "a", "z", "m")).tolist() == wanted
    assert keys_of(NumberColumn(np.array([9, 1, 9, 5]))).tolist() == wanted
    assert keys_of(HighCardinalityColumn(np.array([7, -7, 7, 1]))).tolist() == wanted
    assert keys_of(DateColumn({"ISO": np.array([2.0, 1, 2, 9])})).tolist() == wanted


def test_a_column_that_is_not_there_is_told_with_the_nearest_name() -> None:
    table = ColumnTable(Path("people.csv"), {"gender": words("f"), "age": words("x")}, 1)
    with refused("unknown-column", column="gendr", file="people.csv", advice="Nearest: gender."):
        table["gendr"]
    with refused("unknown-column", column="xyz", file="people.csv", advice="It has gender, age."):
        table["xyz"]
