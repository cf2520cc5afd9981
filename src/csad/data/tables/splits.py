"""Which rows of a table are trained, validated and tested on: as a column says, or drawn; a group is in one split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csad.data.arrays import SPLITS
from csad.data.split import generator_for, stratified
from csad.data.tables.columns import Column, Ids, Numbers, Table, Whole, Words, keys_of, named
from csad.errors import InputError

Parts = dict[str, Whole]
FEWEST = 50  # validation rows by which anything can be chosen


def drawn_parts(cells: Whole, groups: Whole | None, fractions: Sequence[float], seed: int) -> Parts:
    """The rows of each split; every cell (n,) is split alike. With ``groups``, it is these that are drawn.

    A group counts to the cell of its first row. Groups are numbered from 0 in the order in which they come.
    """
    _check_fractions(fractions)
    units = cells if groups is None else cells[np.unique(groups, return_index=True)[1]]
    held = [round(len(units) * share / sum(fractions)) for share in fractions[1:]]
    sizes = (len(units) - sum(held), *held)
    if any(size <= 0 < share for size, share in zip(sizes, fractions, strict=True)):
        what = "rows" if groups is None else "groups"
        raise InputError(
            f"{len(units)} {what} are too few for fractions {tuple(fractions)}: give others, or more rows."
        )
    parts = stratified(units, sizes, generator_for(seed, "split"))
    rows = parts if groups is None else [np.flatnonzero(np.isin(groups, part)) for part in parts]
    return {name: part for name, part in zip(SPLITS, rows, strict=True) if len(part)}


def _check_fractions(fractions: Sequence[float]) -> None:
    if len(fractions) != 3 or min(fractions) < 0 or not fractions[0] > 0 or not np.isfinite(sum(fractions)):
        raise InputError(f"fractions must be three shares for train, validation and test, not {tuple(fractions)}.")


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
    _check_fractions(fractions)
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
