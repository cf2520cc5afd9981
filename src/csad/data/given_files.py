"""Files that others distribute and a user has to bring: where they lie, what a CSV file holds, what is wrong."""

from __future__ import annotations

import csv
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.places import data_folder
from csad.errors import InputError, unreadable

BLANK = ("", "na", "nan", "none", "null")  # words, in small letters, for a value that is missing


def find_given(
    wanted: Sequence[tuple[str, ...]], folder: str, source: str, data_root: Path | None = None
) -> list[Path]:
    """Where each wanted file or folder lies: in ``folder`` under the data root (``CSAD_DATA`` where None) or beside it.

    Each is a tuple of the names it may have. All that is not there is told at once, and ``source``, where to get it.
    """
    places = _places(folder, data_root)
    found = [first_given(names, folder, data_root) for names in wanted]
    missing = [" or ".join(names) for names, path in zip(wanted, found, strict=True) if path is None]
    if missing:
        where = f"not in {places[0]}" if places else "needed, and no data folder is named"
        by_hand = f"put into FOLDER/{folder} what you get from {source}"
        names = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
        raise InputError(f"{names} {where}: {by_hand}, and give --data-root FOLDER or set CSAD_DATA=FOLDER.")
    return [path for path in found if path is not None]


def first_given(names: Sequence[str], folder: str, data_root: Path | None = None) -> Path | None:
    """Where the first of these files or folders lies that is there, or None where none of them is."""
    paths = (place / name for name in names for place in _places(folder, data_root))
    return next((path for path in paths if path.exists()), None)


def _places(folder: str, data_root: Path | None) -> list[Path]:
    root = data_folder(data_root)
    return [] if root is None else [root / folder, root]


def read_given(path: Path) -> bytes:
    """The bytes of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


@dataclass(frozen=True)
class Table:
    """The words of a CSV file by column, and the line in which each row ends."""

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]

    def __getitem__(self, column: str) -> list[str]:
        if column not in self.columns:
            near = get_close_matches(column, self.columns, n=1, cutoff=0.5)
            nearest = f" Nearest: {near[0]}." if near else ""
            raise InputError(f"Column '{column}' is not in {self.path}.{nearest}")
        return self.columns[column]

    def codes(self, column: str, words: Sequence[str]) -> NDArray[np.int64]:
        """The place of each row's word in ``words``, the only ones that the column may have."""
        code = {word: place for place, word in enumerate(words)}
        for row, word in enumerate(self[column]):
            if word not in code:
                raise self.wrong(column, row, f"one of {', '.join(words)}")
        return np.array([code[word] for word in self[column]], dtype=np.int64)

    def wrong(self, column: str, row: int, wanted: str) -> InputError:
        """An error about one cell: where it stands, what is there, what is wanted."""
        shown = reprlib.repr(self.columns[column][row])
        return damaged(self.path, f"has {shown} as {column} in line {self.lines[row]} where {wanted} is wanted")


def read_csv(path: Path) -> Table:
    """The table of a CSV file with a header; blanks around words, empty lines and a byte order mark do not matter."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            reader = csv.reader(stream)
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, [word.strip() for word in row]) for row in reader if any(map(str.strip, row))]
    except OSError as error:
        raise unreadable(path, error) from error
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file: {error}.") from error
    for line, row in rows:
        if len(row) != len(header):
            raise damaged(path, f"has {len(row)} values in line {line} where its header names {len(header)} columns")
    if not rows:
        raise damaged(path, "holds no rows")
    columns = {name: [row[place] for _, row in rows] for place, name in enumerate(header)}
    return Table(path, columns, [line for line, _ in rows])


def damaged(path: Path, what: str) -> InputError:
    """An error about a file that is not as it is distributed."""
    return InputError(f"{path} {what}; download it again or remove it.")
