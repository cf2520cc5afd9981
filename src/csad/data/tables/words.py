"""The words of a file, block by block, as columns: numbers where all are, else dates where all are, else words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.cells import AMONG_NUMBERS, BLANKS, THOUSANDS, numbers_of
from csad.data.tables.codes import Codes
from csad.data.tables.columns import Column, Dates, Numbers
from csad.data.tables.dates import FORMATS, days_of

Words = Sequence[str]
Blocks = Callable[[], Iterable[tuple[Sequence[int], Sequence[Words]]]]


def grown(blocks: Blocks, count: int, *, comma: bool = False) -> list[Column]:
    """The columns of ``blocks()``, each of which is the lines of its rows and the words of every column.

    It is called once more where a column held words after all, after blocks of numbers or dates: how those were
    written is gone by then. With ``comma``, 3,5 is a number too.
    """
    columns = [Growing(comma=comma) for _ in range(count)]
    _read(blocks, columns, range(count))
    surprised = {k: column.surprise for k, column in enumerate(columns) if column.surprise}
    for k, odd in surprised.items():
        columns[k] = Growing(comma=comma, odd=odd)
    if surprised:
        _read(blocks, columns, surprised)
    return [columns.pop(0).column() for _ in range(count)]  # one by one, so that the parts of each are freed


def _read(blocks: Blocks, columns: list[Growing], wanted: Iterable[int]) -> None:
    for lines, words in blocks():
        for k in wanted:
            columns[k].add(words[k], lines)


class Growing:
    """A column that is being read. ``surprise`` is the first word, and its line, that came after numbers or dates.

    ``odd`` is such a word of an earlier reading: all are words then.
    """

    def __init__(self, *, comma: bool = False, odd: tuple[str, int] | None = None) -> None:
        self.surprise: tuple[str, int] | None = None
        self._comma = comma
        self._kind = "words" if odd else ""  # unknown as long as all is missing
        self._rows = 0
        self._blanks: dict[str, None] = {}
        self._numbers: list[NDArray[Any]] = [np.empty(0, np.float32)]
        self._dates: dict[str, list[NDArray[np.float64]]] = {}
        self._codes = Codes(comma, odd or ("", 0))
        self._doubtful, self._decimal = "", False  # the first number with a comma; whether one can only be 3,5

    def add(self, words: Words, lines: Sequence[int]) -> None:
        """Takes the next rows, which stand in these lines."""
        if self.surprise:
            return
        if not (self._add_numbers(words) or self._add_dates(words) or self._add_words(words, lines)):
            cells = ((word.strip(), line) for word, line in zip(words, lines, strict=True))
            self.surprise = next((cell for cell in cells if self._is_odd(cell[0])), ("", 0))
            self._numbers, self._dates = [], {}
        self._rows += len(words)

    def column(self) -> Column:
        """What was read, as one array."""
        if self._kind == "words":
            return self._codes.column(tuple(self._blanks | self._codes.blanks))
        if self._kind == "dates":
            return Dates({form: np.concatenate(days) for form, days in self._dates.items()}, tuple(self._blanks))
        doubtful = "" if self._decimal else self._doubtful
        return Numbers(np.concatenate(self._numbers), tuple(self._blanks), doubtful)

    def _is_odd(self, word: str) -> bool:
        if numbers_of([word], comma=self._comma) is not None:
            return self._kind == "dates" and word.lower() not in AMONG_NUMBERS
        return all(days_of([word], form) is None for form in self._dates)

    def _add_numbers(self, words: Words) -> bool:
        if self._kind not in ("", "numbers"):
            return False
        found = numbers_of(words, comma=self._comma)
        if found is None:
            return False
        values, missing = found
        self._numbers.append(values)
        if self._comma:
            self._see_commas(words)
        self._blanks |= dict.fromkeys(sorted(missing))
        if not np.isnan(values).all() or any(word.lower() not in BLANKS for word in missing):
            self._kind = "numbers"
        return True

    def _see_commas(self, words: Words) -> None:
        """Whether each comma so far could stand between thousands as well."""
        for word in words:
            if "," in word:
                self._doubtful = self._doubtful or word.strip()
                self._decimal = self._decimal or not THOUSANDS.fullmatch(word.strip())

    def _add_dates(self, words: Words) -> bool:
        if self._kind not in ("", "dates"):
            return False
        present = set(words)
        blank = {word for word in present if word.strip().lower() in AMONG_NUMBERS}
        before = self._dates if self._kind else {form: [np.full(self._rows, np.nan)] for form in FORMATS}
        fitting = {}
        for form, parts in before.items():
            found = days_of(present - blank, form)
            if found is not None:
                found |= dict.fromkeys(blank, np.nan)
                fitting[form] = [*parts, np.array([found[word] for word in words])]
        if not fitting:
            return False
        self._kind, self._dates, self._numbers = "dates", fitting, []
        self._blanks |= dict.fromkeys(sorted({word.strip() for word in blank} - {""}))
        return True

    def _add_words(self, words: Words, lines: Sequence[int]) -> bool:
        if self._kind not in ("", "words"):
            return False
        if not self._kind:
            self._kind = "words"
            self._codes.skip(self._rows)
            self._numbers = []
        self._codes.add(words, lines)
        return True
