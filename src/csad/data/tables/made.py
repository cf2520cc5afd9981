"""The last step from a table with labels to a data set, whatever x is made of: what is told of it, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from csad.data.check import check_trainable
from csad.data.samples import Samples, Task
from csad.data.tables.inputs import Fate
from csad.data.tables.labelled import Labelled, posed
from csad.data.tables.owned import OwnTable, heard
from csad.data.tables.preparation import Preparation
from csad.data.tables.preparations import AnyPreparation
from csad.data.tables.told import column_lines, confusion_notices, group_notices, label_notices
from csad.data.vary import Pictures


class Made(NamedTuple):
    """The rows of each split with their x, how that was made, and what is to be told of it."""

    preparation: AnyPreparation
    splits: dict[str, Samples]
    task: Task
    fates: Mapping[str, Fate]  # of the columns of which x is made
    notices: Sequence[str]
    vary: Pictures | None = None


def by_columns(found: Labelled, preparation: Preparation, shape: tuple[int, ...]) -> tuple[dict[str, Samples], Task]:
    """The rows of each split, their x made of the table's own columns; and the task."""
    y, b, task = posed(found, shape, preparation.target)
    splits = {
        name: Samples(preparation.apply(found.table, found.rows[part]), y[part], b[part], found.extra(part))
        for name, part in found.parts.items()
    }
    return splits, task


def owned(found: Labelled, made: Made, rest: str = "") -> OwnTable:
    """The data set, told of to whoever listens; ``rest`` is said of columns that have no part in it."""
    labels = [found.y, *found.b]
    trained = np.flatnonzero(np.isin(found.rows, made.splits["train"].extra["row"].numpy()))
    notices = [*label_notices(found.table, found.rows, labels, trained), *confusion_notices(labels, trained)]
    notices += [*found.notices, *group_notices(found.roles.group, found.groups), *made.notices]
    lines = column_lines(found.table, found.roles, labels, made.fates, rest)
    table = OwnTable(
        made.task, made.splits, vary=made.vary, preparation=made.preparation, notices=tuple(dict.fromkeys(notices)),
        columns=tuple(lines),
    )  # fmt: skip
    check_trainable(table, needs_bias=False)
    return heard(table)
