from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.tables.columns import Dates, Ids, Numbers, Table, Words
from csad.data.tables.splits import check_apart, drawn_parts, given_parts, groups_of, validation_drawn
from csad.errors import InputError

TABLE = Table(Path("people.csv"), {}, 4)
THREE = (0.7, 0.1, 0.2)


def words(*cells: str) -> Words:
    kinds = list(dict.fromkeys(cell for cell in cells if cell))
    return Words(np.array([kinds.index(cell) if cell else -1 for cell in cells], np.int32), tuple(kinds))


def test_every_cell_is_split_alike() -> None:
    cells = np.repeat([0, 1], (80, 20))
    parts = drawn_parts(cells, None, THREE, 0)
    assert {name: np.bincount(cells[rows]).tolist() for name, rows in parts.items()} == {
        "train": [56, 14],
        "validation": [8, 2],
        "test": [16, 4],
    }
    assert sorted(np.concatenate([*parts.values()]).tolist()) == list(range(100))
    assert drawn_parts(cells, None, THREE, 0)["test"].tolist() == parts["test"].tolist()
    assert drawn_parts(cells, None, THREE, 1)["test"].tolist() != parts["test"].tolist()
    assert list(drawn_parts(cells, None, (1, 0, 0), 0)) == ["train"]


def test_a_group_is_in_one_split_and_cells_of_groups_are_split_alike() -> None:
    groups = np.repeat(np.arange(40), 3)
    cells = np.repeat([0, 1], 60)
    parts = drawn_parts(cells, groups, (0.5, 0.25, 0.25), 0)
    homes = [set(groups[rows].tolist()) for rows in parts.values()]
    assert [len(home) for home in homes] == [20, 10, 10]
    assert len(set.union(*homes)) == 40
    assert all(np.bincount(cells[rows]).tolist() == [len(rows) // 2] * 2 for rows in parts.values())


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


@pytest.mark.parametrize("fractions", [(0.7, 0.3), (0, 0.5, 0.5), (1.2, -0.1, -0.1), (float("nan"), 0.1, 0.1)])
def test_fractions_must_be_three_shares(fractions: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="fractions must be three shares"):
        drawn_parts(np.zeros(10, np.int64), None, fractions, 0)


def test_too_few_rows_or_groups_are_told() -> None:
    with pytest.raises(InputError, match="3 rows are too few for fractions"):
        drawn_parts(np.zeros(3, np.int64), None, THREE, 0)
    with pytest.raises(InputError, match="2 groups are too few for fractions"):
        drawn_parts(np.zeros(30, np.int64), np.arange(30) % 2, THREE, 0)
