"""What is predicted for the rows of a file, beside their ids, and the CSV file that it is written to."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.atomic import write_whole
from csad.data.tables.columns import Table
from csad.data.tables.files import read_cells
from csad.deploy.decision import HALF, decided
from csad.errors import InputError

ROW = "row"  # what the ids are called where they are row numbers
PREDICTION = "prediction"
# Where a spreadsheet would begin a formula: at the beginning of a cell, or after what it may take for the end of one,
# whatever it passes over there. A number with a sign, or dashes alone, are none.
PASSED = r"[\s\"\x00-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*"
END = r"\s*(?:[,;\t\r\n]|$)"
NUMBER = r"[+-]?(?:[0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?"
FORMULA = re.compile(rf"(^|[,;\t\r\n])(?={PASSED}[=+\-@＝＋－＠])(?! *(?:{NUMBER}|-+){END})")
SHOWN = 40  # letters of such a cell that a notice shows


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

    def formulas(self) -> list[str]:
        """The headings, classes and ids that a spreadsheet would take for formulas, each once."""
        cells = (*self.headings(), *self.classes, *self.ids)
        return [cell for cell in dict.fromkeys(cells) if excel_safe(cell) != cell]

    def headings(self) -> list[str]:
        """The names of the table's columns."""
        return [self.id_name, PREDICTION, *(f"probability {name}" for name in self.classes)]

    def counts(self) -> dict[str, int]:
        """How often each class is predicted."""
        found = Counter(self.names())
        return {name: found[name] for name in self.classes}

    def table(self) -> Iterator[list[str]]:
        """Rows of words for a CSV file, the names of the columns first."""
        yield self.headings()
        for id_, name, scores in zip(self.ids, self.names(), self.scores.tolist(), strict=True):
            shares = [f"{share:.7g}" if name else "" for share in scores] if self.classes else []
            yield [id_, name, *shares]


def excel_safe(cell: str) -> str:
    """The cell with an apostrophe where a spreadsheet would begin a formula."""
    return FORMULA.sub(r"\1'", cell)


def formula_notice(found: Predictions, out: Path) -> str:
    """A sentence on cells that a spreadsheet would run as formulas; empty if there are none."""
    cells = found.formulas()
    if not cells:
        return ""
    first = cells[0] if len(cells[0]) <= SHOWN else f"{cells[0][:SHOWN]}…"
    more = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
    return (
        f"A spreadsheet would run '{first}'{more} in {out} as a formula: give --excel-safe if the file is to be opened "
        "in one."
    )


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


def write_predictions(out: Path, found: Predictions, *, safe: bool = False) -> None:
    """Write the table as CSV, in one move; ``safe``: without anything that a spreadsheet would take for a formula."""
    rows = ([excel_safe(cell) for cell in row] for row in found.table()) if safe else found.table()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    try:
        write_whole(out, text.getvalue())
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror or error}): give another --out.") from error
