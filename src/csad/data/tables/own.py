"""A table of one's own as a data set: labels, splits, and x by a preparation that the run keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.check import check_trainable
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.data.tables.columns import Table, Whole
from csad.data.tables.files import read_table_file
from csad.data.tables.inputs import fit_inputs
from csad.data.tables.labels import Label, bias_label, bias_unit, target_label, target_unit
from csad.data.tables.preparation import Preparation, Unit
from csad.data.tables.roles import Roles, names_of, numbers_by_column
from csad.data.tables.splits import Parts, check_apart, drawn_parts, given_parts, groups_of
from csad.data.tables.told import ColumnLine, column_lines, label_notices
from csad.errors import InputError

NOTHING = Preparation(())  # a subclass of Dataset, whose last fields have defaults, must have some too


@dataclass(frozen=True)
class OwnTable(Dataset):
    """A data set that knows how its x was made: ``preparation`` does the same to other tables.

    ``notices`` are sentences on what the user may not expect; ``columns`` has a line for each column of the file.
    """

    preparation: Preparation = NOTHING
    notices: tuple[str, ...] = ()
    columns: tuple[ColumnLine, ...] = ()

    def describe(self) -> list[str]:
        """Lines for people: each column, what it holds and what becomes of it; then the splits."""
        wide, kind = (max(len(line[k]) for line in self.columns) for k in (0, 1))
        lines = [f"{line.column:<{wide}}  {line.kind:<{kind}}  {line.becomes}" for line in self.columns]
        splits = ", ".join(f"{name} {len(rows):,}" for name, rows in self.splits.items())
        return [*lines, f"Rows: {splits}. Inputs: {len(self.preparation.names()):,} columns."]


def from_table(
    path: str | Path,
    *,
    target: str,
    bias: str | Sequence[str],
    drop: str | Sequence[str] = (),
    group: str = "",
    split: str = "",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    bins: Mapping[str, Sequence[float]] | None = None,
    widths: Mapping[str, float] | None = None,
    target_kind: str = "",
    keep_bias_in_x: bool = False,
) -> OwnTable:
    """The data set of a CSV or Parquet file, whose columns are inputs but for those named here.

    The ``target`` is a "class" or a "number", as ``target_kind`` says, else a number where over 20 differ. A ``bias``
    is classes; where over 20 numbers differ it needs ``bins``, where to cut, or ``widths``, up to which distance two
    are alike. ``split`` names a column, or ``fractions`` and ``seed`` draw, each combination of target and bias alike;
    no ``group`` is in two splits. Rows without a target are left out.
    """
    roles = Roles(target, names_of(bias), names_of(drop), group, split)
    bins, widths = dict(bins or {}), dict(widths or {})
    roles.check((*bins, *widths))
    table = read_table_file(path)
    roles.check_columns(table)
    rows = np.flatnonzero(~table[target].missing())
    if not len(rows):
        raise InputError(f"Target '{target}' of {table.path} is missing in every row: name another column.")
    y = target_label(table, target, table[target].take(rows), target_kind)
    b = [bias_label(table, name, table[name].take(rows), bins, widths) for name in roles.bias]
    groups = groups_of(table, group, table[group].take(rows)) if group else None
    parts = _parts(table, rows, roles, groups, _cells([y, *b]), fractions, seed)
    fitted = fit_inputs(table, roles.inputs(table, keep_bias=keep_bias_in_x), rows[parts["train"]])
    unit = target_unit(y.values[parts["train"]]) if isinstance(y.kind, Number) else Unit()
    preparation = replace(fitted.preparation, target=unit)
    target_values, bias_values, task = _posed(table.path.stem, y, b, preparation, parts["train"])
    splits = {}
    for name, part in parts.items():
        extra = {"row": rows[part]} | ({} if groups is None else {"group": groups[part]})
        x = preparation.apply(table, rows[part])
        splits[name] = Samples(x, target_values[part], bias_values[part], extra)
    notices = [*label_notices(table, rows, [y, *b], parts["train"]), *fitted.notices]
    lines = column_lines(table, roles, [y, *b], fitted.fates)
    made = OwnTable(task, splits, preparation=preparation, notices=tuple(notices), columns=tuple(lines))
    check_trainable(made, needs_bias=False)
    return made


def table_from_settings(
    path: Path,
    *,
    target: str = "",
    bias: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
    group: str = "",
    split: str = "",
    fractions: tuple[float, ...] = (0.7, 0.1, 0.2),
    seed: int = 0,
    bins: tuple[str, ...] = (),
    widths: tuple[str, ...] = (),
    target_kind: str = "",
    keep_bias_in_x: bool = False,
) -> OwnTable:
    """The same from plain values, as a run's settings hold them: ``bins=("age=0,30,60",)``, ``widths=("age=5",)``."""
    return from_table(
        path, target=target, bias=bias, drop=drop, group=group, split=split, fractions=fractions, seed=seed,
        bins=numbers_by_column("bins", bins), target_kind=target_kind, keep_bias_in_x=keep_bias_in_x,
        widths={name: given[0] for name, given in numbers_by_column("width", widths, one=True).items()},
    )  # fmt: skip


def _cells(labels: list[Label]) -> Whole:
    """The number of each row's combination of labels."""
    strata = np.column_stack([label.strata() for label in labels])
    return np.unique(strata, axis=0, return_inverse=True)[1].reshape(-1)


def _parts(
    table: Table,
    rows: Whole,
    roles: Roles,
    groups: Whole | None,
    cells: Whole,
    fractions: Sequence[float],
    seed: int,
) -> Parts:
    """Which of the rows are in which split."""
    if not roles.split:
        return drawn_parts(cells, groups, fractions, seed)
    parts = given_parts(table, roles.split, table[roles.split].take(rows))
    if groups is not None:
        check_apart(roles.group, table[roles.group].take(rows), groups, parts)
    return parts


def _posed(
    name: str, y: Label, b: list[Label], preparation: Preparation, trained: Whole
) -> tuple[NDArray[Any], NDArray[Any], Task]:
    """y (n,) and b (n, columns) as they are learned, numbers in units that the training rows tell, and the task."""
    units = [bias_unit(label.values[trained]) if isinstance(label.kind, Number) else Unit() for label in b]
    numbers = any(isinstance(label.kind, Number) for label in b)
    # Beside a number all columns of b are floats, in which NaN is unknown.
    columns = [unit.scaled(label.known()) if numbers else label.values for label, unit in zip(b, units, strict=True)]
    widths = tuple(label.tolerance(unit) for label, unit in zip(b, units, strict=True))
    task = Task(
        name=name,
        shape=(len(preparation.names()),),
        target=y.kind,
        biases=tuple(label.kind for label in b),
        bias_names=tuple(label.name for label in b),
        related=Related("near_bias", widths) if numbers else Related(),
    )
    target = y.values if isinstance(y.kind, Classes) else preparation.target.scaled(y.values).astype(np.float32)
    biases = np.column_stack(columns)
    return target, biases.astype(np.float32) if numbers else biases, task
