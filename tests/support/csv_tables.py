"""CSV files for tests."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def write_rows(path: Path, rows: Iterable[Sequence[Any]]) -> Path:
    """The rows as a CSV file, the header first, None as an empty cell."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    return path


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """The columns as a CSV file."""
    return write_rows(path, [list(columns), *zip(*columns.values(), strict=True)])


def write_table(folder: Path, columns: Mapping[str, Sequence[Any]], name: str = "people.csv") -> Path:
    """The columns as a CSV file in a folder."""
    return write_columns(folder / name, columns)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by the names in its header."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))
