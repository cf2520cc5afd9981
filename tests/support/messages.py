"""What csad says, by code: tests check codes and facts, so that a sentence can be worded anew in its table alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from string import Formatter
from typing import Any

import pytest

from csad.errors import InputError
from csad.messages import Message, wording


class Refusal:
    """What an InputError is expected to say: its code, and some of the facts in it.

    Facts are compared as text, so that a path and its name in a sentence are the same. A compiled pattern is searched.
    """

    def __init__(self, code: str, /, **facts: Any) -> None:
        self.code, self.facts = code, facts

    def __repr__(self) -> str:  # pytest names the cases of a test by it
        return " ".join([self.code, *(f"{name}={value}" for name, value in self.facts.items())])

    def check(self, error: InputError) -> None:
        """Hold that an error is this one."""
        assert error.code == self.code, f"{error.code}: {error}"
        patterns = {name: value for name, value in self.facts.items() if isinstance(value, re.Pattern)}
        for name, pattern in patterns.items():
            assert pattern.search(str(error.facts[name])), f"{name}: {error.facts[name]}"
        plain = {name: value for name, value in self.facts.items() if name not in patterns}
        assert as_text(plain).items() <= as_text(error.facts).items()

    def is_in(self, text: str) -> bool:
        """Whether a text, such as stderr, holds this sentence with these facts; facts that are not named may be any."""
        return re.search(self.pattern(), " ".join(text.split())) is not None

    def pattern(self) -> str:
        """A regular expression for the sentence; a fact may be a refusal or an expression in its turn: part of it."""
        pattern = ""
        for words, name, form, conversion in Formatter().parse(wording()[self.code]):
            pattern += re.escape(words)
            fact, choice, forms = (name or "").partition("?")
            value = self.facts.get(fact)
            if choice:
                pattern += f"(?:{'|'.join(map(re.escape, forms.split('|')))})"
            elif isinstance(value, Refusal | re.Pattern):
                pattern += f".*?{value.pattern() if isinstance(value, Refusal) else value.pattern}.*?"
            elif fact in self.facts:
                shown = (
                    repr(value) if conversion == "r" else format(value, "" if isinstance(value, str) else form or "")
                )
                pattern += re.escape(" ".join(shown.split()))
            elif name is not None:
                pattern += ".*?"
        return pattern


@contextmanager
def refused(expected: str | Refusal, /, **facts: Any) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Hold that the block ends in an InputError with this code and these facts."""
    with pytest.raises(InputError) as caught:
        yield caught
    (Refusal(expected, **facts) if isinstance(expected, str) else expected).check(caught.value)


@contextmanager
def warned(category: type[Warning], code: str, /, **facts: Any) -> Iterator[pytest.WarningsRecorder]:
    """Hold that the block gives a warning of this category with this code and these facts."""
    with pytest.warns(category) as caught:
        yield caught
    texts = [each.message.args[0] for each in caught if isinstance(each.message, category)]
    assert noticed(texts, code, **facts), texts


def holds(text: str, expected: str | Refusal) -> bool:
    """Whether a text, such as stderr, holds these words, or this sentence."""
    return expected in text if isinstance(expected, str) else expected.is_in(text)


def says(text: str, code: str, /, **facts: Any) -> bool:
    """Whether a text, such as stderr, holds the sentence with this code and these facts."""
    return Refusal(code, **facts).is_in(text)


def codes(notices: Iterable[object]) -> list[str]:
    """The code of each notice; empty for a text without one."""
    return [notice.code if isinstance(notice, Message) else "" for notice in notices]


def noticed(notices: Iterable[object], code: str, /, **facts: Any) -> bool:
    """Whether one of the notices has this code and these facts."""
    return any(
        isinstance(notice, Message) and notice.code == code and as_text(facts).items() <= as_text(notice.facts).items()
        for notice in notices
    )


def as_text(facts: Any) -> dict[str, str]:
    """Facts as they read in a sentence."""
    return {name: str(value) for name, value in facts.items()}
