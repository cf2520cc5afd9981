"""Adult's two files as one table: its columns and rows, and what is said of a file that is odd."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csad.data.datasets.adult import COLUMNS, FIELDS, HEADER, AdultTable, read_adult, read_file
from csad.errors import InputError
from tests.support.adult_files import ROW, row, written
from tests.support.messages import refused


def test_there_are_41_columns_in_the_order_of_the_protocol() -> None:
    assert len(COLUMNS) == len(set(COLUMNS)) == 41
    starts = {0: "age", 1: "education-num", 2: "capital-gain", 3: "capital-loss", 4: "hours-per-week"}
    starts |= {5: "workclass_Federal-gov", 11: "workclass_Without-pay", 12: "marital-status_Divorced"}
    starts |= {18: "marital-status_Widowed", 19: "occupation_Adm-clerical", 32: "occupation_Transport-moving"}
    starts |= {33: "relationship_Husband", 38: "relationship_Wife", 39: "sex_Male", 40: "race_White"}
    assert {place: COLUMNS[place] for place in starts} == starts


def test_the_counts_are_those_of_the_protocol(adult_table: AdultTable) -> None:
    assert adult_table.x.shape == (45_222, 41)
    assert adult_table.x.dtype == np.float32
    assert adult_table.y.sum() == 11_208
    found = {
        (g, r): np.bincount(adult_table.y[(adult_table.x[:, 39:] == (g, r)).all(1)]).tolist()
        for g in (0, 1)
        for r in (0, 1)
    }
    assert found == {(1, 1): [18_268, 8752], (0, 1): [10_428, 1455], (1, 0): [2720, 787], (0, 0): [2598, 214]}


def test_rows_read_by_eye_are_in_their_columns(adult_table: AdultTable) -> None:
    first_of_test = 30_162  # that many rows of adult.data are kept
    by_eye = {
        # 39, State-gov, …, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, …, <=50K
        0: ({0: 39, 1: 13, 2: 2174, 4: 40, 10: 1, 16: 1, 19: 1, 34: 1, 39: 1, 40: 1}, 0),
        # 28, Private, …, 13, Married-civ-spouse, Prof-specialty, Wife, Black, Female, 0, 0, 40, Cuba, <=50K
        4: ({0: 28, 1: 13, 4: 40, 7: 1, 14: 1, 28: 1, 38: 1}, 0),
        # 25, Private, …, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, …, <=50K.
        first_of_test: ({0: 25, 1: 7, 4: 40, 7: 1, 16: 1, 25: 1, 36: 1, 39: 1}, 0),
        # 35, Self-emp-inc, …, 13, Married-civ-spouse, Exec-managerial, Husband, White, Male, 0, 0, 60, …, >50K.
        45_221: ({0: 35, 1: 13, 4: 60, 8: 1, 14: 1, 22: 1, 33: 1, 39: 1, 40: 1}, 1),
    }
    for number, (columns, income) in by_eye.items():
        assert {place: value for place, value in enumerate(adult_table.x[number].tolist()) if value} == columns
        assert adult_table.y[number] == income


def test_every_row_is_as_a_slow_reading_of_the_files_finds_it(adult_root: Path, adult_table: AdultTable) -> None:
    kept = []
    for name in ("adult.data", "adult.test"):
        with (adult_root / "adult" / name).open() as stream:
            for words in csv.DictReader(stream, FIELDS, skipinitialspace=True):
                if words["income"] and "?" not in (words["native-country"], words["occupation"]):
                    kept.append(words)
    assert len(kept) == len(adult_table.x)
    assert adult_table.y.tolist() == [int(words["income"].startswith(">")) for words in kept]
    for place, column in enumerate(COLUMNS):
        field, _, kind = column.partition("_")
        values = [float(words[field] == kind if kind else words[field]) for words in kept]
        assert adult_table.x[:, place].tolist() == values, column


def test_files_are_read_once_and_again_when_they_have_changed(tmp_path: Path) -> None:
    data = written(tmp_path, ROW)
    test = written(tmp_path, HEADER, f"{ROW}.", name="adult.test")
    first = read_adult(data, test)
    assert read_adult(data, test) is first
    with pytest.raises(ValueError, match="read-only"):
        first.x[0, 0] = 1
    written(tmp_path, ROW, row(age="17"))
    os.utime(data, ns=(1, 1))
    assert read_adult(data, test).x[:, 0].tolist() == [39, 17, 39]


def test_blanks_dots_and_empty_lines_do_not_matter_and_unknown_rows_are_dropped(tmp_path: Path) -> None:
    lines = ["", ROW.replace(", ", ","), "  ", f"  {ROW.replace(', ', ' ,  ')}. \r"]
    dropped = [row(native_country="?"), row(occupation="?", workclass="?"), row(occupation="?", age="?")]
    found = read_file(written(tmp_path, *dropped, *lines, *dropped))
    assert found.y.tolist() == [0, 0]
    assert found.x[0].tolist() == found.x[1].tolist()
    assert found.x[0, :5].tolist() == [39, 13, 2174, 0, 40]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (ROW.rpartition(",")[0], "14 columns in line 3 instead of 15"),
        (f"{ROW}, more", "16 columns in line 3 instead of 15"),
        ("\0\xff\xfe", "1 column in line 3 instead of 15"),
        (row(age="old"), "'old' as age in line 3, .* a whole number of at most 7 digits"),
        (row(age=""), "'' as age in line 3"),
        (row(capital_gain="nan"), "'nan' as capital-gain in line 3"),
        (row(capital_loss="-1"), "'-1' as capital-loss in line 3"),
        (row(hours_per_week="40.5"), r"'40\.5' as hours-per-week in line 3"),
        (row(education_num="²"), "'²' as education-num in line 3"),
        (row(age="9" * 5000), r"'9+\.\.\.9+' as age in line 3"),
        (row(workclass="?"), r"'\?' as workclass in line 3, .* one of Federal-gov, Local-gov, "),
        (row(workclass="Never-worked"), "'Never-worked' as workclass in line 3"),
        (row(marital_status="Divorcé"), "'Divorcé' as marital-status in line 3, .* one of Divorced, "),
        (row(occupation="Sailor"), "'Sailor' as occupation in line 3"),
        (row(relationship="husband"), "'husband' as relationship in line 3"),
        (row(race="Whit\x85e"), r"'Whit\\x85e' as race in line 3"),
        (row(sex="M"), "'M' as sex in line 3, .* one of Female, Male$"),
        (row(income="50K"), "'50K' as income in line 3, .* one of <=50K, >50K$"),
    ],
)
def test_a_row_that_is_wrong_is_named_with_its_line_and_what_to_do(tmp_path: Path, line: str, complaint: str) -> None:
    path = written(tmp_path, ROW, row(occupation="?"), line, ROW)
    with refused("file-damaged", file=path) as error:
        read_file(path)
    assert re.search(complaint, error.value.facts["problem"])
    said = str(error.value)
    assert len(said) < 400 + len(str(path))
    assert "\n" not in said


@pytest.mark.parametrize(
    ("lines", "found"), [((), "''"), (("", HEADER), "''"), ((ROW,), r"'39, State-go\.\.\."), (("|1x4",), r"'\|1x4'")]
)
def test_another_first_line_of_adult_test_is_told(tmp_path: Path, lines: tuple[str, ...], found: str) -> None:
    path = written(tmp_path, *lines, name="adult.test")
    with refused("file-damaged", file=path, problem=re.compile(rf"starts with {found}.* '\|1x3 Cross validator'")):
        read_file(path, HEADER)


@pytest.mark.parametrize("lines", [(), ("", " "), (row(occupation="?"),)])
def test_a_file_without_a_row_to_keep_is_told(tmp_path: Path, lines: tuple[str, ...]) -> None:
    with refused("file-damaged", problem="has no row with a known native country and occupation"):
        read_file(written(tmp_path, *lines))


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    missing = tmp_path / "adult.test"
    with refused("file-unreadable"):
        read_adult(written(tmp_path, ROW), missing)
    with refused("file-unreadable"):
        read_file(missing)
    with refused("file-unreadable", reason="Is a directory"):
        read_file(tmp_path)


@settings(deadline=None)
@given(place=st.integers(0, len(ROW)), cut=st.integers(0, 12), junk=st.binary(max_size=12))
def test_whatever_the_bytes_are_a_table_comes_back_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "adult-damaged.data"
    good = ROW.encode()
    path.write_bytes(good[:place] + junk + good[place + cut :])
    try:
        found = read_file(path)
    except InputError:
        return
    assert found.x.shape[1] == 41
    assert np.isfinite(found.x).all()
