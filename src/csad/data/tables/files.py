"""A user's own table from a file: CSV, read in blocks so that it is never in memory as text, or Parquet."""

from __future__ import annotations

import csv
import io
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from csad.data.progress import Progress
from csad.data.tables.columns import Column, Table
from csad.data.tables.parquet import read_parquet
from csad.data.tables.words import grown
from csad.errors import InputError

DELIMITERS = (",", ";", "\t", "|")
FIRST = 6  # records by which the delimiter is told
CELLS = 2**18  # words in memory at a time, unless the table is wider than that
TELL = 4096  # rows between two looks at how far the file is read
# How files begin that are often taken for CSV, and what to do about them.
OTHERS = {
    b"PK\x03\x04": "is a zip file, as Excel writes them: save it as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "is an old Excel file: save it as CSV UTF-8",
    b"\x1f\x8b": "is compressed: unpack it first",
    b"\xff\xfe": "is UTF-16: save it as UTF-8",
    b"\xfe\xff": "is UTF-16: save it as UTF-8",
}

Record = tuple[int, list[str]]  # the line in which it ends, and its words


def read_table_file(path: str | Path) -> Table:
    """The table of a CSV or Parquet file, whose columns are numbers, words or dates, as what is in them tells.

    A CSV file is UTF-8, names its columns in the first line, and sets them apart by a comma, semicolon, tab or |. In
    one with semicolons 3,5 is a number. Spaces around words and lines without a word do not matter.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    for start, advice in OTHERS.items():
        if head.startswith(start):
            raise InputError(f"{path} {advice}.")
    columns = read_parquet(path) if _is_parquet(path, head) else _read_csv(path)
    rows = len(next(iter(columns.values())).missing()) if columns else 0
    if not rows:
        raise InputError(f"{path} holds no rows.")
    return Table(path, columns, rows)


def is_table_file(name: str) -> bool:
    """Whether a name is that of a table, by its ending."""
    return Path(name).suffix.lower() in (".csv", ".tsv", ".txt", ".data", ".parquet", ".pq")


def _is_parquet(path: Path, head: bytes) -> bool:
    return head == b"PAR1" or path.suffix.lower() in (".parquet", ".pq")


def _read_csv(path: Path) -> dict[str, Column]:
    delimiter = _delimiter(path)
    names = _header(path, next(_records(path, delimiter))[1])
    size = max(1, CELLS // len(names))

    def blocks() -> Iterator[tuple[list[int], Sequence[Sequence[str]]]]:
        records = _checked(path, islice(_records(path, delimiter), 1, None), len(names))
        while taken := list(islice(records, size)):
            yield [line for line, _ in taken], list(zip(*(words for _, words in taken), strict=True))

    columns = grown(blocks, len(names), comma=delimiter == ";")
    return dict(zip(names, columns, strict=True))


def _delimiter(path: Path) -> str:
    """What sets columns apart: that by which the first records have equally many words, and the most."""
    found: dict[str, tuple[bool, int]] = {}
    for delimiter in DELIMITERS:
        counts: list[int] = []
        with suppress(InputError):  # that of the delimiter which is chosen comes again when the file is read
            counts.extend(len(words) for _, words in islice(_records(path, delimiter), FIRST))
        if counts:
            found[delimiter] = (len(set(counts)) == 1, counts[0])
    many = {delimiter: score for delimiter, score in found.items() if score[1] > 1}
    if many:
        return max(many, key=many.__getitem__)
    first = next(_records(path, ","), None)
    if first is None:
        raise InputError(f"{path} is empty.")
    name = reprlib.repr(first[1][0])
    raise InputError(f"{path} has one column, {name}: set columns apart by a comma, semicolon, tab or |.")


def _header(path: Path, words: list[str]) -> list[str]:
    """The names of the columns; one without a name, as a table's row numbers often are, is called by its place."""
    names = [" ".join(word.split()) or f"column {place}" for place, word in enumerate(words, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path} names {', '.join(map(reprlib.repr, twice[:3]))} twice in its header: rename one.")
    return names


def _checked(path: Path, records: Iterable[Record], wanted: int) -> Iterator[Record]:
    for line, words in records:
        if len(words) != wanted:
            values = f"{len(words)} value{'s' * (len(words) != 1)}"
            raise InputError(f"{path} has {values} in line {line} where its header names {wanted} columns.")
        yield line, words


def _records(path: Path, delimiter: str) -> Iterator[Record]:
    """Every record that has a word; what cannot be read is told with its line."""
    line = 0
    try:
        with path.open("rb") as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as stream:
            progress = Progress(f"Reading {path.name}, MB", path.stat().st_size >> 20)
            # Strict, because a quote that is left open would take all that follows for one cell.
            reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True, strict=True)
            for count, words in enumerate(reader):
                if count % TELL == 0:
                    progress.tell(file.tell() >> 20)
                line = reader.line_num
                if any(words):
                    yield line, words
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except csv.Error as error:
        raise _broken(path, line + 1, str(error)) from error


def _broken(path: Path, line: int, what: str) -> InputError:
    if "field limit" in what:
        limit = f"{csv.field_size_limit():,} characters"
        return InputError(f"{path} has a cell of over {limit}, from line {line} on: is a quote left open there?")
    if "unexpected end" in what:
        return InputError(f"{path} has a quote in line {line} that is never closed: close it, or double it inside.")
    return InputError(f"{path} is no CSV file in line {line} ({what}): mend that line.")


def _not_utf8(path: Path) -> InputError:
    advice = "save it as UTF-8 (in Excel: CSV UTF-8), or convert it, as iconv -f latin1 -t utf-8 does"
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x} in line {number}"
                return InputError(f"{path} is not UTF-8: {byte}; {advice}.")
    return InputError(f"{path} is not UTF-8: {advice}.")
