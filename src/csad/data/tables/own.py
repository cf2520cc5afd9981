"""A table of one's own as a data set: labels, splits, and x by a preparation that the run keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from csad.data.check import check_trainable
from csad.data.samples import Samples
from csad.data.tables.inputs import fit_inputs
from csad.data.tables.labelled import posed, read_labelled
from csad.data.tables.owned import OwnTable, heard
from csad.data.tables.roles import Roles, names_of, numbers_by_column, one_by_column
from csad.data.tables.told import column_lines, group_notices, label_notices


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
    found = read_labelled(
        path, roles, fractions=fractions, seed=seed, bins=dict(bins or {}), widths=dict(widths or {}),
        target_kind=target_kind,
    )  # fmt: skip
    table, rows, trained = found.table, found.rows, found.parts["train"]
    fitted = fit_inputs(table, roles.inputs(table, keep_bias=keep_bias_in_x), rows[trained])
    preparation = replace(fitted.preparation, target=found.target_unit())
    y, b, task = posed(found, (len(preparation.names()),), preparation.target)
    splits = {
        name: Samples(preparation.apply(table, rows[part]), y[part], b[part], found.extra(part))
        for name, part in found.parts.items()
    }
    labels = [found.y, *found.b]
    notices = [*label_notices(table, rows, labels, trained), *group_notices(group, found.groups), *fitted.notices]
    lines = column_lines(table, roles, labels, fitted.fates)
    made = OwnTable(task, splits, preparation=preparation, notices=tuple(notices), columns=tuple(lines))
    check_trainable(made, needs_bias=False)
    return heard(made)


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
        widths=one_by_column("width", widths),
    )  # fmt: skip
