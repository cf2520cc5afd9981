from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.own.fit_preprocessor import fit_inputs
from csad.data.own.preprocessor import CategoryEncoder, NumberEncoder, Preprocessor, Unit
from csad.data.tables.read_table import read_table_file
from csad.data.tables.table import ColumnTable
from tests.support.csv_tables import write_table
from tests.support.messages import Refusal, noticed, refused

COLUMNS: dict[str, list[Any]] = {
    "age": [20, 40, 60, None, 20, 40],
    "city": ["Rome", "Oslo", "Rome", "Lima", None, "Oslo"],
    "smokes": ["yes", "no", "yes", "no", "yes", "no"],
    "seen": [f"{day:02d}/01/2020" for day in (1, 2, 3, 4, 5, 13)],
}


@pytest.fixture
def table(tmp_path: Path) -> ColumnTable:
    return read_table_file(write_table(tmp_path, COLUMNS))


@pytest.fixture
def fitted(table: ColumnTable) -> Preprocessor:
    return fit_inputs(table, list(COLUMNS), np.arange(6)).preprocessor


def read(folder: Path, **columns: list[Any]) -> ColumnTable:
    return read_table_file(write_table(folder, columns, "new.csv"))


def test_a_table_becomes_standardised_numbers_and_zeros_and_ones(table: ColumnTable, fitted: Preprocessor) -> None:
    x = fitted.apply(table)
    assert x.dtype == np.float32
    assert fitted.names() == (
        "age", "age missing", "city=Lima", "city=Oslo", "city=Rome", "city missing", "smokes=yes", "seen",
    )  # fmt: skip
    known = np.array([20, 40, 60, 20, 40])
    ages = np.array([20, 40, 60, 40, 20, 40])  # the median for the missing one
    np.testing.assert_allclose(x[:, 0], (ages - known.mean()) / known.std(), rtol=1e-6)
    assert x[:, 1].tolist() == [0, 0, 0, 1, 0, 0]
    assert x[:, 2:6].tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    assert x[:, 6].tolist() == [1, 0, 1, 0, 1, 0]
    days = np.array([1, 2, 3, 4, 5, 13])
    np.testing.assert_allclose(x[:, 7], (days - days.mean()) / days.std(), rtol=1e-6)
    np.testing.assert_array_equal(fitted.apply(table, np.array([4, 1])), x[[4, 1]])


def test_through_json_a_preparation_gives_identical_arrays(table: ColumnTable, fitted: Preprocessor) -> None:
    again = Preprocessor.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again == fitted
    assert again.apply(table).tobytes() == fitted.apply(table).tobytes()


def test_columns_may_be_in_any_order_and_others_are_ignored(
    table: ColumnTable, fitted: Preprocessor, tmp_path: Path
) -> None:
    turned = read(tmp_path, other=["z"] * 6, **dict(reversed(COLUMNS.items())))
    np.testing.assert_array_equal(fitted.apply(turned), fitted.apply(table))


def test_a_column_that_is_missing_is_told_with_the_nearest_name(fitted: Preprocessor, tmp_path: Path) -> None:
    columns = {"Age" if name == "age" else name: cells for name, cells in COLUMNS.items()}
    with refused("unknown-column", column="age", advice="Nearest: Age."):
        fitted.apply(read(tmp_path, **columns))


