"""Errors: input that the user must correct, a training that was stopped, one that diverged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeGuard

from csad.messages import Message, message


class InputError(ValueError):
    """The user's input cannot be used; the command line shows the message without a traceback.

    Errors of csad name a ``code`` of the table of messages and the facts in it: ``InputError("no-rows", file=path)``.
    A method or a data set of your own may as well pass a whole sentence, which has no code.

    Args:
        code: A code of the table, or a sentence.
        facts: What the sentence says, by name.
    """

    def __init__(self, code: str, /, **facts: Any) -> None:
        if isinstance(code, Message):
            self.message = code
        else:
            self.message = Message(code) if " " in code else message(code, **facts)
        super().__init__(self.message)

    @property
    def code(self) -> str:
        """What is wrong, in a word that stays when the sentence is worded anew."""
        return self.message.code

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the sentence is about, by name."""
        return self.message.facts


class FilesMissing(InputError):
    """Named files do not exist."""


class Interrupted(KeyboardInterrupt):
    """The training was stopped on request, and its state is saved; the message says how to resume."""


class Diverged(RuntimeError):
    """A loss or a weight is no longer a number; the last checkpoint is from before."""


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """An error that names the nearest known spelling: ``No method is called 'csda'. Nearest: csad. Known: …``."""
    names = sorted(known)
    every = ", ".join(names) or "none"
    for nearest in get_close_matches(name, names, n=1, cutoff=0.5):
        return InputError("misspelled-name", kind=kind, name=name, nearest=nearest, known=every)
    return InputError("unknown-name", kind=kind, name=name, known=every)


def is_os_error(error: Exception) -> TypeGuard[OSError]:
    """Whether this is a (possibly transient) error of the system; zip and Pillow raise OSErrors without errno."""
    return isinstance(error, OSError) and error.errno is not None


def reason(error: Exception) -> str:
    """The first line of an error's message without its full stop, or the kind of error if it has no message."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def bad_checkpoint(source: str, cause: object) -> InputError:
    """An error for weights that are not those of the run."""
    first = (str(cause).splitlines() or [type(cause).__name__])[0]
    return InputError("checkpoint-unreadable", file=source, reason=first)


def unreadable(what: object, error: OSError) -> InputError:
    """An error that says why the system could not read a file."""
    return InputError("file-unreadable", file=what, reason=error.strerror or error)
