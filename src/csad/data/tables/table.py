"""A table in memory, column by column: numbers, words as codes, or days; and how one cell reads as a number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError
from csad.messages import message

# Words, in small letters, for a missing value. Those added below count only among numbers and dates: 'none' may say how
# ill somebody is, and '-' may be the outcome of a test.
BLANKS = frozenset(("", "na", "nan", "n/a", "#n/a", "<na>", "null", "?"))
AMONG_NUMBERS = BLANKS | {"none", ".", "-"}
SIGNS = re.compile(r"^(?:[$€£¥]|USD|EUR|GBP)\s?|\s?(?:[%$€£¥]|USD|EUR|GBP)$")  # around a number
THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
POINTED = re.compile(r"-?[1-9]\d{0,2}(\.\d{3})+,\d+")  # 1.000,50
LARGEST = 1e30  # a larger number, like infinity, measures nothing and counts as missing


def number_of(word: str) -> float | None:
    """The number that a word reads as, else None; infinity and 1_000, which Python takes, are no numbers here."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) < np.inf and "_" not in word else None


def comma_to_point(word: str) -> str:
    """3,5 as 3.5; a word with a point and a comma, or with two commas, stays as it is."""
    return word.replace(",", ".") if word.count(",") == 1 and "." not in word else word


def strip_currency(word: str) -> str:
    """The number that 22,550, 30.7% or $5 most likely means, as a program writes it; empty if there is none."""
    word = word.strip()
    bare = SIGNS.sub("", word.replace("\N{MINUS SIGN}", "-"))
    bare = bare.replace(".", "").replace(",", ".") if POINTED.fullmatch(bare) else bare
    bare = bare.replace(",", "") if THOUSANDS.fullmatch(bare) else bare
    return bare if bare != word and number_of(bare) is not None else ""


def numbers_of(words: Sequence[str], *, comma: bool = False) -> tuple[NDArray[Any], set[str]] | None:
    """The numbers, NaN if missing, and the words that mean a missing one; None if a word is neither.

    With ``comma``, 3,5 is a number too. The numbers are float32 if that loses nothing, else float64.
    """
    try:
        values = np.array([float(word) if word else np.nan for word in words], np.float64)
    except ValueError:
        numbers = _one_by_one(words, comma)
        if numbers is None:
            return None
        values = np.array(numbers, np.float64)
    if "_" in "".join(words):
        return None
    values[np.abs(values) > LARGEST] = np.nan
    missing = {words[row].strip() for row in np.flatnonzero(np.isnan(values)).tolist()}
    return to_float32_if_exact(values), missing - {""}


def to_float32_if_exact(values: NDArray[np.float64]) -> NDArray[Any]:
    """The same numbers in half the memory, if that loses nothing."""
    with np.errstate(over="ignore", under="ignore"):
        small = values.astype(np.float32)
    return small if np.array_equal(small, values, equal_nan=True) else values


def _one_by_one(words: Sequence[str], comma: bool) -> list[float] | None:
    numbers = []
    for word in words:
        text = word.strip().lower()
        try:
            numbers.append(np.nan if text in AMONG_NUMBERS else float(comma_to_point(text) if comma else text))
        except ValueError:
            return None
    return numbers


Floats = NDArray[Any]  # float32 if that loses nothing, else float64
Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]
FEW_NUMBERS = 20  # up to so many different numbers may be classes; more of them measure something
MOST_KINDS = 100  # so many different words may be categories


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, NaN if missing; ``blanks`` are the words that were read as missing.

    ``doubtful`` is a number whose comma may stand for a point or between thousands, as far as the file shows.
    """

    values: Floats
    blanks: tuple[str, ...] = ()
    doubtful: str = ""

    def missing(self) -> Mask:
        """The rows without a known value."""
        return np.isnan(self.values)

    def take(self, rows: Whole) -> NumberColumn:
        """The same column of these rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True)
