"""Reads a table file: CSV of any dialect, in blocks of records, or Parquet; errors name the line."""

from __future__ import annotations

import csv
import gc
import importlib
import io
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, compress, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from csad.data.events import Progress
from csad.data.tables.infer import infer_columns
from csad.data.tables.table import (
    ISO,
    LARGEST,
    CategoryColumn,
    Column,
    ColumnTable,
    DateColumn,
    HighCardinalityColumn,
    NumberColumn,
    to_float32_if_exact,
)
from csad.errors import InputError, unreadable

TELL = 4096  # records between two reports of progress
LINE_END = re.compile(r"\r\n|\r|\n")
NUL = "line contains NUL"

Record = tuple[int, list[str]]  # its last line, and its words


def csv_records(path: Path, delimiter: str) -> Iterator[Record]:
    """Yield every record that has a word."""
    line = 0
    with _open_text(path) as (stream, progress):
        reader = csv_reader(stream, delimiter)
        try:
            for count, words in enumerate(reader):
                if count % TELL == 0:
                    progress()
                line = reader.line_num
                if any(words):
                    yield line, words
        except csv.Error as error:
            raise _broken(path, line + 1, str(error)) from error


def check_widths(path: Path, rows: Iterable[Record], width: int) -> Iterator[Record]:
    """Yield the same records; raise InputError if one has not ``width`` words."""
    for line, words in rows:
        if len(words) != width:
            values = f"{len(words):,} value{'s' * (len(words) != 1)}"
            raise InputError("csv-wrong-value-count", file=path, values=values, line=line, columns=width)
        yield line, words


def read_blocks(
    path: Path, delimiter: str, width: int, size: int
) -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
    """Yield the lines of ``size`` records at a time, without the header, and the words of each column."""
    with _open_text(path) as (stream, progress):
        reader = csv_reader(stream, delimiter)
        try:
            next(words for words in reader if any(words))
            before = reader.line_num
            while rows := list(islice(reader, size)):
                progress()
                lines = _lines(rows, before, reader.line_num)
                before = reader.line_num
                if not all(map(any, rows)):
                    there = [any(words) for words in rows]
                    lines, rows = list(compress(lines, there)), list(compress(rows, there))
                if not set(map(len, rows)) <= {width}:
                    break
                if rows:
                    yield lines, list(zip(*rows, strict=True))
            else:
                return
        except csv.Error:
            pass
    # Something is wrong: one by one, the records show in which line.
    for _ in check_widths(path, islice(csv_records(path, delimiter), 1, None), width):
        pass
    raise InputError("file-changed-while-read", file=path)


def _lines(rows: Sequence[Sequence[str]], before: int, after: int) -> Sequence[int]:
    """The last line of each record; words may have line ends in them."""
    if after - before == len(rows):
        return range(before + 1, after + 1)
    counts = (1 + sum(len(LINE_END.findall(word)) for word in words) for words in rows)
    return list(accumulate(counts, initial=before))[1:]


@contextmanager
def _open_text(path: Path) -> Iterator[tuple[TextIO, Callable[[], None]]]:
    """Open the text of the file, with a function that reports how much of it is read."""
    try:
        with path.open("rb") as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as stream:
            progress = Progress(f"Reading {path.name}, MB", path.stat().st_size >> 20)
            yield stream, lambda: progress.report(file.tell() >> 20)
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error


def csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    """The one dialect of CSV that is read here, but for its delimiter; it raises csv.Error on a NUL byte."""
    # Strict, because an open quote would make one cell of the rest of the file.
    return csv.reader(_without_nul(lines), delimiter=delimiter, skipinitialspace=True, strict=True)


