"""What a cell of a text file says: a number, a word, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Words, in small letters, for a value that is missing. Those added below are so among numbers and dates only: 'none'
# may be how ill somebody is, and '-' the outcome of a test.
BLANKS = frozenset(("", "na", "nan", "n/a", "#n/a", "<na>", "null", "?"))
AMONG_NUMBERS = BLANKS | {"none", ".", "-"}
SIGNS = re.compile(r"^(?:[$€£¥]|USD|EUR|GBP)\s?|\s?(?:[%$€£¥]|USD|EUR|GBP)$")  # around a number
THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
POINTED = re.compile(r"-?[1-9]\d{0,2}(\.\d{3})+,\d+")  # 1.000,50
LARGEST = 1e30  # a number beyond, like infinity, measures nothing and counts as missing


def number_of(word: str) -> float | None:
    """The number that a word reads as, if any; infinity and 1_000, which Python would take, are none."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) < np.inf and "_" not in word else None


def with_point(word: str) -> str:
    """3,5 as 3.5; a word with both signs, or two commas, stays as it is."""
    return word.replace(",", ".") if word.count(",") == 1 and "." not in word else word


def undressed(word: str) -> str:
    """The number that 22,550, 30.7% or $5 most likely show, as a program writes it; nothing where there is none."""
    word = word.strip()
    bare = SIGNS.sub("", word.replace("\N{MINUS SIGN}", "-"))
    bare = bare.replace(".", "").replace(",", ".") if POINTED.fullmatch(bare) else bare
    bare = bare.replace(",", "") if THOUSANDS.fullmatch(bare) else bare
    return bare if bare != word and number_of(bare) is not None else ""


def numbers_of(words: Sequence[str], *, comma: bool = False) -> tuple[NDArray[Any], set[str]] | None:
    """The numbers, NaN where one is missing, and the words that say so; nothing where a word is neither.

    With ``comma``, 3,5 is a number too. The numbers are float32 where that loses nothing, else float64.
    """
    try:
        values = np.array([float(word) if word else np.nan for word in words], np.float64)
    except ValueError:
        found = _one_by_one(words, comma)
        if found is None:
            return None
        values = np.array(found, np.float64)
    if "_" in "".join(words):
        return None
    values[np.abs(values) > LARGEST] = np.nan
    missing = {words[row].strip() for row in np.flatnonzero(np.isnan(values)).tolist()}
    return narrow(values), missing - {""}


def narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """The same numbers in half the memory, where that loses nothing."""
    with np.errstate(over="ignore", under="ignore"):
        small = values.astype(np.float32)
    return small if np.array_equal(small, values, equal_nan=True) else values


def _one_by_one(words: Sequence[str], comma: bool) -> list[float] | None:
    found = []
    for word in words:
        text = word.strip().lower()
        try:
            found.append(np.nan if text in AMONG_NUMBERS else float(with_point(text) if comma else text))
        except ValueError:
            return None
    return found