class CategoryColumn:
    """Words as their places in ``words``, −1 if missing.

    ``numbers`` of the words read like numbers; ``odd`` is the first word that does not, with its line. If nearly all
    words are dates in one ``date_format``, ``odd`` is the first that is no date.
    """

    codes: NDArray[np.int32]
    words: tuple[str, ...]
    numbers: int = 0
    odd: tuple[str, int] = ("", 0)
    blanks: tuple[str, ...] = ()
    date_format: str = ""

    def missing(self) -> Mask:
        """The rows without a known value."""
        return self.codes < 0

    def take(self, rows: Whole) -> CategoryColumn:
        """The same column of these rows."""
        return replace(self, codes=self.codes[rows])

    @property
    def mostly_numbers(self) -> bool:
        """Whether these are numbers with some words among them, such as 'unknown' for an age."""
        return self.numbers > max(FEW_NUMBERS, len(self.words) / 2)


@dataclass(frozen=True)
class HighCardinalityColumn:
    """Words too many to keep: the keys only show which rows are alike. 0 if a word is missing."""

    keys: Whole
    numbers: int = 0  # how many of the first ``MOST_WORDS`` words read like numbers
    odd: tuple[str, int] = ("", 0)  # the first word that does not, with its line
    what: str = "words"  # or the type of a Parquet column that holds neither numbers nor words nor dates
    blanks: tuple[str, ...] = ()
    first: tuple[str, ...] = ()  # some words, which show what the column holds

    def missing(self) -> Mask:
        """The rows without a known value."""
        return np.equal(self.keys, 0)

    def take(self, rows: Whole) -> HighCardinalityColumn:
        """The same column of these rows."""
        return replace(self, keys=self.keys[rows])

    @property
    def mostly_numbers(self) -> bool:
        """Whether these are numbers with some words among them."""
        return self.numbers > MOST_WORDS / 2


@dataclass(frozen=True)
class DateColumn:
    """Days since 1970, NaN if missing, by each format that fits all cells; the first format is the usual one."""

    days: Mapping[str, NDArray[np.float64]]
    blanks: tuple[str, ...] = ()

    def missing(self) -> Mask:
        """The rows without a known value."""
        return np.isnan(self.days[self.format])

    def take(self, rows: Whole) -> DateColumn:
        """The same column of these rows."""
        return DateColumn({form: days[rows] for form, days in self.days.items()}, self.blanks)

    @property
    def format(self) -> str:
        """The format that counts if nothing else decides."""
        return next(iter(self.days))


Column = NumberColumn | CategoryColumn | HighCardinalityColumn | DateColumn
LOOKED_AT = 1000  # so many words of a column show what it holds
MOST_WORDS = 10_000  # so many different words of a column are kept; a column with more holds ids or free text


@dataclass(frozen=True)
class ColumnTable:
    """Columns by name, all of ``rows`` rows, and the file they come from."""

    path: Path
    columns: Mapping[str, Column]
    rows: int

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise InputError("unknown-column", column=name, file=self.path, advice=self._advice(name))
        return self.columns[name]

    def _advice(self, name: str) -> str:
        small = {known.lower(): known for known in self.columns}
        near = self.with_part(name) or "".join(small[n] for n in get_close_matches(name.lower(), small, 1, cutoff=0.7))
        return f"Nearest: {near}." if near else f"It has {named_few(tuple(self.columns))}."

    def with_part(self, name: str) -> str:
        """The column with a comma in its name, of which this is one part; empty if there is none."""
        return next((known for known in self.columns if "," in known and name in map(str.strip, known.split(","))), "")


def named(column: NumberColumn | CategoryColumn) -> tuple[Whole, tuple[str, ...]]:
    """Codes (n,), −1 if missing, and names of the different values: numbers in their order, then words.

    A number has one name, however it is written: a column that holds words here may hold only numbers elsewhere.
    """
    codes = np.full(len(column.missing()), -1, np.int64)
    known = ~column.missing()
    if isinstance(column, NumberColumn):
        values, codes[known] = np.unique(column.values[known], return_inverse=True)
        return codes, tuple(number_name(value) for value in values.tolist())
    present, place = np.unique(column.codes[known], return_inverse=True)
    names = [_name(column.words[code]) for code in present.tolist()]
    ordered = sorted(set(names), key=_order)
    home = {name: code for code, name in enumerate(ordered)}
    codes[known] = np.array([home[name] for name in names], np.int64)[place]
    return codes, tuple(ordered)


