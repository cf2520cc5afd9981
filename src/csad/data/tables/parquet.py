"""The columns of a Parquet file, one at a time; pyarrow is imported only here."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from csad.data.tables.cells import LARGEST, narrow
from csad.data.tables.columns import Column, Dates, Ids, Numbers, Words
from csad.data.tables.dates import ISO
from csad.data.tables.words import grown
from csad.errors import InputError

ROWS = 2**16  # words in memory at a time
DAY = np.timedelta64(1, "D")


def read_parquet(path: Path) -> dict[str, Column]:
    """Every column of the file: numbers, dates, or words, which are looked at as those of a CSV file are."""
    with _opened(path) as (arrow, file):
        names = [str(name) for name in file.schema_arrow.names]
        if len(set(names)) < len(names):
            raise InputError(f"{path} has two columns of one name: rename one.")
        return {name: _column(arrow, file.read(columns=[name]).column(name)) for name in names}


def read_parquet_cells(path: Path, column: str) -> list[str]:
    """The values of one column in words; nothing is an empty word."""
    with _opened(path) as (_, file):
        return ["" if value is None else str(value) for value in file.read(columns=[column]).column(column).to_pylist()]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """pyarrow and the file; what either cannot do is an input error."""
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        advice = "pip install 'csad[tables]', or save the table as CSV"
        raise InputError(f"{path} is a Parquet file, which needs pyarrow: {advice}.") from error
    try:
        with parquet.ParquetFile(path) as file:
            yield arrow, file
    except (OSError, arrow.ArrowException) as error:
        raise InputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0].rstrip('.')}.") from error


def _column(arrow: Any, values: Any) -> Column:
    types, kind = arrow.types, values.type
    if types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if types.is_boolean(kind):
        codes = values.cast(arrow.int32()).fill_null(-1).to_numpy()
        return Words(codes, ("false", "true"))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return _numbers(values.cast(arrow.float64(), safe=False).to_numpy())
    if types.is_date(kind) or types.is_timestamp(kind):
        moments = values.cast(arrow.timestamp("us"), safe=False).to_numpy()
        return Dates({ISO: (moments - np.datetime64(0, "us")) / DAY})
    if types.is_string(kind) or types.is_large_string(kind):
        return _words(values)
    return Ids(np.ones(len(values), np.int64), what=str(kind))


def _numbers(values: Any) -> Numbers:
    values = np.where(np.abs(values) > LARGEST, np.nan, values)
    return Numbers(narrow(values))


def _words(values: Any) -> Column:
    def blocks() -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        for first in range(0, len(values), ROWS):
            words = [word or "" for word in values.slice(first, ROWS).to_pylist()]
            yield range(first + 1, first + 1 + len(words)), [words]

    return grown(blocks, 1)[0]
