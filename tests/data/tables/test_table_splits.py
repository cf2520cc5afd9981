from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from word_columns import words

from csad.data.tables.columns import Dates, Ids, Numbers, Table
from csad.data.tables.splits import check_apart, given_parts, groups_of, validation_drawn
from csad.errors import InputError

TABLE = Table(Path("people.csv"), {}, 4)
THREE = (0.7, 0.1, 0.2)


def test_a_column_may_say_the_split_in_any_letters() -> None:
    parts = given_parts(TABLE, "fold", words("Train", "test", "TRAIN", "train"))
    assert {name: rows.tolist() for name, rows in parts.items()} == {"train": [0, 2, 3], "test": [1]}


def test_validation_rows_are_drawn_where_a_column_names_none() -> None:
    cells = np.arange(500) % 2
    parts = {"train": np.arange(400), "test": np.arange(400, 500)}
    whole = validation_drawn(parts, cells, None, THREE, 0)
    assert list(whole) == ["train", "validation", "test"]
    assert sorted([*whole["train"].tolist(), *whole["validation"].tolist()]) == list(range(400))
    assert np.bincount(cells[whole["validation"]]).tolist() == [25, 25]  # a tenth is an eighth of what is not tested
    assert whole["test"].tolist() == parts["test"].tolist()


def test_validation_rows_are_drawn_by_group() -> None:
    groups = np.repeat(np.arange(50), 10)[::-1]
    whole = validation_drawn({"train": np.arange(400), "test": np.arange(400, 500)}, 0 * groups, groups, THREE, 0)
    homes = [set(groups[rows].tolist()) for rows in whole.values()]
    assert [len(home) for home in homes] == [35, 5, 10]
    assert not homes[0] & homes[1]


def test_no_validation_rows_are_drawn_from_too_few_groups() -> None:
    groups = np.arange(400) % 3
    parts = {"train": np.arange(400)}
    assert validation_drawn(parts, 0 * groups, groups, THREE, 0) is parts


@pytest.mark.parametrize(
    ("parts", "fractions"),
    [
        ({"train": np.arange(400), "validation": np.arange(400, 402)}, THREE),
        ({"train": np.arange(400)}, (0.8, 0, 0.2)),
        ({"train": np.arange(399)}, THREE),
    ],
)
def test_no_validation_rows_are_drawn(parts: Any, fractions: Any) -> None:
    assert validation_drawn(parts, np.zeros(500, np.int64), None, fractions, 0) is parts


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (words("train", "dev"), r"train, validation or test \(column 'fold' of people.csv\), but 'dev' is there"),
        (words("train", ""), "but 1 do not"),
        (words("test", "validation"), "No row whose target is known is for 'train'"),
        (Numbers(np.array([0.0, 1.0])), "but '0' is there"),
        (Dates({"ISO": np.array([0.0, 1.0])}), "but other values are there"),
    ],
)
def test_other_values_in_a_column_of_splits_are_told(column: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        given_parts(TABLE, "fold", column)


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (Numbers(np.array([1.0, np.nan])), "'who' of people.csv says who a row belongs to, but 1 rows lack it"),
        (Ids(np.ones(2, np.int64), what="list<double>"), "cannot say who a row belongs to: it holds list<double>"),
    ],
)
def test_a_group_must_be_known_in_every_row(column: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        groups_of(TABLE, "who", column)


@pytest.mark.parametrize(
    ("column", "called"),
    [
        (Numbers(np.array([7.0, 8.0, 7.0])), "Group '7'"),
        (words("ann", "bob", "ann"), "Group 'ann'"),
        (Ids(np.array([5, 6, 5])), "The group of row 1"),
    ],
)
def test_a_group_in_two_splits_is_told(column: Any, called: str) -> None:
    groups = groups_of(TABLE, "who", column)
    apart = {"train": np.array([0, 2]), "test": np.array([1])}
    check_apart("who", column, groups, apart)
    with pytest.raises(InputError, match=f"{called} of column 'who' has rows in 'train' and in 'test'"):
        check_apart("who", column, groups, {"train": np.array([0, 1]), "test": np.array([2])})
