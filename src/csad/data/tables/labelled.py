"""A table with its labels and its splits: what is the same whether x is made of its columns or of pictures it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.pairs import Related
from csad.data.samples import Classes, Number, Task
from csad.data.split import cells_of, drawn_parts, fraction_notices
from csad.data.tables.columns import Table, Whole
from csad.data.tables.files import read_table_file
from csad.data.tables.labels import Label, bias_label, bias_unit, target_label, target_unit
from csad.data.tables.preparation import Unit
from csad.data.tables.roles import Roles
from csad.data.tables.splits import Parts, check_apart, given_parts, groups_of, validation_drawn
from csad.errors import InputError


class Labelled(NamedTuple):
    """A table, those of its rows whose target is known, their labels, and which of them are in which split."""

    table: Table
    roles: Roles
    rows: Whole
    y: Label
    b: list[Label]
    groups: Whole | None
    parts: Parts
    notices: tuple[str, ...] = ()  # on what the user may not expect of the splits

    def target_unit(self) -> Unit:
        """In what unit the target is learned, as the training rows tell."""
        return target_unit(self.y.values[self.parts["train"]]) if isinstance(self.y.kind, Number) else Unit()

    def extra(self, part: Whole) -> dict[str, Any]:
        """Facts of these rows that no method sees: their numbers in the table, from 0, and their groups."""
        return {"row": self.rows[part]} | ({} if self.groups is None else {"group": self.groups[part]})


def read_labelled(
    path: str | Path,
    roles: Roles,
    *,
    fractions: Sequence[float],
    seed: int,
    bins: Mapping[str, Sequence[float]] | None,
    widths: Mapping[str, float] | None,
    target_kind: str,
) -> Labelled:
    """The table of a file with its labels and splits; what is wrong with the roles is said before it is read."""
    bins, widths = bins or {}, widths or {}
    roles.check((*bins, *widths))
    table = read_table_file(path)
    roles.check_columns(table)
    rows = np.flatnonzero(~table[roles.target].missing())
    if not len(rows):
        raise InputError(f"Target '{roles.target}' of {table.path} is missing in every row: name another column.")
    y = target_label(table, roles.target, table[roles.target].take(rows), target_kind)
    b = [bias_label(table, name, table[name].take(rows), bins, widths) for name in roles.bias]
    groups = groups_of(table, roles.group, table[roles.group].take(rows)) if roles.group else None
    cells = cells_of(*(label.strata() for label in (y, *b)))
    parts, notices = _parts(table, rows, roles, groups, cells, fractions, seed)
    return Labelled(table, roles, rows, y, b, groups, parts, notices)


def posed(found: Labelled, shape: tuple[int, ...], target: Unit) -> tuple[NDArray[Any], NDArray[Any], Task]:
    """y (n,) and b (n, columns) as they are learned, numbers in units that the training rows tell, and the task."""
    y, b, trained = found.y, found.b, found.parts["train"]
    units = [bias_unit(label.values[trained]) if isinstance(label.kind, Number) else Unit() for label in b]
    numbers = any(isinstance(label.kind, Number) for label in b)
    # Beside a number all columns of b are floats, in which NaN is unknown.
    columns = [unit.scaled(label.known()) if numbers else label.values for label, unit in zip(b, units, strict=True)]
    widths = tuple(label.tolerance(unit) for label, unit in zip(b, units, strict=True))
    task = Task(
        name=found.table.path.stem,
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
    table: Table,
    rows: Whole,
    roles: Roles,
    groups: Whole | None,
    cells: Whole,
    fractions: Sequence[float],
    seed: int,
) -> tuple[Parts, tuple[str, ...]]:
    """Which of the rows are in which split, and what the user may not expect of that."""
    if not roles.split:
        return drawn_parts(cells, groups, fractions, seed), tuple(fraction_notices(fractions))
    parts = given_parts(table, roles.split, table[roles.split].take(rows))
    if groups is not None:
        check_apart(roles.group, table[roles.group].take(rows), groups, parts)
    whole = validation_drawn(parts, cells, groups, fractions, seed)
    if whole.keys() == parts.keys():
        return parts, ()
    held = f"{len(whole['validation']):,} of {len(parts['train']):,} training rows were drawn for it"
    return whole, (f"Column '{roles.split}' names no rows for validation: {held}.",)
