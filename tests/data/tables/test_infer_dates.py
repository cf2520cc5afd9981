from __future__ import annotations

from pathlib import Path

import pytest

from csad.data.tables.infer import days_of
from csad.data.tables.read_table import read_table_file
from csad.data.tables.table import ISO, CategoryColumn, Column, DateColumn, date_words


def column(folder: Path, *words: str) -> Column:
    path = folder / "dates.csv"
    path.write_text("day|n\n" + "".join(f"{word}|1\n" for word in words))
    return read_table_file(path)["day"]


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("1970-01-03", ISO),
        ("1970-01-03T00:00:00Z", ISO),
        ("1970-01-03T02:00:00+02:00", ISO),
        ("3.1.1970", "%d.%m.%Y"),
        ("03/01/1970", "%d/%m/%Y"),
        ("01/03/1970", "%m/%d/%Y"),
        ("1970/01/03 00:00", "%Y/%m/%d %H:%M"),
        ("3 Jan 1970", "%d %b %Y"),
        ("Jan 3, 1970", "%b %d, %Y"),
    ],
)
def test_a_date_is_days_since_1970_however_it_is_written(word: str, form: str) -> None:
    assert days_of([word], form) == {word: 2}


def test_hours_are_parts_of_a_day_and_what_is_no_date_is_none() -> None:
    assert days_of(["1970-01-02 18:00:00"], ISO) == {"1970-01-02 18:00:00": 1.75}
    assert days_of(["1970-01-02", "soon"], ISO) is None
    assert date_words("%d/%m/%Y %H:%M") == "day/month/year hours:minutes"


def test_one_date_may_tell_whether_the_day_or_the_month_comes_first(tmp_path: Path) -> None:
    day_first, month_first = (
        column(tmp_path, "01/02/2020", "", "13/02/2020"),
        column(tmp_path, "01/02/2020", "02/13/2020"),
    )
    both = column(tmp_path, "01/02/2020", "03/04/2020")
    assert isinstance(day_first, DateColumn)
    assert isinstance(month_first, DateColumn)
    assert isinstance(both, DateColumn)
    assert list(day_first.days) == ["%d/%m/%Y"]
    assert day_first.missing().tolist() == [False, True, False]
    assert list(month_first.days) == ["%m/%d/%Y"]
    assert list(both.days) == ["%d/%m/%Y", "%m/%d/%Y"]
    assert both.format == "%d/%m/%Y"


def test_two_ways_to_write_a_date_in_one_column_are_words(tmp_path: Path) -> None:
    assert isinstance(column(tmp_path, "2020-01-02", "01.02.2020"), CategoryColumn)
    assert isinstance(column(tmp_path, "2020-01-02", "7"), CategoryColumn)
