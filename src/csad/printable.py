"""Make text from files safe to show: characters that a terminal would obey, or that are invisible, are escaped."""

from __future__ import annotations

import re

# Control characters, line and paragraph separators, and invisible characters: spaces of no width, tags, changes of the
# writing direction. Joiners stay: scripts and pictographs need them.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str, keep: str = "") -> str:
    """The text on one line, with such characters as ``\\x1b`` or ``\\u202e``; those in ``keep`` stay."""
    return HIDDEN.sub(lambda match: match[0] if match[0] in keep else match[0].encode("unicode_escape").decode(), text)
