"""Small tables for tests: CSV text written to a file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_table(folder: Path, columns: Mapping[str, Sequence[Any]], name: str = "people.csv") -> Path:
    """The columns as a CSV file, None as an empty cell."""
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path