def test_unknown_words_are_none_of_the_known_ones_and_are_told(fitted: Preprocessor, tmp_path: Path) -> None:
    new = read(tmp_path, age=[None] * 3, city=["Paris", "Oslo", "Bonn"], smokes=["no", "perhaps", None], seen=["?"] * 3)
    x = fitted.apply(new)
    assert x[:, 1].tolist() == [1, 1, 1]
    assert x[:, 2:7].tolist() == [[0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert np.isfinite(x).all()
    city, smokes, *missing = fitted.notices(new)
    assert noticed([city], "values-unknown-to-model", column="city", rows=2, values="'Bonn', 'Paris'")
    assert noticed([smokes], "values-unknown-to-model", column="smokes", rows=1, values="'perhaps'")
    assert len(missing) == 3
    for notice, column, rows in zip(missing, ("age", "smokes", "seen"), (3, 1, 3), strict=True):
        assert noticed([notice], "input-column-missing-values", column=column, rows=rows)


def test_a_table_of_one_row_is_prepared_as_it_would_be_among_others(
    table: ColumnTable, fitted: Preprocessor, tmp_path: Path
) -> None:
    for row in range(6):
        one = read(tmp_path, **{name: [cells[row]] for name, cells in COLUMNS.items()})
        np.testing.assert_array_equal(fitted.apply(one), fitted.apply(table)[row : row + 1])


def test_words_that_read_like_numbers_are_known_again_where_all_do(tmp_path: Path) -> None:
    mixed = read(tmp_path, rooms=["1", "2", "3+", "2", "1.0"], n=[1, 2, 3, 4, 9])
    fitted = fit_inputs(mixed, ["rooms"], np.arange(5)).preprocessor
    assert fitted.names() == ("rooms=1", "rooms=2", "rooms=3+")
    assert fitted.apply(read(tmp_path, rooms=["2", "1"], n=[0, 0])).tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"age": ["1", "old"]}, Refusal("column-kind-changed", column="age", expected="numbers")),
        ({"age": ["2020-01-01"] * 2}, Refusal("column-kind-changed", expected="numbers", found="other dates")),
        (
            {"seen": ["5", "6"]},
            Refusal("column-kind-changed", expected="dates written day/month/year", found="numbers"),
        ),
        (
            {"seen": ["01/13/2020"] * 2},
            Refusal("column-kind-changed", expected="dates written day/month/year", found="other dates"),
        ),
        ({"seen": ["soon"] * 2}, Refusal("column-kind-changed")),
        (
            {"city": ["2020-01-01"] * 2},
            Refusal("column-kind-changed", column="city", expected="Lima, Oslo, Rome", found="dates"),
        ),
    ],
)
def test_a_column_of_another_kind_than_in_training_is_told(
    fitted: Preprocessor, tmp_path: Path, changed: dict[str, list[Any]], complaint: Refusal
) -> None:
    first = {name: cells[:2] for name, cells in COLUMNS.items()}
    with refused(complaint):
        fitted.apply(read(tmp_path, **(first | changed)))


def test_dates_that_could_be_read_in_two_ways_are_read_as_in_training(fitted: Preprocessor, tmp_path: Path) -> None:
    first = {name: cells[:1] for name, cells in COLUMNS.items()}
    x = fitted.apply(read(tmp_path, **(first | {"seen": ["05/01/2020"]})))
    assert x[0, 7] == pytest.approx((5 - 28 / 6) / np.std([1, 2, 3, 4, 5, 13]))


def test_a_number_far_out_stays_finite(table: ColumnTable) -> None:
    tight = Preprocessor((NumberEncoder("age", 0.0, 1e-40, 0.0),))
    assert np.isfinite(tight.apply(table)).all()


def test_a_target_is_restored_from_its_unit() -> None:
    unit = Unit(50.0, 4.0)
    assert unit.restored(unit.scaled(np.array([42.0, 50.0, 51.0]))).tolist() == [42, 50, 51]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"version": 2, "columns": [], "target": {}},
        {"version": 1, "columns": [{"kind": "number", "name": "a"}], "target": {}},
        {"version": 1, "columns": [{"kind": "words", "column": "a"}], "target": {}},
        {"version": 1, "columns": ["a"], "target": {}},
        {"version": 1, "columns": [], "target": {"median": 3}},
    ],
)
def test_what_is_no_preparation_is_an_input_error(values: dict[str, Any]) -> None:
    with refused("preparation-damaged", inputs="table"):
        Preprocessor.from_dict(values)


def test_names_of_a_yes_or_no_and_of_a_constant_with_gaps() -> None:
    assert CategoryEncoder("a", ("yes",), ("no",), True).names() == ("a=yes", "a missing")
    assert NumberEncoder("a", 1, 0, 1, missing=True).names() == ("a missing",)
