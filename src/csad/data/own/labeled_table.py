"""A table with labels and splits: which column has which role, and which rows are for training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.own.label_columns import Label, bias_label, bias_unit, target_label, target_unit
from csad.data.own.preprocessor import FileRows, Preprocessor, Unit
from csad.data.pairs import Related
from csad.data.samples import Classes, Number, Samples, Task
from csad.data.splits import SPLITS, cells_of, check_fractions, draw_splits, fraction_notices
from csad.data.tables.read_table import read_table_file
from csad.data.tables.table import (
    CategoryColumn,
    Column,
    ColumnTable,
    HighCardinalityColumn,
    NumberColumn,
    Whole,
    keys_of,
    named,
    number_of,
)
from csad.errors import InputError, unknown
from csad.messages import message


class Roles(NamedTuple):
    """The columns with a role; all others are inputs, except those to ``drop``."""

    target: str
    bias: tuple[str, ...]
    drop: tuple[str, ...] = ()
    group: str = ""
    split: str = ""

    def check(self, measured: Iterable[str]) -> None:
        """Raise InputError if roles contradict one another; ``measured`` columns have bins or a width."""
        if not self.target:
            raise InputError("target-column-missing")
        if not self.bias:
            raise InputError("bias-column-missing")
        for names in (self.bias, self.drop):
            if twice := [name for name in names if names.count(name) > 1]:
                raise InputError("column-named-twice", column=twice[0])
        if self.target in self.bias:
            raise InputError("target-is-bias", column=self.target)
        if self.group and self.group == self.target:
            raise InputError("target-is-group", column=self.group)
        if self.split and self.split in (self.target, self.group, *self.bias):
            raise InputError("split-column-role-conflict", column=self.split)
        for name in self.drop:
            if name in (self.target, self.group, self.split, *self.bias):
                raise InputError("dropped-column-has-role", column=name)
        for name in measured:
            if name not in self.bias:
                raise unknown("bias", name, self.bias)

    def check_files(self, column: str, what: str, option: str) -> None:
        """Raise InputError if the column that names files, such as pictures, is missing or has another role."""
        if not column:
            raise InputError("file-column-missing", files=what.title(), option=option)
        if column in (self.target, self.group, self.split, *self.bias):
            raise InputError("file-column-role-conflict", column=column, files=what)

    def check_columns(self, table: ColumnTable) -> None:
        """Raise InputError if the table lacks one of the columns."""
        for name in (*self.bias, *self.drop):
            if name not in table.columns and (whole := table.with_part(name)):
                raise InputError("column-name-with-comma", column=name, file=table.path, nearest=whole)
        if self.split and self.split not in table.columns and self.split[0] in "-.0123456789":
            raise InputError("split-not-column-or-shares", split=self.split, file=table.path)
        for name in (self.target, *self.bias, *self.drop, self.group, self.split):
            if name:
                table[name]

    def inputs(self, table: ColumnTable, *, keep_bias: bool) -> list[str]:
        """The columns that x is made of."""
        apart = {self.target, self.group, self.split, *self.drop}
        apart |= set() if keep_bias else set(self.bias)
        return [name for name in table.columns if name not in apart]


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


Numbers = Mapping[str, tuple[float, ...]]


def numbers_by_column(
    option: str, values: Mapping[str, Sequence[float]] | Iterable[str], *, single: bool = False
) -> Numbers:
    """The numbers of each column, from a dict, or from words such as ``age=0,30,60``; a space may replace a comma."""
    if isinstance(values, Mapping):
        return {name: tuple(numbers) for name, numbers in values.items()}
    by_column: dict[str, tuple[float, ...]] = {}
    for word in values:
        name, _, text = word.rpartition("=")
        name = name.strip()
        if re.match(r"[^=]+=[-\d.,\s]+,[^=]+$", name):  # two columns in one word; a name may hold a = as well
            raise InputError("option-with-several-columns", option=option, example=word.split(",")[0], value=word)
        numbers = [number_of(part) for part in text.replace(",", " ").split()]
        known = tuple(number for number in numbers if number is not None)
        if not name or not known or len(known) < len(numbers) or (single and len(known) > 1):
            expected = "its number, such as age=5" if single else "its numbers, such as age=0,30,60"
            raise InputError("column-number-option-invalid", option=option, expected=expected, value=word)
        if name in by_column:
            raise InputError("option-column-twice", option=option, column=name)
        by_column[name] = known
    return by_column


def number_by_column(option: str, values: Mapping[str, float] | Iterable[str]) -> Mapping[str, float]:
    """The one number of each column, from a dict, or from words such as ``age=5``."""
    if isinstance(values, Mapping):
        return values
    return {name: numbers[0] for name, numbers in numbers_by_column(option, values, single=True).items()}


Parts = dict[str, Whole]
FEWEST = 50  # so many validation rows can decide a choice


def parts_in_column(table: ColumnTable, name: str, column: Column) -> Parts:
    """The rows of each split, as a column names them."""
    allowed = f"train, validation or test (column '{name}' of {table.path})"
    missing = int(column.missing().sum())
    if missing:
        raise InputError("split-missing-in-rows", allowed=allowed, missing=missing)
    if not isinstance(column, NumberColumn | CategoryColumn):
        raise InputError("split-column-other-values", allowed=allowed)
    codes, words = named(column)
    wrong = [word for word in words if word.lower() not in SPLITS]
    if wrong:
        raise InputError("unknown-split-value", allowed=allowed, value=wrong[0])
    homes = np.array([SPLITS.index(word.lower()) for word in words])[codes]
    if not (homes == 0).any():
        raise InputError("split-without-training-rows", column=name, file=table.path)
    return {split: np.flatnonzero(homes == k) for k, split in enumerate(SPLITS) if (homes == k).any()}


def with_validation(parts: Parts, cells: Whole, groups: Whole | None, fractions: Sequence[float], seed: int) -> Parts:
    """The same parts, with validation rows, or groups, drawn from the training rows as ``fractions`` say.

    Every cell is drawn alike. The parts stay as they are if they have validation rows, if fewer than ``FEWEST`` would
    be drawn, and if there are too few groups.
    """
    check_fractions(fractions)
    trained, share = parts["train"], fractions[1] / (fractions[0] + fractions[1])
    trained_groups = None if groups is None else np.unique(groups[trained], return_inverse=True)[1]
    units = len(trained) if trained_groups is None else int(trained_groups.max()) + 1
    if "validation" in parts or len(trained) * share < FEWEST or not 0 < round(units * share) < units:
        return parts
    drawn = draw_splits(cells[trained], trained_groups, (fractions[0], fractions[1], 0), seed)
    return {"train": trained[drawn["train"]], "validation": trained[drawn["validation"]]} | {
        split: rows for split, rows in parts.items() if split != "train"
    }


def groups_of(table: ColumnTable, name: str, column: Column) -> Whole:
    """The number of each row's group."""
    missing = int(column.missing().sum())
    if missing:
        raise InputError("group-missing-in-rows", column=name, file=table.path, missing=missing)
    if isinstance(column, HighCardinalityColumn) and column.what != "words":
        raise InputError("group-column-unusable", column=name, file=table.path, kind=column.what)
    return keys_of(column)


