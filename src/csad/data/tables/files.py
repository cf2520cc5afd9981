"""A user's own table from a file: CSV or Parquet."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from csad.data.tables.columns import Table
from csad.data.tables.csv_files import read_csv_cells, read_csv_columns
from csad.data.tables.parquet import read_parquet, read_parquet_cells
from csad.errors import InputError, unreadable

# How files begin that are often taken for CSV, and what to do about them.
OTHERS = {
    b"PK\x03\x04": "is a zip file, as Excel writes them: save it as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "is an old Excel file: save it as CSV UTF-8",
    b"\x1f\x8b": "is compressed: unpack it first",
    b"\xff\xfe": "is UTF-16: save it as UTF-8",
    b"\xfe\xff": "is UTF-16: save it as UTF-8",
}


def read_table_file(path: str | Path, *, alone: Collection[str] = ()) -> Table:
    """The table of a CSV or Parquet file, whose columns are numbers, words or dates, as what is in them tells.

    A CSV file is UTF-8, names its columns in the first line, and sets them apart by a comma, semicolon, tab or |. In
    one with semicolons 3,5 is a number. Spaces around words and lines without a word do not matter. A file of a single
    column is no table, unless that is called as one of ``alone``.
    """
    path = Path(path)
    head = _head(path)
    columns = read_parquet(path) if _is_parquet(path, head) else read_csv_columns(path, alone)
    rows = len(next(iter(columns.values())).missing()) if columns else 0
    if not rows:
        raise InputError(f"{path} holds no rows.")
    return Table(path, columns, rows)


def read_cells(table: Table, column: str) -> list[str]:
    """The cells of one column of a table that was read from a file, as they are written there: 007 stays 007."""
    table[column]  # an error that tells the nearest name, where there is no such column
    if _is_parquet(table.path, _head(table.path)):
        found: list[str] | None = read_parquet_cells(table.path, column)
    else:
        found = read_csv_cells(table.path, column, (column,))
    if found is None or len(found) != table.rows:
        raise InputError(f"{table.path} was changed while it was read: try again.")
    return found


def is_table_file(name: str) -> bool:
    """Whether a name is that of a table, by its ending."""
    return Path(name).suffix.lower() in (".csv", ".tsv", ".txt", ".data", ".parquet", ".pq")


def _is_parquet(path: Path, head: bytes) -> bool:
    return head == b"PAR1" or path.suffix.lower() in (".parquet", ".pq")


def _head(path: Path) -> bytes:
    """The first bytes, which tell a file that is no table."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        raise unreadable(path, error) from error
    for start, advice in OTHERS.items():
        if head.startswith(start):
            raise InputError(f"{path} {advice}.")
    return head
