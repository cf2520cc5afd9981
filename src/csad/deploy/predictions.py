"""The predictions for the rows of a file with their ids, and the CSV file that they are written to."""

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
from csad.data.tables.read_table import read_cells
from csad.data.tables.table import ColumnTable
from csad.deploy.decision import HALF, decided
from csad.errors import InputError
from csad.messages import message

ROW = "row"  # the name of ids that are row numbers
PREDICTION = "prediction"
# A spreadsheet begins a formula at the beginning of a cell, or after what it may take for the end of one, whatever it
# passes over there. A number with a sign, or dashes alone, begin none.
PASSED = r"[\s\"\x00-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*"
END = r"\s*(?:[,;\t\r\n]|$)"
NUMBER = r"[+-]?(?:[0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?"
FORMULA = re.compile(rf"(^|[,;\t\r\n])(?={PASSED}[=+\-@＝＋－＠])(?! *(?:{NUMBER}|-+){END})")
SHOWN = 40  # letters of such a cell that a notice shows


@dataclass(frozen=True)
class Predictions:
    """The predictions for n rows.

    Args:
        id_name: the name of the column of ids.
        ids: an id for each row.
        classes: the names of the classes; none for a number.
        scores: probabilities (n, classes) or numbers (n, 1); NaN in rows without a prediction.
        notices: sentences on values that training did not know.
        threshold: the probability above which the second of two classes is predicted.
    """

    id_name: str
    ids: Sequence[str]
    classes: tuple[str, ...]
    scores: NDArray[Any]
    notices: tuple[str, ...]
    threshold: float = HALF

    def names(self) -> list[str]:
        """The prediction for each row: a class by name, or a number; empty for a row without one."""
        known = ~np.isnan(self.scores).any(1)
        if self.classes:
            best = decided(np.nan_to_num(self.scores), self.threshold)
            names = [self.classes[k] for k in best.tolist()]
        else:
            names = [f"{value:.7g}" for value in self.scores[:, 0].tolist()]
        return [name if predicted else "" for name, predicted in zip(names, known.tolist(), strict=True)]

    def formulas(self) -> list[str]:
        """The headings, classes and ids that a spreadsheet would take for formulas, each once."""
        cells = (*self.headings(), *self.classes, *self.ids)
        return [cell for cell in dict.fromkeys(cells) if excel_safe(cell) != cell]

    def headings(self) -> list[str]:
        """The names of the table's columns."""
        return [self.id_name, PREDICTION, *(f"probability {name}" for name in self.classes)]

    def counts(self) -> dict[str, int]:
        """How often each class is predicted."""
        counts = Counter(self.names())
        return {name: counts[name] for name in self.classes}

    def table(self) -> Iterator[list[str]]:
        """Rows of words for a CSV file, the names of the columns first."""
        yield self.headings()
        for id_, name, scores in zip(self.ids, self.names(), self.scores.tolist(), strict=True):
            shares = [f"{share:.7g}" if name else "" for share in scores] if self.classes else []
            yield [id_, name, *shares]


def excel_safe(cell: str) -> str:
    """The cell with an apostrophe before each formula that a spreadsheet would begin."""
    return FORMULA.sub(r"\1'", cell)


def formula_notice(predictions: Predictions, out: Path) -> str:
    """A sentence on cells that a spreadsheet would run as formulas; empty if there are none."""
    cells = predictions.formulas()
    if not cells:
        return ""
    first = cells[0] if len(cells[0]) <= SHOWN else f"{cells[0][:SHOWN]}…"
    more = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
    return message("csv-formula-cells", value=first, more=more, file=out)


def check_id(id_column: str) -> None:
    """Raise InputError if the column of ids has the name of the column of predictions."""
    if id_column == PREDICTION:
        raise InputError("id-column-name-taken", column=PREDICTION)


def ids_of(table: ColumnTable, id_column: str) -> list[str]:
    """The cells of a column as they are written, or row numbers from 1 if no column is named."""
    return read_cells(table, id_column) if id_column else row_numbers(table.rows)


def row_numbers(rows: int) -> list[str]:
    """1 … rows."""
    return [str(row) for row in range(1, rows + 1)]


def check_free(out: Path, source: Path, *, force: bool) -> None:
    """Raise InputError if predictions cannot be written, or would overwrite something unasked."""
    if out.suffix.lower() != ".csv":
        raise InputError("predictions-not-csv", name=out.name)
    if out.is_dir() or not out.parent.is_dir():
        raise InputError("out-path-invalid", file=out)
    if out.exists() and source.exists() and out.samefile(source):
        raise InputError("out-is-input", file=out)
    if out.exists() and not force:
        raise InputError("out-file-exists", file=out)


def write_predictions(out: Path, predictions: Predictions, *, safe: bool = False) -> None:
    """Write the table as CSV, in one move; ``safe``: without anything that a spreadsheet would take for a formula."""
    rows = ([excel_safe(cell) for cell in row] for row in predictions.table()) if safe else predictions.table()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    try:
        write_whole(out, text.getvalue())
    except OSError as error:
        raise InputError("out-not-writable", file=out, reason=error.strerror or error) from error
