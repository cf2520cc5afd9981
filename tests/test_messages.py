"""The table of messages and the code agree: each code has one sentence, which says all facts that are passed."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from string import Formatter

import pytest

from csad.errors import InputError, unknown
from csad.messages import Message, message, wording
from tests.support.messages import noticed, refused
from tests.support.paths import SOURCE

CALLS = {"InputError", "FilesMissing", "message"}


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Where the source makes a message, as file:line, and the call."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


def code_of(call: ast.Call) -> str:
    """The code that a call names; empty where it hands on a message or a code that it holds."""
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def facts_in(sentence: str) -> set[str]:
    return {name.partition("?")[0] for _, name, _, _ in Formatter().parse(sentence) if name}


NAMED = [(place, code_of(call), call) for place, call in calls() if code_of(call)]


def test_every_code_has_a_sentence() -> None:
    assert [(place, code) for place, code, _ in NAMED if code not in wording()] == []


def test_every_sentence_says_what_it_is_passed_and_no_more() -> None:
    differ = []
    for place, code, call in NAMED:
        passed = {keyword.arg for keyword in call.keywords}
        if None not in passed and passed != facts_in(wording()[code]):  # None: facts that are passed on as a whole
            differ.append((place, code, passed ^ facts_in(wording()[code])))
    assert differ == []


def test_every_sentence_is_used() -> None:
    source = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert [code for code in wording() if f'"{code}"' not in source] == []


def test_no_code_is_in_two_tables() -> None:
    tables = sorted((SOURCE / "wording").glob("*.toml"))
    assert len(tables) > 0
    named = Counter(code for path in tables for code in tomllib.loads(path.read_text()))
    assert [code for code, count in named.items() if count > 1] == []


@pytest.mark.parametrize("code", sorted(wording()))
def test_a_sentence_is_plain(code: str) -> None:
    sentence = wording()[code]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", code)
    odd = r"\b(told|stands? beside|goes on|be rid of|to be had|nothing, or)\b"
    assert not re.search(odd, sentence, re.IGNORECASE)


def test_a_plural_follows_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = {"some-rows": "{count:,} {count?row is|rows are} empty in {file!r}."}
    monkeypatch.setattr("csad.messages.wording", lambda: sentences)
    assert message("some-rows", count=1, file="a.csv") == "1 row is empty in 'a.csv'."
    assert message("some-rows", count=1200, file="a.csv") == "1,200 rows are empty in 'a.csv'."


def test_an_error_keeps_its_code_and_facts_when_it_is_copied() -> None:
    error = unknown("method", "csda", ["csad"])
    for again in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (again.code, again.facts["name"]) == ("misspelled-name", "csda")
        assert str(again) == str(error) == "No method is called 'csda'. Nearest: csad. Known: csad."
        assert type(again.message) is Message


def test_a_sentence_of_an_authors_own_needs_no_code() -> None:
    error = InputError("The moon is not in this list.")
    assert (str(error), error.code, error.facts) == ("The moon is not in this list.", "", {})
    with pytest.raises(KeyError):
        InputError("no-such-code")


def test_tests_can_ask_for_codes_and_facts() -> None:
    with refused("unknown-name", name="x"):
        raise unknown("method", "x", [])
    notices = ["plain", message("unknown-name", kind="method", name="x", known="none")]
    assert noticed(notices, "unknown-name", name="x")
    assert not noticed(notices, "unknown-name", name="y")
