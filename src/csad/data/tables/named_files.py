"""The splits of a data set whose table names files: rows that name none, or a broken one, are left out and counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from csad.data.samples import Samples, Task
from csad.data.tables.file_columns import FileRows, file_names
from csad.data.tables.labelled import Labelled, posed
from csad.data.tables.preparation import Unit
from csad.data.tables.splits import Parts
from csad.errors import InputError


class Named(NamedTuple):
    """The rows of each split that name a file, the paths of these, and a sentence on rows that name none."""

    parts: Parts
    paths: dict[str, list[str]]
    notices: list[str]


def named_parts(found: Labelled, column: str, what: str) -> Named:
    """Which rows have a file, by split."""
    names = file_names(found.table, column)
    named = np.array([bool(names[row]) for row in found.rows.tolist()])
    if not named.any():
        raise InputError(f"Column '{column}' of {found.table.path} names no {what} in any row.")
    parts = {split: part[named[part]] for split, part in found.parts.items()}
    paths = {split: [names[row] for row in found.rows[part].tolist()] for split, part in parts.items()}
    missing = int((~named).sum())
    notices = [f"Column '{column}' names no {what} in {missing:,} rows: they are left out."] if missing else []
    return Named(parts, paths, notices)


def splits_of(
    found: Labelled, parts: Parts, read: Mapping[str, FileRows], shape: tuple[int, ...], target: Unit, lacking: str
) -> tuple[dict[str, Samples], Task]:
    """The splits of the rows whose file could be read, and the task; ``lacking`` says what an empty split lacks."""
    y, b, task = posed(found, shape, target)
    splits = {}
    for split, rows in read.items():
        part = parts[split][rows.kept]
        if not len(part):
            raise InputError(f"No row of the split '{split}' has a {lacking}.")
        splits[split] = Samples(rows.x, y[part], b[part], found.extra(part))
    return splits, task
