"""Reads series from files, one each, .csv or .npy: a row for each step, a column for each channel. No code is run."""

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
from csad.data.events import Progress
from csad.data.tables.read_table import csv_reader
from csad.data.tables.table import AMONG_NUMBERS, LARGEST, comma_to_point, number_of, numbers_of
from csad.errors import InputError, is_os_error, unreadable

ENDINGS = (".csv", ".tsv", ".txt", ".npy")
DELIMITERS = (";", "\t", ",", "|")  # the first of them in a file's first line counts; with semicolons 3,5 is a number
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Series(NamedTuple):
    """Values (steps, channels), NaN if missing, and the names of the channels, if a header has them."""

    values: NDArray[np.float32]
    channels: tuple[str, ...] = ()


Read = Series | str  # or why a file holds no series


def read_series(place: Path, names: Sequence[str]) -> dict[str, Read]:
    """By name, the series of each file in a folder, .zip, .tar or .tar.gz, or why it is broken.

    A name that leads outside, one that does not exist, and one with another ending are input errors.
    """
    if not place.exists():
        raise InputError("series-not-found", place=place)
    unique = list(dict.fromkeys(names))
    check_names(unique, "series")
    for name in unique:
        if PurePosixPath(name).suffix.lower() not in ENDINGS:
            raise InputError("series-file-ending", name=name)
    stamp(place, unique, "series")  # raises an error if a folder lacks one of them
    progress, series = Progress("Reading series", len(unique)), {}
    with open_archive(place, unique, "series") as archive:
        for count, name in enumerate(sorted(unique, key=archive.place)):
            progress.report(count)
            try:
                series[name] = series_of(name, archive.reader(name)())
            except BROKEN as error:
                if is_os_error(error):
                    raise unreadable(f"Series '{name}'", error) from error
                series[name] = f"it cannot be unpacked: {error}"
    return series


def series_of(name: str, data: bytes) -> Read:
    """The series of a file's bytes, or why they hold none."""
    if not data:
        return f"it is empty, or larger than {MOST_BYTES >> 20} MB"
    try:
        series = _npy(data) if name.lower().endswith(".npy") else _csv(data)
    except ValueError as error:
        return str(error)
    return "it holds no values" if np.isnan(series.values).all() else series


def _csv(data: bytes) -> Series:
    try:
        lines = [line for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None
    if not lines:
        raise ValueError("it is empty")
    delimiter = next((sign for sign in DELIMITERS if sign in lines[0]), ",")
    try:
        rows = list(csv_reader(lines, delimiter))
    except csv.Error as error:
        raise ValueError(f"it is not a CSV file: {error}") from None
    for line, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(f"it has {len(row)} values in line {line}, but {len(rows[0])} in the first line")
    comma = delimiter == ";"
    header = () if all(_is_cell(word, comma) for word in rows[0]) else tuple(" ".join(w.split()) for w in rows[0])
    if len(set(header)) < len(header):
        raise ValueError("it names a channel twice")
    if not rows[bool(header) :]:
        raise ValueError("it has a header but no values")
    columns = []
    for place, words in enumerate(zip(*rows[bool(header) :], strict=True), 1):
        numbers = numbers_of(words, comma=comma)
        if numbers is None:
            raise ValueError(f"its column {place} holds values that are not numbers")
        columns.append(numbers[0])
    return Series(np.column_stack(columns).astype(np.float32), header)


def _is_cell(word: str, comma: bool) -> bool:
    text = word.strip().lower()
    return text in AMONG_NUMBERS or number_of(comma_to_point(text) if comma else text) is not None


def _npy(data: bytes) -> Series:
    """The array. Its header is checked against the number of bytes; Python objects are never unpickled."""
    stream = io.BytesIO(data)
    try:
        shape, by_column, kind = HEADERS[np.lib.format.read_magic(stream)](stream)
    except (ValueError, KeyError, SyntaxError, TypeError):
        raise ValueError("it is not an .npy file") from None
    if kind.hasobject or kind.kind not in "fiub":
        raise ValueError("it holds values that are not numbers")
    if len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(f"it has shape {shape}, not (steps,) or (steps, channels)")
    if math.prod(shape) * kind.itemsize > len(data) - stream.tell():
        raise ValueError("it is incomplete")
    flat: NDArray[Any] = np.frombuffer(data, kind, math.prod(shape), stream.tell())
    values = flat.reshape(shape, order="F" if by_column else "C").astype(np.float64)
    values[~(np.abs(values) <= LARGEST)] = np.nan
    return Series(values.reshape(shape[0], -1).astype(np.float32))
