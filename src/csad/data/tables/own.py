"""A table of one's own as a data set: labels, splits, and x by a preparation that the run keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from csad.data.tables.by_settings import by_settings
from csad.data.tables.inputs import fit_inputs
from csad.data.tables.labelled import read_labelled
from csad.data.tables.made import Made, by_columns, owned
from csad.data.tables.owned import OwnTable
from csad.data.tables.roles import Roles, names_of
from csad.data.tables.told import copy_notices


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
    are alike. ``split`` names a column, or ``fractions`` and ``seed`` draw, each combination of target and bias alike,
    as they draw validation rows from the training rows of a column that names none; no ``group`` is in two splits. Rows
    without a target are left out.
    """
    roles = Roles(target, names_of(bias), names_of(drop), group, split)
    found = read_labelled(
        path, roles, fractions=fractions, seed=seed, bins=bins, widths=widths, target_kind=target_kind
    )
    inputs = roles.inputs(found.table, keep_bias=keep_bias_in_x)
    fitted = fit_inputs(found.table, inputs, found.rows[found.parts["train"]])
    preparation = replace(fitted.preparation, target=found.target_unit())
    splits, task = by_columns(found, preparation, (len(preparation.names()),))
    used = [column.column for column in preparation.columns]
    copies = copy_notices(found.table, used, [found.y, *found.b], found.rows)
    return owned(found, Made(preparation, splits, task, fitted.fates, [*fitted.notices, *copies]))


table_from_settings = by_settings(from_table)
