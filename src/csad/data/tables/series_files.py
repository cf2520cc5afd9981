"""Series from files, one each, .csv or .npy: a row for each step, a column for each channel. Nothing in them is run."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import BROKEN, MOST_BYTES, check_names, open_archive, stamp
from csad.data.progress import Progress
from csad.data.tables.cells import AMONG_NUMBERS, LARGEST, number_of, numbers_of, with_point
from csad.errors import InputError, is_of_system, unreadable

ENDINGS = (".csv", ".tsv", ".txt", ".npy")
DELIMITERS = (";", "\t", ",", "|")  # the first that a file's first line has: in one with semicolons 3,5 is a number
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Series(NamedTuple):
    """Values (steps, channels), NaN where one is missing, and what the channels are called, if a header said so."""

    values: NDArray[np.float32]
    channels: tuple[str, ...] = ()


Read = Series | str  # or why a file holds none


def read_series(place: Path, names: Sequence[str]) -> dict[str, Read]:
    """By name, the series of each file in a folder, .zip, .tar or .tar.gz, or why it is broken.

    A name that leads out of it, one that is not there, and one that ends otherwise are input errors.
    """
    if not place.exists():
        raise InputError(f"The series {place} are not there: give --series-in FOLDER, or a .zip or .tar file.")
    wanted = list(dict.fromkeys(names))
    check_names(wanted, "series")
    for name in wanted:
        if PurePosixPath(name).suffix.lower() not in ENDINGS:
            raise InputError(f"Series '{name}' cannot be read: series are .csv or .npy files, one each.")
    stamp(place, wanted, "series")  # tells what a folder lacks
    progress, found = Progress("Reading series", len(wanted)), {}
    with open_archive(place, wanted, "series") as archive:
        for count, name in enumerate(sorted(wanted, key=archive.place)):
            progress.tell(count)
            try:
                found[name] = series_of(name, archive.reader(name)())
            except BROKEN as error:
                if is_of_system(error):
                    raise unreadable(f"Series '{name}'", error) from error
                found[name] = f"it cannot be unpacked: {error}"
    return found


def series_of(name: str, data: bytes) -> Read:
    """The series of a file's bytes, or why it holds none."""
    if not data:
        return f"it is empty, or larger than {MOST_BYTES >> 20} MB"
    try:
        found = _npy(data) if name.lower().endswith(".npy") else _csv(data)
    except ValueError as error:
        return str(error)
    return "it holds no value" if np.isnan(found.values).all() else found


def _csv(data: bytes) -> Series:
    try:
        lines = [line for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ValueError("it is no text in UTF-8") from None
    if not lines:
        raise ValueError("it is empty")
    delimiter = next((sign for sign in DELIMITERS if sign in lines[0]), ",")
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise ValueError(f"it is no CSV file: {error}") from None
    for line, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(f"it has {len(row)} values in line {line}, and {len(rows[0])} in the first")
    comma = delimiter == ";"
    header = () if all(_is_cell(word, comma) for word in rows[0]) else tuple(" ".join(w.split()) for w in rows[0])
    if len(set(header)) < len(header):
        raise ValueError("it names a channel twice")
    if not rows[bool(header) :]:
        raise ValueError("it has a header and no values")
    columns = []
    for place, words in enumerate(zip(*rows[bool(header) :], strict=True), 1):
        numbers = numbers_of(words, comma=comma)
        if numbers is None:
            raise ValueError(f"its column {place} holds something else than numbers")
        columns.append(numbers[0])
    return Series(np.column_stack(columns).astype(np.float32), header)


def _is_cell(word: str, comma: bool) -> bool:
    text = word.strip().lower()
    return text in AMONG_NUMBERS or number_of(with_point(text) if comma else text) is not None


def _npy(data: bytes) -> Series:
    """The array, of which only as much is believed as the file has bytes for; Python objects are never unpickled."""
    stream = io.BytesIO(data)
    try:
        shape, by_column, kind = HEADERS[np.lib.format.read_magic(stream)](stream)
    except (ValueError, KeyError, SyntaxError, TypeError):
        raise ValueError("it is no .npy file") from None
    if kind.hasobject or kind.kind not in "fiub":
        raise ValueError("it holds something else than numbers")
    if len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(f"it has the shape {shape}, where (steps,) or (steps, channels) is wanted")
    if math.prod(shape) * kind.itemsize > len(data) - stream.tell():
        raise ValueError("it is cut short")
    flat: NDArray[Any] = np.frombuffer(data, kind, math.prod(shape), stream.tell())
    values = flat.reshape(shape, order="F" if by_column else "C").astype(np.float64)
    values[~(np.abs(values) <= LARGEST)] = np.nan
    return Series(values.reshape(shape[0], -1).astype(np.float32))