def number_name(value: float) -> str:
    """The number as people write it: 3, not 3.0."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def values_of(column: Column) -> NDArray[Any]:
    """A value for each row, equal if the cells are equal; in rows with a missing cell the value means nothing."""
    if isinstance(column, NumberColumn):
        return column.values
    if isinstance(column, DateColumn):
        return column.days[column.format]
    return column.codes if isinstance(column, CategoryColumn) else column.keys


def keys_of(column: Column) -> Whole:
    """A number for each row, equal if the values are equal, counted in the order of first appearance."""
    _, first, place = np.unique(values_of(column), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place.reshape(-1)].astype(np.int64)


def named_few(names: tuple[str, ...], most: int = 8) -> str:
    """The first few names in one line, with commas between them."""
    return ", ".join(" ".join(name.split()) for name in names[:most]) + (", …" if len(names) > most else "")


def _name(word: str) -> str:
    value = number_of(word)
    return word if value is None else number_name(value)


def _order(name: str) -> tuple[bool, float, str]:
    value = number_of(name)
    return value is None, value or 0.0, name


class ColumnUse(NamedTuple):
    """What a column holds and what becomes of it, in words."""

    kind: str
    becomes: str


ISO = "ISO"  # the date format of that standard
LETTERS = {
    "%d": "day", "%m": "month", "%b": "month", "%Y": "year", "%H": "hours", "%M": "minutes", "%S": "seconds",
}  # fmt: skip
YES_OR_NO = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))


def kind_of(column: Column) -> str:
    """What a column holds, in words."""
    missing = int(column.missing().sum())
    some = f", {missing:,} missing" if missing else ""
    if missing == len(column.missing()):
        return "nothing"
    if isinstance(column, NumberColumn):
        return f"numbers{some}"
    if isinstance(column, DateColumn):
        return f"dates ({date_words(column.format)}){some}"
    if isinstance(column, HighCardinalityColumn):
        return f"very many different words{some}" if column.what == "words" else column.what
    kinds = named(column)[1]
    return ("yes or no" if is_yes_or_no(kinds) else f"{len(kinds):,} different word{'s' * (len(kinds) != 1)}") + some


def is_yes_or_no(kinds: tuple[str, ...]) -> bool:
    """Whether the two words mean no and yes."""
    return tuple(kind.lower() for kind in kinds) in YES_OR_NO


def date_words(form: str) -> str:
    """A date format for people: day/month/year."""
    for letter, word in LETTERS.items():
        form = form.replace(letter, word)
    return form


def check_not_mixed(name: str, column: Column, table: ColumnTable) -> None:
    """Raise InputError if there are words among many numbers: their meaning cannot be inferred."""
    if isinstance(column, CategoryColumn | HighCardinalityColumn) and column.odd[0] and column.mostly_numbers:
        where = f"{column.odd[0]!r} in line {column.odd[1]}"
        raise InputError("text-in-number-column", column=name, file=table.path, value=where)


def advice_on_signs(column: Column) -> str:
    """What to do about words that are nearly all numbers with signs around them, as 22,550 or 30.7%; else empty."""
    words = (
        column.words[:LOOKED_AT]
        if isinstance(column, CategoryColumn)
        else column.first
        if isinstance(column, HighCardinalityColumn)
        else ()
    )
    plain = {word: bare for word in words if (bare := strip_currency(word))}
    numbers = len(plain) + sum(number_of(word) is not None for word in words)
    if not plain or numbers < 0.9 * len(words):
        return ""
    word, bare = next(iter(plain.items()))
    return f"; if {word!r} means {bare}, write all values without such signs and the column will be read as numbers"


def comma_words(name: str, column: Column) -> list[str]:
    """A sentence about a number whose comma the file leaves unclear, if there is one."""
    if not isinstance(column, NumberColumn) or not column.doubtful:
        return []
    word = column.doubtful
    read, other = word.replace(",", "."), word.replace(",", "")
    return [message("comma-read-as-point", column=name, value=word, read=read, other=other)]
