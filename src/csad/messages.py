"""The sentences that users read, by code: an error or notice names a code and facts, ``wording/*.toml`` the words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from string import Formatter
from typing import Any


class Message(str):
    """A sentence with the code and the facts that it was made of; wherever text will do, it is that text."""

    code: str
    facts: Mapping[str, Any]

    def __new__(cls, text: str, code: str = "", facts: Mapping[str, Any] | None = None) -> Message:
        """The sentence; plain text has no code."""
        made = super().__new__(cls, text)
        made.code, made.facts = code, dict(facts or {})
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # what a copy and a pickle are made of
        return str(self), self.code, self.facts


class _Wording(Formatter):
    """What ``str.format`` knows, and ``{rows?row has|rows have}``: the first words for a fact that is 1."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        name, choice, words = field_name.partition("?")
        if not choice:
            value, key = super().get_field(field_name, args, kwargs)
            return value, str(key)
        singular, _, plural = words.partition("|")
        return (singular if kwargs[name] == 1 else plural), name


@cache
def wording() -> dict[str, str]:
    """Every sentence by its code, as it is written in the tables."""
    sentences: dict[str, str] = {}
    folder = resources.files("csad") / "wording"
    for table in sorted(folder.iterdir(), key=lambda path: path.name):
        sentences |= tomllib.loads(table.read_text(encoding="utf-8"))
    return sentences


def message(code: str, /, **facts: Any) -> Message:
    """The sentence with this code about these facts."""
    return Message(_Wording().vformat(wording()[code], (), facts), code, facts)
