from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.own.labeled_table import check_apart, groups_of, parts_in_column, with_validation
from csad.data.tables.table import ColumnTable, DateColumn, HighCardinalityColumn, NumberColumn
from tests.support.messages import Refusal, refused
from tests.support.word_columns import words

TABLE = ColumnTable(Path("people.csv"), {}, 4)
THREE = (0.7, 0.1, 0.2)


def test_a_column_may_say_the_split_in_any_letters() -> None:
    parts = parts_in_column(TABLE, "fold", words("Train", "test", "TRAIN", "train"))
    assert {name: rows.tolist() for name, rows in parts.items()} == {"train": [0, 2, 3], "test": [1]}


def test_validation_rows_are_drawn_where_a_column_names_none() -> None:
    cells = np.arange(500) % 2
    parts = {"train": np.arange(400), "test": np.arange(400, 500)}
    whole = with_validation(parts, cells, None, THREE, 0)
    assert list(whole) == ["train", "validation", "test"]
    assert sorted([*whole["train"].tolist(), *whole["validation"].tolist()]) == list(range(400))
    assert np.bincount(cells[whole["validation"]]).tolist() == [25, 25]  # a tenth is an eighth of what is not tested
    assert whole["test"].tolist() == parts["test"].tolist()


def test_validation_rows_are_drawn_by_group() -> None:
    groups = np.repeat(np.arange(50), 10)[::-1]
    whole = with_validation({"train": np.arange(400), "test": np.arange(400, 500)}, 0 * groups, groups, THREE, 0)
    homes = [set(groups[rows].tolist()) for rows in whole.values()]
    assert [len(home) for home in homes] == [35, 5, 10]
    assert not homes[0] & homes[1]


def test_no_validation_rows_are_drawn_from_too_few_groups() -> None:
    groups = np.arange(400) % 3
    parts = {"train": np.arange(400)}
    assert with_validation(parts, 0 * groups, groups, THREE, 0) is parts


@pytest.mark.parametrize(
    ("parts", "fractions"),
    [
        ({"train": np.arange(400), "validation": np.arange(400, 402)}, THREE),
        ({"train": np.arange(400)}, (0.8, 0, 0.2)),
        ({"train": np.arange(399)}, THREE),
    ],
)
def test_no_validation_rows_are_drawn(parts: Any, fractions: Any) -> None:
    assert with_validation(parts, np.zeros(500, np.int64), None, fractions, 0) is parts


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (
            words("train", "dev"),
            Refusal(
                "unknown-split-value", allowed="train, validation or test (column 'fold' of people.csv)", value="dev"
            ),
        ),
        (words("train", ""), Refusal("split-missing-in-rows", missing=1)),
        (words("test", "validation"), Refusal("split-without-training-rows")),
        (NumberColumn(np.array([0.0, 1.0])), Refusal("unknown-split-value", value=0)),
        (DateColumn({"ISO": np.array([0.0, 1.0])}), Refusal("split-column-other-values")),
    ],
)
def test_other_values_in_a_column_of_splits_are_told(column: Any, complaint: Refusal) -> None:
    with refused(complaint):
        parts_in_column(TABLE, "fold", column)


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (
            NumberColumn(np.array([1.0, np.nan])),
            Refusal("group-missing-in-rows", column="who", file="people.csv", missing=1),
        ),
        (
            HighCardinalityColumn(np.ones(2, np.int64), what="list<double>"),
            Refusal("group-column-unusable", column="who", kind="list<double>"),
        ),
    ],
)
def test_a_group_must_be_known_in_every_row(column: Any, complaint: Refusal) -> None:
    with refused(complaint):
        groups_of(TABLE, "who", column)


@pytest.mark.parametrize(
    ("column", "called"),
    [
        (NumberColumn(np.array([7.0, 8.0, 7.0])), "Group '7'"),
        (words("ann", "bob", "ann"), "Group 'ann'"),
        (HighCardinalityColumn(np.array([5, 6, 5])), "The group of row 1"),
    ],
)
def test_a_group_in_two_splits_is_told(column: Any, called: str) -> None:
    groups = groups_of(TABLE, "who", column)
    apart = {"train": np.array([0, 2]), "test": np.array([1])}
    check_apart("who", column, groups, apart)
    with refused("group-in-two-splits", group=called, column="who", split="train", other_split="test"):
        check_apart("who", column, groups, {"train": np.array([0, 1]), "test": np.array([2])})