def check_apart(name: str, column: Column, groups: Whole, parts: Parts) -> None:
    """Raise InputError if a group has rows in two splits."""
    home: dict[str, set[int]] = {split: set(groups[rows].tolist()) for split, rows in parts.items()}
    splits = list(home)
    for k, split in enumerate(splits):
        for other in splits[k + 1 :]:
            both = home[split] & home[other]
            if both:
                who = _group_name(column, groups, min(both))
                raise InputError("group-in-two-splits", group=who, column=name, split=split, other_split=other)


def _group_name(column: Column, groups: Whole, group: int) -> str:
    row = int(np.argmax(groups == group))
    if not isinstance(column, NumberColumn | CategoryColumn):
        return f"The group of row {row + 1}"
    cell = column.take(np.array([row]))
    return f"Group {named(cell)[1][0]!r}"


class LabeledTable(NamedTuple):
    """A table, its rows with a known target, their labels, and which of them are in which split."""

    table: ColumnTable
    roles: Roles
    rows: Whole
    y: Label
    b: list[Label]
    groups: Whole | None
    parts: Parts
    notices: tuple[str, ...] = ()  # sentences on what the user may not expect of the splits

    def target_unit(self) -> Unit:
        """The unit in which the target is learned, from the training rows."""
        return target_unit(self.y.values[self.parts["train"]]) if isinstance(self.y.kind, Number) else Unit()

    def extra(self, part: Whole) -> dict[str, Any]:
        """Facts about these rows that no method sees: their numbers in the table, from 0, and their groups."""
        return {"row": self.rows[part]} | ({} if self.groups is None else {"group": self.groups[part]})


