"""Numbers as text (per cent, three digits as in the paper), and text and tables as GitHub's Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeGuard

from csad.printable import printable

MISSING = "–"  # no figure
NARROW = "\u202f"
NO_BREAK = "\u00a0"


def finite(value: float | None) -> TypeGuard[float]:
    """Whether there is a number to show."""
    return value is not None and math.isfinite(value)


def percent(fraction: float | None, digits: int = 0) -> str:
    """``83 %`` for .83, and a dash if there is no number."""
    return f"{100 * fraction:.{digits}f}{NO_BREAK}%" if finite(fraction) else MISSING


def count(number: float) -> str:
    """A whole number with narrow spaces between thousands."""
    return f"{number:,.0f}".replace(",", NARROW)


def rounded(value: float) -> Decimal:
    """The value at three digits, the paper's precision: a half goes away from zero, as one rounds by hand.

    Twelve digits first, since fmean makes .9424999999999999 of .942 and .943.
    """
    return Decimal(f"{value:.12f}").quantize(Decimal("0.001"), ROUND_HALF_UP)


def figure(value: Decimal) -> str:
    """``.957`` for 0.957, ``1.000`` for 1."""
    return ("−" if value < 0 else "") + _three_digits(value)


def spelled(value: float) -> str:
    """``.957`` for 0.9571."""
    return figure(rounded(value))


def signed(value: float) -> str:
    """``+.031`` for 0.031, ``−1.200`` for -1.2; a little below 0 it is ``−.000``, and not above."""
    return ("−" if value < 0 else "+") + _three_digits(value)


def _three_digits(value: float | Decimal) -> str:
    return f"{abs(value):.3f}".removeprefix("0")


def escaped(text: str) -> str:
    """Text on one line in which nothing is markup; an underscore inside a word is none anyway."""
    line = printable(" ".join(text.split()))
    return re.sub(r"[\\`*|<\[\]~#$]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], rules: Sequence[str] = ()) -> str:
    """Rows of Markdown as a table; ``rules`` align the columns, by default to the left. A bare bar is escaped."""
    head, *body = [[re.sub(r"(?<!\\)\|", r"\|", cell) for cell in row] for row in (headings, *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules or [":--"] * len(head), *body))
