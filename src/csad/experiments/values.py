"""Settings as text and as typed values: what a signature allows, what the user wrote, and where the two differ."""

from __future__ import annotations

import csv
import inspect
import types
import typing
from collections.abc import Callable
from importlib.resources.abc import Traversable
from numbers import Integral, Real
from typing import Any

from csad.errors import InputError

KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
GATHERED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def settings_of(member: Callable[..., Any], leave_out: tuple[str, ...] = ()) -> dict[str, inspect.Parameter]:
    """The settings a class or function takes, with evaluated annotations and its own defaults.

    A parameter without an annotation is of its default's kind; what ``*`` and ``**`` gather cannot be set.
    """
    try:
        signature = inspect.signature(member, eval_str=True)
    except NameError:  # an annotation that exists for type checkers only
        signature = inspect.signature(member)
    return {
        name: p.replace(annotation=type(p.default)) if p.annotation is p.empty else p
        for name, p in signature.parameters.items()
        if name not in leave_out and p.kind not in GATHERED
    }


def toml_names(folder: Traversable) -> list[str]:
    """What the TOML files of a folder are called, without their endings."""
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def words_of(text: str) -> list[str]:
    """The words with commas between; one that has a comma itself stands in double quotes, as in a CSV file."""
    rows = csv.reader(text.splitlines(keepends=True), skipinitialspace=True) if '"' in text else [text.split(",")]
    return [word for row in rows for word in row]


def typed(name: str, value: Any, annotation: Any) -> Any:
    """The value as the annotation asks for it, from text or from a Python or TOML value; else an InputError."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        # The first kind that is a plain word: a backbone is a name here, a module only from Python.
        annotation = next((kind for kind in typing.get_args(annotation) if kind in KINDS), annotation)
    if typing.get_origin(annotation) is tuple:
        item = typing.get_args(annotation)[0]
        parts = words_of(value.strip("()[] ")) if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            parts = [parts]
        return tuple(_one(name, part, item) for part in parts if part != "")
    return _one(name, value, annotation)


def _one(name: str, value: Any, kind: Any) -> Any:
    if kind not in KINDS:
        raise InputError(f"{name} cannot be set: it takes neither a number nor true or false nor a word.")
    wrong = InputError(f"{name} must be {KINDS[kind]}, not {value!r}.")
    text = value.strip() if isinstance(value, str) else None
    if kind is str:
        if text is None:
            raise wrong
        return text
    if kind is bool:
        if isinstance(value, bool):
            return value
        if text is None or text.lower() not in ("true", "false"):
            raise wrong
        return text.lower() == "true"
    if isinstance(value, bool):
        raise wrong
    try:
        if kind is int and text is not None and text.lstrip("+-").isdigit():
            return int(text)  # exact, where a float would round
        number = float(value)
        whole = int(number)
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong from error
    if kind is int and whole != number:
        raise wrong
    if number != number or number in (float("inf"), float("-inf")):
        raise wrong
    return whole if kind is int else number


def toml(sections: dict[str, Any]) -> str:
    """The values as TOML text: plain keys first, then one table per dict."""
    plain = [f"{key} = {_toml_value(value)}" for key, value in sections.items() if not isinstance(value, dict)]
    tables = [
        "\n".join([f"[{name}]", *(f"{key} = {_toml_value(value)}" for key, value in table.items())])
        for name, table in sections.items()
        if isinstance(table, dict)
    ]
    return "\n\n".join(["\n".join(plain), *tables]) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):  # NumPy's numbers too, whose repr is no TOML
        return repr(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'
