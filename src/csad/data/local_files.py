"""Files that the user brings: the data folder, the cache folder, CSV files as they are distributed, and errors."""

from __future__ import annotations

import csv
import os
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError, unreadable


def data_folder(named: Path | None) -> Path | None:
    """The folder of the data sets: the named one, else ``CSAD_DATA``, else None."""
    path = named or os.environ.get("CSAD_DATA")
    if not path:
        return None
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise InputError("data-folder-missing", folder=folder)
    return folder


def cache_folder() -> Path:
    """The cache folder: ``CSAD_CACHE``, else that of the system for csad."""
    if named := os.environ.get("CSAD_CACHE"):
        return Path(named).expanduser()
    try:
        import pooch
    except ImportError:  # only downloads need it
        return Path.home() / ".cache" / "csad"
    return Path(pooch.os_cache("csad"))


BLANK = ("", "na", "nan", "none", "null")  # words, in small letters, for a missing value


def find_local_files(
    files: Sequence[tuple[str, ...]], folder: str, source: str, data_root: Path | None = None
) -> list[Path]:
    """The path of each file or folder: in ``folder`` under the data root (``CSAD_DATA`` if None) or beside it.

    Each is a tuple of the names that it may have. One error names all that are missing, and their ``source``.
    """
    places = _places(folder, data_root)
    paths = [first_local_file(names, folder, data_root) for names in files]
    missing = [" or ".join(names) for names, path in zip(files, paths, strict=True) if path is None]
    if missing:
        where = f"not in {places[0]}" if places else "needed, but no data folder is given"
        by_hand = f"get the data from {source}, put them into FOLDER/{folder}"
        names = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
        raise InputError("dataset-files-missing", files=names, problem=where, advice=by_hand)
    return [path for path in paths if path is not None]


def first_local_file(names: Sequence[str], folder: str, data_root: Path | None = None) -> Path | None:
    """The path of the first of these files or folders that exists, None if none does."""
    paths = (place / name for name in names for place in _places(folder, data_root))
    return next((path for path in paths if path.exists()), None)


def _places(folder: str, data_root: Path | None) -> list[Path]:
    root = data_folder(data_root)
    return [] if root is None else [root / folder, root]


def read_local_file(path: Path) -> bytes:
    """The bytes of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


@dataclass(frozen=True)
class CsvText:
    """The words of a CSV file by column, and the last line of each row."""

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]

    def __getitem__(self, column: str) -> list[str]:
        if column not in self.columns:
            near = get_close_matches(column, self.columns, n=1, cutoff=0.5)
            nearest = f" Nearest: {near[0]}." if near else ""
            raise InputError("column-not-in-file", column=column, file=self.path, nearest=nearest)
        return self.columns[column]

    def codes(self, column: str, words: Sequence[str]) -> NDArray[np.int64]:
        """The place of each row's word in ``words``; the column may have no other word."""
        code = {word: place for place, word in enumerate(words)}
        for row, word in enumerate(self[column]):
            if word not in code:
                raise self.wrong(column, row, f"one of {', '.join(words)}")
        return np.array([code[word] for word in self[column]], dtype=np.int64)

    def wrong(self, column: str, row: int, expected: str) -> InputError:
        """An error about one cell: its place, its word, and what is expected."""
        shown = reprlib.repr(self.columns[column][row])
        return damaged(self.path, f"has {shown} as {column} in line {self.lines[row]}, but it must be {expected}")


def read_csv(path: Path) -> CsvText:
    """The table of a CSV file with a header, as it is distributed.

    Blanks around words, empty lines and a byte order mark do not matter, and bytes that are not UTF-8 are replaced:
    unlike a table of one's own, which its user can mend, such a file is not to be changed.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            reader = csv.reader(stream)
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, [word.strip() for word in row]) for row in reader if any(map(str.strip, row))]
    except OSError as error:
        raise unreadable(path, error) from error
    except csv.Error as error:
        raise InputError("not-a-csv-file", file=path, reason=error) from error
    for line, row in rows:
        if len(row) != len(header):
            raise damaged(path, f"has {len(row)} values in line {line}, but its header names {len(header)} columns")
    if not rows:
        raise damaged(path, "holds no rows")
    columns = {name: [row[place] for _, row in rows] for place, name in enumerate(header)}
    return CsvText(path, columns, [line for line, _ in rows])


def damaged(path: Path, what: str) -> InputError:
    """An error about a file that is not as it is distributed."""
    return InputError("file-damaged", file=path, problem=what)
