"""A row of Adult, and files of such rows."""

from __future__ import annotations

from pathlib import Path

from csad.data.datasets.adult import FIELDS

ROW = (
    "39, State-gov, 7, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K"
)


def written(folder: Path, *lines: str, name: str = "adult.data") -> Path:
    path = folder / name
    path.write_text("\n".join(lines), encoding="latin-1")
    return path


def row(**values: str) -> str:
    """A good row, but for the fields that are given (with _ for -)."""
    words = dict(zip(FIELDS, ROW.split(", "), strict=True))
    return ", ".join((words | {field.replace("_", "-"): value for field, value in values.items()}).values())
