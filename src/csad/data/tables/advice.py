"""Advice on how a column is written, where it may be read otherwise than meant: ends of sentences, or whole ones."""

from __future__ import annotations

from csad.data.tables.cells import number_of, undressed
from csad.data.tables.columns import LOOKED_AT, Column, Ids, Numbers, Words
from csad.data.tables.dates import spelled


def advice_on_signs(column: Column) -> str:
    """What to do about words that are nearly all numbers with signs about them, as 22,550 or 30.7%; else nothing."""
    words = column.words[:LOOKED_AT] if isinstance(column, Words) else column.first if isinstance(column, Ids) else ()
    plain = {word: bare for word in words if (bare := undressed(word))}
    numbers = len(plain) + sum(number_of(word) is not None for word in words)
    if not plain or numbers < 0.9 * len(words):
        return ""
    word, bare = next(iter(plain.items()))
    return f"; if {word!r} is {bare}, write it so, as all others, and it holds numbers"


def advice_on_dates(column: Words) -> str:
    """What to do about the word among dates that is none; nothing where they are no dates."""
    if not column.date_format:
        return ""
    return f"; nearly all others are dates ({spelled(column.date_format)}): write it so, and the column holds dates"


def comma_words(name: str, column: Column) -> list[str]:
    """A sentence where the file does not tell what a comma means."""
    if not isinstance(column, Numbers) or not column.doubtful:
        return []
    word = column.doubtful
    read, other = word.replace(",", "."), word.replace(",", "")
    return [
        f"In column '{name}' {word!r} is read as {read}, as semicolons set columns apart: write {other} if it is that."
    ]


def quoted(name: str) -> str:
    """The name as it is typed among others that have commas between."""
    return f'"{name}"' if "," in name else name
