"""Infers what columns of words hold, block by block: numbers if all words are, else dates, else categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.table import (
    AMONG_NUMBERS,
    BLANKS,
    FEW_NUMBERS,
    ISO,
    LOOKED_AT,
    MOST_WORDS,
    THOUSANDS,
    CategoryColumn,
    Column,
    ColumnTable,
    DateColumn,
    HighCardinalityColumn,
    NumberColumn,
    Whole,
    comma_to_point,
    number_of,
    numbers_of,
)
from csad.errors import InputError

DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y")
FORMATS = (ISO, *(day + time for day in DAYS for time in ("", " %H:%M", " %H:%M:%S")))
SECONDS = 86_400
FIRST = 20  # so many words show which formats are likely


def days_of(words: Iterable[str], form: str) -> dict[str, float] | None:
    """The days since 1970 of each word, None if one is no date of this format. Hours are parts of a day."""
    try:
        return {word: _instant(word.strip(), form).timestamp() / SECONDS for word in words}
    except (ValueError, OverflowError):
        return None


def usual_format(words: Sequence[str]) -> str:
    """The format in which nearly all words are dates; of several formats the best one; empty if there is none."""
    first = words[:FIRST]
    likely = [form for form in FORMATS if _fitting(first, form) >= len(first) / 2]
    fitting = {form: _fitting(words, form) for form in likely}
    form = max(fitting, key=fitting.__getitem__, default="")
    return form if form and fitting[form] >= 0.9 * len(words) else ""


def _fitting(words: Iterable[str], form: str) -> int:
    return sum(days_of([word], form) is not None for word in words)


def _instant(text: str, form: str) -> datetime:
    moment = datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class CategoryCodes:
    """A column of words, while it is read. With ``comma``, 3,5 is a number; ``odd`` is known to be no number."""

    def __init__(self, comma: bool, odd: tuple[str, int] = ("", 0)) -> None:
        self.blanks: dict[str, None] = {}  # the words that were read as missing
        self._comma = comma
        self._codes: dict[str, int] = {}  # of words as the file has them, with spaces around them
        self._words: dict[str, int] = {}
        self._lines: dict[str, int] = {}  # in which each word appears first
        self._parts: list[NDArray[Any]] = []
        self._full = False
        self._first: tuple[str, ...] = ()
        self._numbers, self._odd = 0, odd

    def skip(self, rows: int) -> None:
        """Add so many rows without a word."""
        self._parts.append(np.full(rows, -1, np.int32))

    def add(self, words: Sequence[str], lines: Sequence[int]) -> None:
        """Add the next rows, with the lines they are in."""
        if self._full:
            self._parts.append(_hashes(words))
            return
        if not set(words) <= self._codes.keys():
            for word, line in zip(words, lines, strict=True):
                if word not in self._codes:
                    self._codes[word] = self._code_of(word.strip(), line)
        self._parts.append(np.fromiter(map(self._codes.__getitem__, words), np.int32, len(words)))
        if len(self._codes) > MOST_WORDS:
            self._overflow()

    def column(self, blanks: tuple[str, ...]) -> CategoryColumn | HighCardinalityColumn:
        """The rows so far, as one column."""
        if self._full:
            return HighCardinalityColumn(
                np.concatenate(self._parts), self._numbers, self._odd, blanks=blanks, first=self._first
            )
        words = tuple(self._words)
        known = [word for word in words if word.lower() not in AMONG_NUMBERS]  # other words are missing dates
        form = usual_format(known) if len(known) > FEW_NUMBERS else ""
        stray = next((word for word in known if form and days_of([word], form) is None), "")
        odd = (stray, self._lines[stray]) if stray else self._odd
        return CategoryColumn(np.concatenate(self._parts), words, self._numbers, odd, blanks, form if stray else "")

    def _code_of(self, word: str, line: int) -> int:
        """The code of a word in a new spelling."""
        if word.lower() in BLANKS:
            if word:
                self.blanks[word] = None
            return -1
        if word not in self._words:
            self._words[word] = len(self._words)
            self._lines[word] = line
            if number_of(comma_to_point(word) if self._comma else word) is not None:
                self._numbers += 1
            elif not self._odd[0]:
                self._odd = (word, line)
        return self._words[word]

    def _overflow(self) -> None:
        keys = np.append(_hashes(self._words), 0)  # the last is for −1, a missing word
        self._parts = [keys[part] for part in self._parts]
        self._full = True
        self._first = tuple(islice(self._words, LOOKED_AT))
        self._codes.clear()
        self._words.clear()
        self._lines.clear()


def _hashes(words: Iterable[str]) -> Whole:
    """A number for each word, 0 for a blank. It differs between processes: it only shows which words are equal."""
    stripped = map(str.strip, words)
    return np.array([0 if word.lower() in BLANKS else hash(word) or 1 for word in stripped], np.int64)


Cells = Sequence[str]
Blocks = Callable[[], Iterable[tuple[Sequence[int], Sequence[Cells]]]]


def infer_columns(blocks: Blocks, count: int, *, comma: bool = False) -> list[Column]:
    """The columns of ``blocks()``. A block is the lines of its rows, and the words of every column.

    The function is called once more if words follow blocks of numbers or dates in a column, because by then the
    spelling of those is lost. With ``comma``, 3,5 is a number too.
    """
    columns = [ColumnInference(comma=comma) for _ in range(count)]
    _read(blocks, columns, range(count))
    surprised = {k: column.surprise for k, column in enumerate(columns) if column.surprise}
    for k, odd in surprised.items():
        columns[k] = ColumnInference(comma=comma, odd=odd)
    if surprised:
        _read(blocks, columns, surprised)
    return [columns.pop(0).column() for _ in range(count)]  # one by one, so that the parts of each are freed


def _read(blocks: Blocks, columns: list[ColumnInference], places: Iterable[int]) -> None:
    for lines, words in blocks():
        for k in places:
            columns[k].add(words[k], lines)


class ColumnInference:
    """A column, while it is read. ``surprise`` is the first word, with its line, after numbers or dates.

    ``odd`` is such a word of an earlier reading: the column then holds words.
    """

    def __init__(self, *, comma: bool = False, odd: tuple[str, int] | None = None) -> None:
        self.surprise: tuple[str, int] | None = None
        self._comma = comma
        self._kind = "words" if odd else ""  # unknown as long as all cells are missing
        self._rows = 0
        self._blanks: dict[str, None] = {}
        self._numbers: list[NDArray[Any]] = [np.empty(0, np.float32)]
        self._dates: dict[str, list[NDArray[np.float64]]] = {}
        self._codes = CategoryCodes(comma, odd or ("", 0))
        self._doubtful, self._decimal = "", False  # the first number with a comma; whether one of them can only be 3,5

    def add(self, words: Cells, lines: Sequence[int]) -> None:
        """Add the next rows, with the lines they are in."""
        if self.surprise:
            return
        if not (self._add_numbers(words) or self._add_dates(words) or self._add_words(words, lines)):
            cells = ((word.strip(), line) for word, line in zip(words, lines, strict=True))
            self.surprise = next((cell for cell in cells if self._is_odd(cell[0])), ("", 0))
            self._numbers, self._dates = [], {}
        self._rows += len(words)

    def column(self) -> Column:
        """The rows so far, as one column."""
        if self._kind == "words":
            return self._codes.column(tuple(self._blanks | self._codes.blanks))
        if self._kind == "dates":
            return DateColumn({form: np.concatenate(days) for form, days in self._dates.items()}, tuple(self._blanks))
        doubtful = "" if self._decimal else self._doubtful
        return NumberColumn(np.concatenate(self._numbers), tuple(self._blanks), doubtful)

    def _is_odd(self, word: str) -> bool:
        if numbers_of([word], comma=self._comma) is not None:
            return self._kind == "dates" and word.lower() not in AMONG_NUMBERS
        return all(days_of([word], form) is None for form in self._dates)

    def _add_numbers(self, words: Cells) -> bool:
        if self._kind not in ("", "numbers"):
            return False
        parsed = numbers_of(words, comma=self._comma)
        if parsed is None:
            return False
        values, missing = parsed
        self._numbers.append(values)
        if self._comma:
            self._check_commas(words)
        self._blanks |= dict.fromkeys(sorted(missing))
        if not np.isnan(values).all() or any(word.lower() not in BLANKS for word in missing):
            self._kind = "numbers"
        return True

    def _check_commas(self, words: Cells) -> None:
        """Remember whether each comma so far could stand between thousands as well."""
        for word in words:
            if "," in word:
                self._doubtful = self._doubtful or word.strip()
                self._decimal = self._decimal or not THOUSANDS.fullmatch(word.strip())

    def _add_dates(self, words: Cells) -> bool:
        if self._kind not in ("", "dates"):
            return False
        present = set(words)
        blank = {word for word in present if word.strip().lower() in AMONG_NUMBERS}
        before = self._dates if self._kind else {form: [np.full(self._rows, np.nan)] for form in FORMATS}
        fitting = {}
        for form, parts in before.items():
            days = days_of(present - blank, form)
            if days is not None:
                days |= dict.fromkeys(blank, np.nan)
                fitting[form] = [*parts, np.array([days[word] for word in words])]
        if not fitting:
            return False
        self._kind, self._dates, self._numbers = "dates", fitting, []
        self._blanks |= dict.fromkeys(sorted({word.strip() for word in blank} - {""}))
        return True

    def _add_words(self, words: Cells, lines: Sequence[int]) -> bool:
        if self._kind not in ("", "words"):
            return False
        if not self._kind:
            self._kind = "words"
            self._codes.skip(self._rows)
            self._numbers = []
        self._codes.add(words, lines)
        return True


PLACE = Path("the given rows")  # their name in messages


def is_raw(values: Any) -> bool:
    """Whether these are raw values with the names of their columns, not an array."""
    return isinstance(values, Mapping) or _is_frame(values) or _is_rows(values)


def table_from_values(values: Any) -> ColumnTable:
    """The table of raw values: a dict of columns (of single values: one row), a data frame, or dicts as rows.

    None and NaN are missing. Every value is read like a cell of a CSV file.
    """
    columns = _columns(values)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InputError("column-lengths-differ", low=min(lengths), high=max(lengths))
    if lengths <= {0}:
        raise InputError("no-rows-given")
    words = [[_word(value) for value in column] for column in columns.values()]

    def blocks() -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        yield range(1, 1 + len(words[0])), words

    return ColumnTable(PLACE, dict(zip(columns, infer_columns(blocks, len(words)), strict=True)), len(words[0]))


def _columns(values: Any) -> dict[str, list[Any]]:
    if _is_rows(values):
        names = {name for row in values for name in row}
        ordered = [name for name in values[0] if name in names] + sorted(names - set(values[0]), key=str)
        return {str(name): [row.get(name) for row in values] for name in ordered}
    names = values.columns if _is_frame(values) else values
    return {str(name): _cells(values[name]) for name in names}


def _cells(column: Any) -> list[Any]:
    return [column] if isinstance(column, str | bytes) or not hasattr(column, "__iter__") else list(column)


def _is_rows(values: Any) -> bool:
    return isinstance(values, list | tuple) and bool(values) and all(isinstance(row, Mapping) for row in values)


def _is_frame(values: Any) -> bool:
    """Whether this is a data frame of whatever library."""
    return hasattr(values, "columns") and hasattr(values, "__getitem__")


def _word(value: Any) -> str:
    if value is None:
        return ""
    word = value.isoformat() if isinstance(value, date) else str(value)
    return "" if word == "NaT" else word  # NaN is a blank among words already
