"""Text and tables in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from csad.printable import printable


def escaped(text: str) -> str:
    """Text on one line in which nothing is markup; an underscore inside a word is none anyway."""
    line = printable(" ".join(text.split()))
    return re.sub(r"[\\`*|<\[\]~#$]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], rules: Sequence[str] = ()) -> str:
    """Rows of Markdown as a table; ``rules`` say how columns stand, to the left if not given. A bare bar is escaped."""
    head, *body = [[re.sub(r"(?<!\\)\|", r"\|", cell) for cell in row] for row in (headings, *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules or [":--"] * len(head), *body))
