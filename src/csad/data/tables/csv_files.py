"""CSV files of whatever make, read in blocks so that none is ever in memory as text; what is wrong has its line."""

from __future__ import annotations

import gc
import reprlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from csad.data.tables.columns import Column
from csad.data.tables.csv_records import checked, records, stretches
from csad.data.tables.words import grown
from csad.errors import InputError

DELIMITERS = (",", ";", "\t", "|")
FIRST = 6  # records by which the delimiter is told
CELLS = 2**18  # words in memory at a time, unless the table is wider than that


def read_csv_columns(path: Path, alone: Collection[str] = ()) -> dict[str, Column]:
    """Every column of the file; one that is all there is must be called as one of ``alone``."""
    delimiter = _delimiter(path, alone)
    names = _header(path, next(records(path, delimiter))[1])
    size = max(1, CELLS // len(names))

    def blocks() -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
        return stretches(path, delimiter, len(names), size)

    with _uncollected():
        columns = grown(blocks, len(names), comma=delimiter == ";")
    return dict(zip(names, columns, strict=True))


def read_csv_cells(path: Path, column: str, alone: Collection[str] = ()) -> list[str] | None:
    """The cells of one column as they stand in the file, or nothing where there is no such column."""
    found = records(path, _delimiter(path, alone))
    names = _header(path, next(found)[1])
    if column not in names:
        return None
    place = names.index(column)
    return [words[place].strip() for _, words in checked(path, found, len(names))]


def _delimiter(path: Path, alone: Collection[str]) -> str:
    """What sets columns apart: that by which the first records have equally many words, and the most."""
    found: dict[str, tuple[bool, int]] = {}
    for delimiter in DELIMITERS:
        counts: list[int] = []
        with suppress(InputError):  # that of the delimiter which is chosen comes again when the file is read
            counts.extend(len(words) for _, words in islice(records(path, delimiter), FIRST))
        if counts:
            found[delimiter] = (len(set(counts)) == 1, counts[0])
    many = {delimiter: score for delimiter, score in found.items() if score[1] > 1}
    if many:
        return max(many, key=many.__getitem__)
    first = next(records(path, ","), None)
    if first is None:
        raise InputError(f"{path} is empty.")
    if " ".join(first[1][0].split()) in alone:
        return ","
    name = reprlib.repr(first[1][0])
    raise InputError(f"{path} has one column, {name}: set columns apart by a comma, semicolon, tab or |.")


def _header(path: Path, words: list[str]) -> list[str]:
    """The names of the columns; one without a name, as a table's row numbers often are, is called by its place."""
    names = [" ".join(word.split()) or f"column {place}" for place, word in enumerate(words, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path} names {', '.join(map(reprlib.repr, twice[:3]))} twice in its header: rename one.")
    return names


@contextmanager
def _uncollected() -> Iterator[None]:
    """While this lasts no cycles are looked for: records have none, and beside torch the search takes twice as long.

    Whatever is in no cycle is freed all the same.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