def read_labeled_table(
    path: str | Path,
    roles: Roles,
    *,
    fractions: Sequence[float],
    seed: int,
    bins: Mapping[str, Sequence[float]],
    widths: Mapping[str, float],
    target_kind: str,
) -> LabeledTable:
    """The table of a file with its labels and splits; the roles are checked before the file is read."""
    roles.check((*bins, *widths))
    table = read_table_file(path)
    roles.check_columns(table)
    rows = np.flatnonzero(~table[roles.target].missing())
    if not len(rows):
        raise InputError("target-missing-everywhere", column=roles.target, file=table.path)
    y = target_label(table, roles.target, table[roles.target].take(rows), target_kind)
    b = [bias_label(table, name, table[name].take(rows), bins, widths) for name in roles.bias]
    groups = groups_of(table, roles.group, table[roles.group].take(rows)) if roles.group else None
    cells = cells_of(*(label.strata() for label in (y, *b)))
    parts, notices = _parts(table, rows, roles, groups, cells, fractions, seed)
    return LabeledTable(table, roles, rows, y, b, groups, parts, notices)


def make_task(labeled: LabeledTable, shape: tuple[int, ...], target: Unit) -> tuple[NDArray[Any], NDArray[Any], Task]:
    """y (n,) and b (n, columns) as they are learned, numbers in units of the training rows, and the task."""
    y, b, trained = labeled.y, labeled.b, labeled.parts["train"]
    units = [bias_unit(label.values[trained]) if isinstance(label.kind, Number) else Unit() for label in b]
    numbers = any(isinstance(label.kind, Number) for label in b)
    # With a number among them, all columns of b are floats, in which NaN is unknown.
    columns = [unit.scaled(label.known()) if numbers else label.values for label, unit in zip(b, units, strict=True)]
    widths = tuple(label.tolerance(unit) for label, unit in zip(b, units, strict=True))
    task = Task(
        name=labeled.table.path.stem,
        shape=shape,
        target=y.kind,
        biases=tuple(_in_unit(label, unit) for label, unit in zip(b, units, strict=True)),
        bias_names=tuple(label.name for label in b),
        related=Related("near_bias", widths) if numbers else Related(),
    )
    targets = y.values if isinstance(y.kind, Classes) else target.scaled(y.values).astype(np.float32)
    biases = np.column_stack(columns)
    return targets, biases.astype(np.float32) if numbers else biases, task


def _in_unit(label: Label, unit: Unit) -> Classes | Number:
    return Number(unit.middle, unit.size) if isinstance(label.kind, Number) else label.kind


def _parts(
    table: ColumnTable,
    rows: Whole,
    roles: Roles,
    groups: Whole | None,
    cells: Whole,
    fractions: Sequence[float],
    seed: int,
) -> tuple[Parts, tuple[str, ...]]:
    """Which rows are in which split, and sentences on what the user may not expect of that."""
    if not roles.split:
        return draw_splits(cells, groups, fractions, seed), tuple(fraction_notices(fractions))
    parts = parts_in_column(table, roles.split, table[roles.split].take(rows))
    if groups is not None:
        check_apart(roles.group, table[roles.group].take(rows), groups, parts)
    whole = with_validation(parts, cells, groups, fractions, seed)
    if whole.keys() == parts.keys():
        return parts, ()
    drawn, total = len(whole["validation"]), len(parts["train"])
    return whole, (message("split-column-without-validation", column=roles.split, drawn=drawn, total=total),)


def splits_of_columns(
    labeled: LabeledTable, preprocessor: Preprocessor, shape: tuple[int, ...]
) -> tuple[dict[str, Samples], Task]:
    """The rows of each split, with x made of columns of the table; and the task."""
    y, b, task = make_task(labeled, shape, preprocessor.target)
    splits = {
        name: Samples(preprocessor.apply(labeled.table, labeled.rows[part]), y[part], b[part], labeled.extra(part))
        for name, part in labeled.parts.items()
    }
    return splits, task


def splits_of_files(
    labeled: LabeledTable,
    parts: Parts,
    files: Mapping[str, FileRows],
    shape: tuple[int, ...],
    target: Unit,
    lacking: str,
) -> tuple[dict[str, Samples], Task]:
    """The rows of each split whose file could be read, and the task; ``lacking`` is what an empty split lacks."""
    y, b, task = make_task(labeled, shape, target)
    splits = {}
    for split, rows in files.items():
        part = parts[split][rows.places]
        if not len(part):
            raise InputError("split-without-files", split=split, files=lacking)
        splits[split] = Samples(rows.x, y[part], b[part], labeled.extra(part))
    return splits, task
