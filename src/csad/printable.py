"""Text out of files that is safe to show: characters that a terminal would obey, or that hide, are written out."""

from __future__ import annotations

import re

# Control characters, line and paragraph separators, and what has no shape of its own: spaces of no width, changes of
# the direction of writing, tags. Joiners stay, as scripts and pictographs need them.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str, keep: str = "") -> str:
    """The text with such characters as ``\\x1b`` or ``\\u202e``, but for those to ``keep``; else on one line."""
    return HIDDEN.sub(lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(), text)
