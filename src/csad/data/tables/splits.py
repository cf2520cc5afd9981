"""Which rows of a table are trained, validated and tested on: as a column says, or drawn; a group is in one split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csad.data.split import SPLITS, check_fractions, drawn_parts
from csad.data.tables.columns import Column, Ids, Numbers, Table, Whole, Words, keys_of, named
from csad.errors import InputError

Parts = dict[str, Whole]
FEWEST = 50  # validation rows by which anything can be chosen


def given_parts(table: Table, name: str, column: Column) -> Parts:
    """The rows of each split, as a column says."""
    allowed = f"train, validation or test (column '{name}' of {table.path})"
    missing = int(column.missing().sum())
    if missing:
        raise InputError(f"Every row must say whether it is for {allowed}, but {missing:,} do not.")
    if not isinstance(column, Numbers | Words):
        raise InputError(f"Every row must say whether it is for {allowed}, but other values are there.")
    codes, words = named(column)
    wrong = [word for word in words if word.lower() not in SPLITS]
    if wrong:
        raise InputError(f"Every row must say whether it is for {allowed}, but {wrong[0]!r} is there.")
    homes = np.array([SPLITS.index(word.lower()) for word in words])[codes]
    if not (homes == 0).any():
        raise InputError(f"No row whose target is known is for 'train' (column '{name}' of {table.path}).")
    return {split: np.flatnonzero(homes == k) for k, split in enumerate(SPLITS) if (homes == k).any()}


def validation_drawn(parts: Parts, cells: Whole, groups: Whole | None, fractions: Sequence[float], seed: int) -> Parts:
    """The same, with validation rows, or groups, drawn from those trained on as ``fractions`` say, each cell alike.

    Nothing is drawn where a column tells of some, where fewer than ``FEWEST`` would be, which would tell nothing, and
    where there are too few groups to spare one.
    """
    check_fractions(fractions)
    trained, share = parts["train"], fractions[1] / (fractions[0] + fractions[1])
    own = None if groups is None else np.unique(groups[trained], return_inverse=True)[1]
    units = len(trained) if own is None else int(own.max()) + 1
    if "validation" in parts or len(trained) * share < FEWEST or not 0 < round(units * share) < units:
        return parts
    drawn = drawn_parts(cells[trained], own, (fractions[0], fractions[1], 0), seed)
    return {"train": trained[drawn["train"]], "validation": trained[drawn["validation"]]} | {
        split: rows for split, rows in parts.items() if split != "train"
    }


def groups_of(table: Table, name: str, column: Column) -> Whole:
    """The number of each row's group."""
    missing = int(column.missing().sum())
    if missing:
        raise InputError(f"Column '{name}' of {table.path} says who a row belongs to, but {missing:,} rows lack it.")
    if isinstance(column, Ids) and column.what != "words":
        raise InputError(f"Column '{name}' of {table.path} cannot say who a row belongs to: it holds {column.what}.")
    return keys_of(column)


def check_apart(name: str, column: Column, groups: Whole, parts: Parts) -> None:
    """Nothing, or an error where a group has rows in two splits."""
    home: dict[str, set[int]] = {split: set(groups[rows].tolist()) for split, rows in parts.items()}
    splits = list(home)
    for k, split in enumerate(splits):
        for other in splits[k + 1 :]:
            both = home[split] & home[other]
            if both:
                who = _called(column, groups, min(both))
                raise InputError(
                    f"{who} of column '{name}' has rows in '{split}' and in '{other}': a group belongs in one split."
                )


def _called(column: Column, groups: Whole, group: int) -> str:
    row = int(np.argmax(groups == group))
    if not isinstance(column, Numbers | Words):
        return f"The group of row {row + 1}"
    one = column.take(np.array([row]))
    return f"Group {named(one)[1][0]!r}"
