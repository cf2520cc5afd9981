"""Settings from text to typed values, and from values to TOML and back."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csad.runs.parse import settings_of, toml, typed
from tests.support.messages import Refusal, refused


@pytest.mark.parametrize(
    ("given_", "kind", "wanted"),
    [
        ("3", int, 3),
        (" -7 ", int, -7),
        ("+7", int, 7),
        ("1e3", int, 1000),
        ("2.0", int, 2),
        (5, int, 5),
        (5.0, int, 5),
        (np.int64(5), int, 5),
        ("9007199254740993", float, 9007199254740992.0),
        ("0.25", float, 0.25),
        (".5", float, 0.5),
        ("5e-4", float, 0.0005),
        (3, float, 3.0),
        (np.float32(0.5), float, 0.5),
        ("true", bool, True),
        ("False", bool, False),
        (True, bool, True),
        ("cs", str, "cs"),
        (" cs ", str, "cs"),
        ("12", str, "12"),
        ("", str, ""),
        ("64", tuple[int, ...], (64,)),
        ("64,32", tuple[int, ...], (64, 32)),
        ("(64, 32)", tuple[int, ...], (64, 32)),
        ("[64,32]", tuple[int, ...], (64, 32)),
        ("(64,)", tuple[int, ...], (64,)),
        ("", tuple[int, ...], ()),
        ("()", tuple[int, ...], ()),
        ([], tuple[int, ...], ()),
        ([1, 2], tuple[int, ...], (1, 2)),
        ((1, 2), tuple[float, ...], (1.0, 2.0)),
        (4, tuple[int, ...], (4,)),
        ("sex, race", tuple[str, ...], ("sex", "race")),
        ('"pay, net", sex', tuple[str, ...], ("pay, net", "sex")),
        ('["sex", "race"]', tuple[str, ...], ("sex", "race")),
        ('5" pipe,a "word"', tuple[str, ...], ('5" pipe', 'a "word"')),
        ('"two\nlines, pay",sex', tuple[str, ...], ("two\nlines, pay", "sex")),
        ("two\nlines,sex", tuple[str, ...], ("two\nlines", "sex")),
        ("conv", str | np.ndarray, "conv"),
        ("3", int | None, 3),
        ("a, b", Sequence[str] | str, ("a", "b")),
        ("a", Sequence[str] | Mapping[str, float], ("a",)),
        ("0.5", Sequence[float] | float, (0.5,)),
        ("3", int | tuple[int, int], 3),
    ],
)
def test_a_value_becomes_what_the_annotation_asks_for(given_: Any, kind: Any, wanted: Any) -> None:
    found = typed("name", given_, kind)
    assert found == wanted
    assert type(found) is type(wanted)
    if isinstance(wanted, tuple):
        assert [type(item) for item in found] == [type(item) for item in wanted]


@pytest.mark.parametrize(
    ("given_", "kind", "words"),
    [
        ("three", int, Refusal("setting-wrong-type", expected="a whole number", value="three")),
        ("2.5", int, Refusal("setting-wrong-type", expected="a whole number", value="2.5")),
        (2.5, int, Refusal("setting-wrong-type", expected="a whole number", value="2.5")),
        ("", int, Refusal("setting-wrong-type", expected="a whole number")),
        ("--3", int, Refusal("setting-wrong-type", expected="a whole number", value="--3")),
        ("²", int, Refusal("setting-wrong-type", expected="a whole number", value="²")),
        ("inf", int, Refusal("setting-wrong-type", expected="a whole number")),
        ("nan", int, Refusal("setting-wrong-type", expected="a whole number")),
        ("1e400", int, Refusal("setting-wrong-type", expected="a whole number")),
        (True, int, Refusal("setting-wrong-type", expected="a whole number", value="True")),
        (None, int, Refusal("setting-wrong-type", expected="a whole number", value="None")),
        ([1], int, Refusal("setting-wrong-type", expected="a whole number")),
        ("1,5", float, Refusal("setting-wrong-type", expected="a number", value="1,5")),
        ("nan", float, Refusal("setting-wrong-type", expected="a number", value="nan")),
        ("-inf", float, Refusal("setting-wrong-type", expected="a number")),
        (float("inf"), float, Refusal("setting-wrong-type", expected="a number", value="inf")),
        (False, float, Refusal("setting-wrong-type", expected="a number", value="False")),
        ("yes", bool, Refusal("setting-wrong-type", expected="true or false", value="yes")),
        ("1", bool, Refusal("setting-wrong-type", expected="true or false", value=1)),
        (1, bool, Refusal("setting-wrong-type", expected="true or false", value=1)),
        (3, str, Refusal("setting-wrong-type", expected="a word", value=3)),
        (None, str, Refusal("setting-wrong-type", expected="a word", value="None")),
        ("64,x", tuple[int, ...], Refusal("setting-wrong-type", expected="a whole number", value="x")),
        ("64, ,32", tuple[int, ...], Refusal("setting-wrong-type", expected="a whole number", value=" ")),
        ([1.5], tuple[int, ...], Refusal("setting-wrong-type", expected="a whole number", value="1.5")),
        ("3", dict, Refusal("setting-cannot-be-set")),
        ("3", list[int] | None, Refusal("setting-cannot-be-set")),
    ],
)
def test_another_value_is_an_input_error_that_says_what_is_wanted(given_: Any, kind: Any, words: Refusal) -> None:
    with refused(words) as caught:
        typed("train.x", given_, kind)
    assert str(caught.value).startswith("train.x ")


def test_a_whole_number_too_large_for_a_float_is_not_rounded() -> None:
    assert typed("seed", str(2**53 + 1), int) == 2**53 + 1
    assert typed("seed", f"-{2**60 + 1}", int) == -(2**60) - 1


def test_settings_are_the_parameters_less_those_left_out_and_those_gathered() -> None:
    def member(task: object, *rest: int, width: int = 3, depth=2, **more: int) -> None: ...

    found = settings_of(member, leave_out=("task",))
    assert list(found) == ["width", "depth"]
    assert (found["width"].annotation, found["width"].default) == (int, 3)
    assert found["depth"].annotation is int


def test_an_annotation_for_type_checkers_only_is_no_obstacle() -> None:
    def member(x: NowhereDefined = 3) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert settings_of(member)["x"].default == 3
    assert settings_of(member)["x"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


PLAIN = {
    "task": "digits",
    "seed": 0,
    "rate": 5e-05,
    "large": 1e22,
    "whole": 2.0,
    "on": True,
    "off": False,
    "none": [],
    "sizes": [128, 64],
    "nested": [["a", "b"], []],
    "net": {"head": [], "name": "x"},
    "empty": {},
}


def test_plain_values_come_back_from_toml() -> None:
    found = tomllib.loads(toml(PLAIN))
    assert found == PLAIN
    assert [type(value) for value in found.values()] == [type(value) for value in PLAIN.values()]


@pytest.mark.parametrize(
    "word",
    [
        'say "so"',
        "C:\\data\\new",
        "\\",
        '"',
        '\\"',
        "a\nb",
        "tab\there",
        "\x00\x1f\x7f",
        "naïve σ² 数",
        "🎨",
        "",
        "'''",
    ],
)
def test_any_word_comes_back_from_toml(word: str) -> None:
    assert tomllib.loads(toml({"word": word, "table": {"words": [word, word]}})) == {
        "word": word,
        "table": {"words": [word, word]},
    }


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_word_comes_back_from_toml(word: str) -> None:
    assert tomllib.loads(toml({"a": word}))["a"] == word


@given(st.floats(allow_nan=False) | st.integers(-(2**63), 2**63 - 1) | st.booleans())
def test_every_number_comes_back_from_toml(number: float) -> None:
    found = tomllib.loads(toml({"a": number}))["a"]
    assert found == number
    assert type(found) is type(number)


def test_plain_keys_stand_before_the_tables_wherever_they_were_given() -> None:
    assert tomllib.loads(toml({"a": 1, "net": {"b": 2}, "c": 3})) == {"a": 1, "net": {"b": 2}, "c": 3}


def test_numpys_numbers_are_written_as_numbers() -> None:
    values = {"a": np.int64(3), "b": np.float64(0.5), "c": [np.float32(0.25), np.uint8(7)]}
    assert tomllib.loads(toml(values)) == {"a": 3, "b": 0.5, "c": [0.25, 7]}


def test_tuples_are_written_as_lists() -> None:
    assert tomllib.loads(toml({"a": (1, (2, 3))})) == {"a": [1, [2, 3]]}