def _without_nul(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if "\0" in line:
            raise csv.Error(NUL)
        yield line


def _broken(path: Path, line: int, what: str) -> InputError:
    if "field limit" in what:
        limit = f"{csv.field_size_limit():,} characters"
        return InputError("csv-cell-too-long", file=path, limit=limit, line=line)
    if "unexpected end" in what:
        return InputError("csv-quote-not-closed", file=path, line=line)
    if what == NUL:
        return InputError("csv-nul-byte", file=path, line=line)
    return InputError("csv-line-invalid", file=path, line=line, reason=what)


def _not_utf8(path: Path) -> InputError:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x} in line {number}"
                return InputError("csv-byte-not-utf8", file=path, byte=byte)
    return InputError("csv-not-utf8", file=path)


DELIMITERS = (",", ";", "\t", "|")
FIRST_RECORDS = 6  # so many records show the delimiter
CELLS = 2**18  # words in memory at a time, unless the table is wider than that


def read_csv_columns(path: Path, alone: Collection[str] = ()) -> dict[str, Column]:
    """Every column of the file. A file of a single column must call it by one of the names in ``alone``."""
    delimiter = _delimiter(path, alone)
    names = _header(path, next(csv_records(path, delimiter))[1])
    size = max(1, CELLS // len(names))

    def blocks() -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
        return read_blocks(path, delimiter, len(names), size)

    with _uncollected():
        columns = infer_columns(blocks, len(names), comma=delimiter == ";")
    return dict(zip(names, columns, strict=True))


def read_csv_cells(path: Path, column: str, alone: Collection[str] = ()) -> list[str] | None:
    """The cells of one column as the file has them, None if there is no such column."""
    rows = csv_records(path, _delimiter(path, alone))
    names = _header(path, next(rows)[1])
    if column not in names:
        return None
    place = names.index(column)
    return [words[place].strip() for _, words in check_widths(path, rows, len(names))]


def _delimiter(path: Path, alone: Collection[str]) -> str:
    """The delimiter that gives the first records equally many words, and the most."""
    scores: dict[str, tuple[bool, int]] = {}
    for delimiter in DELIMITERS:
        counts: list[int] = []
        with suppress(InputError):  # the error of the chosen delimiter is raised again when the file is read
            counts.extend(len(words) for _, words in islice(csv_records(path, delimiter), FIRST_RECORDS))
        if counts:
            scores[delimiter] = (len(set(counts)) == 1, counts[0])
    many = {delimiter: score for delimiter, score in scores.items() if score[1] > 1}
    if many:
        return max(many, key=many.__getitem__)
    first = next(csv_records(path, ","), None)
    if first is None:
        raise InputError("csv-file-empty", file=path)
    if " ".join(first[1][0].split()) in alone:
        return ","
    name = reprlib.repr(first[1][0])
    raise InputError("csv-one-column", file=path, column=name)


def _header(path: Path, words: list[str]) -> list[str]:
    """The names of the columns. A column without a name, as row numbers often are, is called by its place."""
    names = [" ".join(word.split()) or f"column {place}" for place, word in enumerate(words, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError("duplicate-column-names", file=path, columns=", ".join(map(reprlib.repr, twice[:3])))
    return names


@contextmanager
def _uncollected() -> Iterator[None]:
    """Switch off the search for reference cycles: records have none, and with torch loaded it doubles the time.

    Objects without cycles are freed all the same.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


ROWS = 2**16  # words in memory at a time
DAY = np.timedelta64(1, "D")


def read_parquet(path: Path) -> dict[str, Column]:
    """Every column of the file: numbers, dates, or words, which are inferred like those of a CSV file."""
    with _open_parquet(path) as (arrow, file):
        names = [str(name) for name in file.schema_arrow.names]
        if len(set(names)) < len(names):
            raise InputError("parquet-duplicate-columns", file=path)
        return {name: _parquet_column(arrow, file.read(columns=[name]).column(name)) for name in names}


def read_parquet_cells(path: Path, column: str) -> list[str]:
    """The values of one column in words; a missing value is an empty word."""
    with _open_parquet(path) as (_, file):
        return ["" if value is None else str(value) for value in file.read(columns=[column]).column(column).to_pylist()]


@contextmanager
def _open_parquet(path: Path) -> Iterator[tuple[Any, Any]]:
    """Import pyarrow and open the file; raise InputError if either fails."""
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError("pyarrow-not-installed", file=path) from error
    try:
        with parquet.ParquetFile(path) as file:
            yield arrow, file
    except (OSError, arrow.ArrowException) as error:
        raise InputError("parquet-unreadable", file=path, reason=str(error).splitlines()[0].rstrip(".")) from error


def _parquet_column(arrow: Any, values: Any) -> Column:
    types, kind = arrow.types, values.type
    if types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if types.is_boolean(kind):
        codes = values.cast(arrow.int32()).fill_null(-1).to_numpy()
        return CategoryColumn(codes, ("false", "true"))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return _number_column(values.cast(arrow.float64(), safe=False).to_numpy())
    if types.is_date(kind) or types.is_timestamp(kind):
        moments = values.cast(arrow.timestamp("us"), safe=False).to_numpy()
        return DateColumn({ISO: (moments - np.datetime64(0, "us")) / DAY})
    if types.is_string(kind) or types.is_large_string(kind):
        return _word_column(values)
    return HighCardinalityColumn(np.ones(len(values), np.int64), what=str(kind))


def _number_column(values: Any) -> NumberColumn:
    values = np.where(np.abs(values) > LARGEST, np.nan, values)
    return NumberColumn(to_float32_if_exact(values))


def _word_column(values: Any) -> Column:
    def blocks() -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        for first in range(0, len(values), ROWS):
            words = [word or "" for word in values.slice(first, ROWS).to_pylist()]
            yield range(first + 1, first + 1 + len(words)), [words]

    return infer_columns(blocks, 1)[0]


# First bytes of files that are often mistaken for CSV, and what to do about them.
OTHERS = {
    b"PK\x03\x04": "is a zip file, such as an .xlsx file of Excel. Save it as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "is an old Excel file. Save it as CSV UTF-8",
    b"\x1f\x8b": "is compressed. Unpack it first",
    b"\xff\xfe": "is UTF-16. Save it as UTF-8",
    b"\xfe\xff": "is UTF-16. Save it as UTF-8",
}


def read_table_file(path: str | Path, *, alone: Collection[str] = ()) -> ColumnTable:
    """The table of a CSV or Parquet file, whose columns are numbers, words or dates, as their cells show.

    A CSV file is UTF-8, names its columns in the first line, and separates them by a comma, semicolon, tab or |. With
    semicolons, 3,5 is a number. Spaces around words and lines without a word do not matter. A file of a single column
    is a table only if the name of the column is in ``alone``.
    """
    path = Path(path)
    head = _first_bytes(path)
    columns = read_parquet(path) if _is_parquet(path, head) else read_csv_columns(path, alone)
    rows = len(next(iter(columns.values())).missing()) if columns else 0
    if not rows:
        raise InputError("file-without-rows", file=path)
    return ColumnTable(path, columns, rows)


def read_cells(table: ColumnTable, column: str) -> list[str]:
    """The cells of one column of a table from a file, as the file has them: 007 stays 007."""
    table[column]  # raises an error with the nearest name if there is no such column
    if _is_parquet(table.path, _first_bytes(table.path)):
        cells: list[str] | None = read_parquet_cells(table.path, column)
    else:
        cells = read_csv_cells(table.path, column, (column,))
    if cells is None or len(cells) != table.rows:
        raise InputError("file-changed-while-read", file=table.path)
    return cells


def is_table_file(name: str) -> bool:
    """Whether the name of a file ends like that of a table."""
    return Path(name).suffix.lower() in (".csv", ".tsv", ".txt", ".data", ".parquet", ".pq")


def _is_parquet(path: Path, head: bytes) -> bool:
    return head == b"PAR1" or path.suffix.lower() in (".parquet", ".pq")


def _first_bytes(path: Path) -> bytes:
    """The first bytes; raise InputError if they are those of a file that is no table."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        raise unreadable(path, error) from error
    for start, advice in OTHERS.items():
        if head.startswith(start):
            raise InputError("not-a-table-file", file=path, problem=advice)
    return head
