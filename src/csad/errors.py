"""How csad ends early: input that the user must mend, a training that was stopped, one that diverged."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeGuard


class InputError(ValueError):
    """Something the user gave cannot be used; the message is one clear sentence, shown without a traceback."""


class Lacking(InputError):
    """Files that were named are not where they were looked for."""


class Interrupted(KeyboardInterrupt):
    """The training was asked to stop, and its state is saved; the message says how to go on."""


class Diverged(RuntimeError):
    """A loss or a weight is no longer a number; the last checkpoint is from before."""


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """An error that names the nearest known spelling: ``No method is called 'csda'. Nearest: csad. Known: …``."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    nearest = f" Nearest: {near[0]}." if near else ""
    return InputError(f"No {kind} is called '{name}'.{nearest} Known: {', '.join(names) or 'none'}.")


def is_of_system(error: Exception) -> TypeGuard[OSError]:
    """Whether the system failed, as it may not another time: OSErrors of unpackers and of Pillow have no number."""
    return isinstance(error, OSError) and error.errno is not None


def unreadable(what: object, error: OSError) -> InputError:
    """An error that says why the system could not read a file, and what to look at."""
    return InputError(f"{what} cannot be read: {error.strerror or error}; check its path and your rights to it.")
