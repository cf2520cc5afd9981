"""The records of a CSV file, one by one or in stretches, which is quicker; what is wrong is told with its line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, compress, islice
from pathlib import Path
from typing import Any, TextIO

from csad.data.progress import Progress
from csad.errors import InputError, unreadable

TELL = 4096  # records between two looks at how far the file is read
LINE_END = re.compile(r"\r\n|\r|\n")
NUL = "line contains NUL"

Record = tuple[int, list[str]]  # the line in which it ends, and its words


def records(path: Path, delimiter: str) -> Iterator[Record]:
    """Every record that has a word."""
    line = 0
    with _opened(path) as (stream, progress):
        reader = _reader(stream, delimiter)
        try:
            for count, words in enumerate(reader):
                if count % TELL == 0:
                    progress()
                line = reader.line_num
                if any(words):
                    yield line, words
        except csv.Error as error:
            raise _broken(path, line + 1, str(error)) from error


def checked(path: Path, found: Iterable[Record], wanted: int) -> Iterator[Record]:
    """The same records, all of as many words as are wanted."""
    for line, words in found:
        if len(words) != wanted:
            values = f"{len(words):,} value{'s' * (len(words) != 1)}"
            raise InputError(
                f"{path} has {values} in line {line} where its header names {wanted} columns: mend that line."
            )
        yield line, words


def stretches(
    path: Path, delimiter: str, wanted: int, size: int
) -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
    """The lines of some records at a time, the header left out, and the words of each column."""
    with _opened(path) as (stream, progress):
        reader = _reader(stream, delimiter)
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
                if not set(map(len, rows)) <= {wanted}:
                    break
                if rows:
                    yield lines, list(zip(*rows, strict=True))
            else:
                return
        except csv.Error:
            pass
    # Something is wrong: gone through one by one, the records tell in which line.
    for _ in checked(path, islice(records(path, delimiter), 1, None), wanted):
        pass
    raise InputError(f"{path} was changed while it was read: try again.")


def _lines(rows: Sequence[Sequence[str]], before: int, after: int) -> Sequence[int]:
    """The line in which each record ends; words may have line ends in them."""
    if after - before == len(rows):
        return range(before + 1, after + 1)
    counts = (1 + sum(len(LINE_END.findall(word)) for word in words) for words in rows)
    return list(accumulate(counts, initial=before))[1:]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[TextIO, Callable[[], None]]]:
    """The text of the file, and what tells how far it is read."""
    try:
        with path.open("rb") as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as stream:
            progress = Progress(f"Reading {path.name}, MB", path.stat().st_size >> 20)
            yield stream, lambda: progress.tell(file.tell() >> 20)
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error


def _reader(stream: TextIO, delimiter: str) -> Any:
    # Strict, because a quote that is left open would take all that follows for one cell.
    return csv.reader(_without_nul(stream), delimiter=delimiter, skipinitialspace=True, strict=True)


def _without_nul(stream: TextIO) -> Iterator[str]:
    for line in stream:
        if "\0" in line:
            raise csv.Error(NUL)
        yield line


def _broken(path: Path, line: int, what: str) -> InputError:
    if "field limit" in what:
        limit = f"{csv.field_size_limit():,} characters"
        return InputError(f"{path} has a cell of over {limit}, from line {line} on: is a quote left open there?")
    if "unexpected end" in what:
        return InputError(f"{path} has a quote in line {line} that is never closed: close it, or double it inside.")
    if what == NUL:
        return InputError(f"{path} has a NUL byte in line {line}, as no text has: save the table as CSV UTF-8 again.")
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
