"""The one error that is the user's to mend: what was wanted, what came, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Something the user gave cannot be used; the message is one clear sentence, shown without a traceback."""


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """An error that names the nearest known spelling: ``No method is called 'csda'. Nearest: csad. Known: …``."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    nearest = f" Nearest: {near[0]}." if near else ""
    return InputError(f"No {kind} is called '{name}'.{nearest} Known: {', '.join(names) or 'none'}.")
