"""Dates as numbers of days: ISO 8601 and the usual ways to write a day, with or without a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

ISO = "ISO"
DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y")
FORMATS = (ISO, *(day + time for day in DAYS for time in ("", " %H:%M", " %H:%M:%S")))
LETTERS = {
    "%d": "day", "%m": "month", "%b": "month", "%Y": "year", "%H": "hours", "%M": "minutes", "%S": "seconds",
}  # fmt: skip
SECONDS = 86_400
FIRST = 20  # words that tell which format to look at


def days_of(words: Iterable[str], form: str) -> dict[str, float] | None:
    """The days since 1970 of each word, or nothing where one is no date of this format. Hours are parts of a day."""
    try:
        return {word: _instant(word.strip(), form).timestamp() / SECONDS for word in words}
    except (ValueError, OverflowError):
        return None


def usual_format(words: Sequence[str]) -> str:
    """The format in which nearly all of the words are dates, most of them where several are; empty where none is."""
    first = words[:FIRST]
    likely = [form for form in FORMATS if _fitting(first, form) >= len(first) / 2]
    fitting = {form: _fitting(words, form) for form in likely}
    form = max(fitting, key=fitting.__getitem__, default="")
    return form if form and fitting[form] >= 0.9 * len(words) else ""


def _fitting(words: Iterable[str], form: str) -> int:
    return sum(days_of([word], form) is not None for word in words)


def spelled(form: str) -> str:
    """A format for people: day/month/year."""
    for letter, word in LETTERS.items():
        form = form.replace(letter, word)
    return form


def _instant(text: str, form: str) -> datetime:
    found = datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
