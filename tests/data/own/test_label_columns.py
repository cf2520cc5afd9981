from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from csad.data.own.label_columns import Label, bias_label, bias_unit, target_label, target_unit
from csad.data.own.preprocessor import Unit
from csad.data.pairs import near_bias
from csad.data.samples import Classes, Number
from csad.data.tables.table import CategoryColumn, ColumnTable, NumberColumn
from tests.support.messages import refused
from tests.support.word_columns import words

AGES = np.arange(18, 80, dtype=np.float64)
TABLE = ColumnTable(Path("people.csv"), {}, len(AGES))


def bias(column: NumberColumn | CategoryColumn, bins: Any = None, widths: Any = None) -> Label:
    return bias_label(TABLE, "age", column, bins or {}, widths or {})


def test_a_target_is_classes_or_where_there_are_many_numbers_a_number() -> None:
    found = target_label(TABLE, "y", words("b", "a", "b"), "")
    assert (found.kind, found.values.tolist()) == (Classes(2, ("a", "b")), [1, 0, 1])
    assert target_label(TABLE, "y", NumberColumn(AGES[:20]), "").kind == Classes(20, tuple(map(str, range(18, 38))))
    many = target_label(TABLE, "y", NumberColumn(AGES[:21]), "")
    assert many.kind == Number()
    assert many.about.startswith("target: a number, because it has 21 different values; ")
    assert target_label(TABLE, "y", NumberColumn(AGES[:3]), "number").kind == Number()
    assert target_label(TABLE, "y", NumberColumn(AGES), "class").kind == Classes(62, tuple(map(str, range(18, 80))))


def test_a_bias_of_words_or_few_numbers_is_classes_and_may_be_unknown() -> None:
    found = bias(words("m", "", "f"))
    assert (found.kind, found.values.tolist()) == (Classes(2, ("f", "m")), [1, -1, 0])
    np.testing.assert_array_equal(found.known(), [1, np.nan, 0])
    few = bias(NumberColumn(np.array([30, np.nan, 20.0])))
    assert (few.kind, few.values.tolist()) == (Classes(2, ("20", "30")), [1, -1, 0])


def test_numbers_with_signs_about_them_are_too_many_classes_and_told_how_to_be_numbers() -> None:
    pay = words(*(f"{k},500" for k in range(10, 111)))
    for call in (lambda: target_label(TABLE, "y", pay, ""), lambda: bias(pay)):
        with refused("too-many-classes") as caught:
            call()
        assert "; if '10,500' means 10500, write " in caught.value.facts["advice"]


def test_bins_hold_their_lower_edge_and_those_without_a_row_do_not_count() -> None:
    found = bias(NumberColumn(np.array([0, 29.9, 30, 44, 60, 99, np.nan])), bins={"age": (0, 30, 45, 60)})
    assert found.kind == Classes(3, ("0 to <30", "30 to <45", "≥60"))
    assert found.values.tolist() == [0, 0, 1, 1, 2, 2, -1]
    assert bias(NumberColumn(np.array([-1.0, 5])), bins={"age": (0, 30)}).kind == Classes(2, ("<0", "0 to <30"))


def test_a_width_makes_a_number_whose_distances_stay_what_they_are() -> None:
    found = bias(NumberColumn(AGES), widths={"age": 5})
    unit = bias_unit(found.values)
    assert unit == Unit(48, 16)
    scaled = torch.tensor(unit.scaled(found.values), dtype=torch.float32)[:, None]
    wanted = np.abs(AGES[:, None] - AGES) <= 5
    np.testing.assert_array_equal(near_bias(scaled, (found.tolerance(unit),)).numpy(), wanted)


def test_numbers_in_tenths_are_as_far_apart_as_they_are_written() -> None:
    tenths = np.arange(180, 420)
    found = bias(NumberColumn(tenths / 10), widths={"age": 0.5})
    unit = bias_unit(found.values)
    scaled = torch.tensor(unit.scaled(found.values), dtype=torch.float32)[:, None]
    wanted = np.abs(tenths[:, None] - tenths) <= 5
    np.testing.assert_array_equal(near_bias(scaled, (found.tolerance(unit),)).numpy(), wanted)


def test_units_do_without_a_spread_or_a_value() -> None:
    assert bias_unit(np.array([np.nan, 7.0])) == Unit(7, 1)
    assert bias_unit(np.array([np.nan])) == Unit(0, 1)
    assert target_unit(np.array([1.0, 3.0])) == Unit(2, 1)
    assert target_unit(np.array([2.0])) == Unit(2, 1)


def test_numbers_are_split_in_five_parts_of_equal_size() -> None:
    strata = Label("age", Number(), np.append(np.arange(100.0), np.nan), "").strata()
    assert np.bincount(strata[:-1]).tolist() == [20] * 5
    assert strata[-1] == -1
