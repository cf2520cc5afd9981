"""Words as codes while a file is read, as long as they are few enough to be kept; then as hashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.cells import AMONG_NUMBERS, BLANKS, number_of, with_point
from csad.data.tables.columns import FEW_NUMBERS, LOOKED_AT, MOST_WORDS, Ids, Whole, Words
from csad.data.tables.dates import days_of, usual_format


class Codes:
    """A column of words that is being read; with ``comma``, 3,5 is a number; ``odd`` is known to be none."""

    def __init__(self, comma: bool, odd: tuple[str, int] = ("", 0)) -> None:
        self.blanks: dict[str, None] = {}  # the words that were read as missing
        self._comma = comma
        self._codes: dict[str, int] = {}  # of words as they stand in the file, with spaces around them
        self._words: dict[str, int] = {}
        self._lines: dict[str, int] = {}  # in which each word comes first
        self._parts: list[NDArray[Any]] = []
        self._full = False
        self._first: tuple[str, ...] = ()
        self._numbers, self._odd = 0, odd

    def skip(self, rows: int) -> None:
        """Takes as many rows without a word."""
        self._parts.append(np.full(rows, -1, np.int32))

    def add(self, words: Sequence[str], lines: Sequence[int]) -> None:
        """Takes the next rows, which stand in these lines."""
        if self._full:
            self._parts.append(_hashes(words))
            return
        if not set(words) <= self._codes.keys():
            for word, line in zip(words, lines, strict=True):
                if word not in self._codes:
                    self._codes[word] = self._met(word.strip(), line)
        self._parts.append(np.fromiter(map(self._codes.__getitem__, words), np.int32, len(words)))
        if len(self._codes) > MOST_WORDS:
            self._overflow()

    def column(self, blanks: tuple[str, ...]) -> Words | Ids:
        """What was read, as one array."""
        if self._full:
            return Ids(np.concatenate(self._parts), self._numbers, self._odd, blanks=blanks, first=self._first)
        words = tuple(self._words)
        told = [word for word in words if word.lower() not in AMONG_NUMBERS]  # which are no dates, but missing ones
        form = usual_format(told) if len(told) > FEW_NUMBERS else ""
        stray = next((word for word in told if form and days_of([word], form) is None), "")
        odd = (stray, self._lines[stray]) if stray else self._odd
        return Words(np.concatenate(self._parts), words, self._numbers, odd, blanks, form if stray else "")

    def _met(self, word: str, line: int) -> int:
        """The code of a word that is new as it is written."""
        if word.lower() in BLANKS:
            if word:
                self.blanks[word] = None
            return -1
        if word not in self._words:
            self._words[word] = len(self._words)
            self._lines[word] = line
            if number_of(with_point(word) if self._comma else word) is not None:
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
    """A number for each word, 0 for a blank; other ones in each process, so only likeness may be read from them."""
    stripped = map(str.strip, words)
    return np.array([0 if word.lower() in BLANKS else hash(word) or 1 for word in stripped], np.int64)
