"""What is predicted for the rows of a file, beside their ids, and the CSV file that it is written to."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.columns import Table
from csad.data.tables.files import read_cells
from csad.deploy.decision import HALF, decided
from csad.errors import InputError

ROW = "row"  # what the ids are called where they are row numbers
PREDICTION = "prediction"


@dataclass(frozen=True)
class Predictions:
    """Ids (n) under the name ``id_name``, and scores (n, classes), or numbers (n, 1), NaN in rows without any."""

    id_name: str
    ids: Sequence[str]
    classes: tuple[str, ...]  # none where a number is predicted
    scores: NDArray[Any]  # probabilities of the classes, or the number
    notices: tuple[str, ...]  # sentences on what the file held that training did not know
    threshold: float = HALF  # of two classes, the probability above which the second is said

    def names(self) -> list[str]:
        """What is predicted for each row: a class by name, or a number; empty where nothing is."""
        known = ~np.isnan(self.scores).any(1)
        if self.classes:
            best = decided(np.nan_to_num(self.scores), self.threshold)
            found = [self.classes[k] for k in best.tolist()]
        else:
            found = [f"{value:.7g}" for value in self.scores[:, 0].tolist()]
        return [name if there else "" for name, there in zip(found, known.tolist(), strict=True)]

    def counts(self) -> dict[str, int]:
        """How often each class is predicted."""
        found = Counter(self.names())
        return {name: found[name] for name in self.classes}

    def table(self) -> Iterator[list[str]]:
        """Rows of words for a CSV file, the names of the columns first."""
        yield [self.id_name, PREDICTION, *(f"probability {name}" for name in self.classes)]
        for id_, name, scores in zip(self.ids, self.names(), self.scores.tolist(), strict=True):
            shares = [f"{share:.7g}" if name else "" for share in scores] if self.classes else []
            yield [id_, name, *shares]


def check_id(id_column: str) -> None:
    """Nothing, or an error where ids would stand in the column of what is predicted."""
    if id_column == PREDICTION:
        raise InputError(f"Ids cannot stand in a column called '{PREDICTION}', as what is predicted does: rename it.")


def ids_of(table: Table, id_column: str) -> list[str]:
    """The cells of a column as they are written, or row numbers from 1 where none is named."""
    return read_cells(table, id_column) if id_column else row_numbers(table.rows)


def row_numbers(rows: int) -> list[str]:
    """1 … rows."""
    return [str(row) for row in range(1, rows + 1)]


def check_free(out: Path, source: Path, *, force: bool) -> None:
    """Nothing, or an error where predictions cannot be written, or would overwrite something unasked."""
    if out.suffix.lower() != ".csv":
        raise InputError(f"Predictions are written as CSV: give --out a name that ends in .csv, not {out.name}.")
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(f"{out} cannot be written: it is a folder, or lies in none: give another --out.")
    if out.exists() and source.exists() and out.samefile(source):
        raise InputError(f"{out} is the file that is read: give another --out.")
    if out.exists() and not force:
        raise InputError(f"{out} exists: give --force to write over it, or another --out.")


def write_predictions(out: Path, found: Predictions) -> None:
    """Writes the table as CSV, in one move."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(found.table())
    fresh = out.with_name(f"{out.name}.new")
    try:
        fresh.write_text(text.getvalue(), encoding="utf-8")
        fresh.replace(out)
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror or error}): give another --out.") from error
