"""A column whose cells name files, of which x is made: pictures, or series."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.cells import BLANKS
from csad.data.tables.columns import Table, shown
from csad.data.tables.files import read_cells
from csad.errors import InputError, Lacking

PLACES = ("images", "series_in")  # settings that say where such files lie


class FileRows(NamedTuple):
    """x of the files that could be read, and which of the names asked for they are."""

    x: NDArray[Any]
    kept: NDArray[np.int64]  # places in the list of names, ascending
    broken: tuple[str, ...]  # names that are left out


def file_names(table: Table, column: str) -> list[str]:
    """The path of each row's file, empty where none is named."""
    return ["" if name.lower() in BLANKS else name for name in read_cells(table, column)]


@contextmanager
def looked_for(usual: str | Path, given: str | Path, what: str) -> Iterator[Path]:
    """Where files that a table names are: the place given, else the usual one; an error then tells of the option."""
    try:
        yield Path(given or usual)
    except Lacking as error:
        if given:
            raise
        option = "--series-in" if what == "series" else "--images"
        raise InputError(f"{error} If they lie elsewhere, say where: {option} PLACE.") from error


def broken_notices(broken: tuple[str, ...], one: str, many: str, why: str = "") -> list[str]:
    """A sentence on the files that are left out, if any."""
    if not broken:
        return []
    are = f"One {one} is" if len(broken) == 1 else f"{len(broken):,} {many} are"
    return [f"{are} broken and left out: {shown(broken, 3)}{why}."]
