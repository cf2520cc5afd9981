"""Settings as text and as typed values: what a signature allows, and what the user wrote."""

from __future__ import annotations

import csv
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from numbers import Integral, Real
from typing import Any

from csad.errors import InputError

KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
GATHERED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# What settings were once called → what they are called now. Files of old runs have the old names, and users may type
# them.
RENAMED = {"optimiser": "optimizer"}
FORMER = {new: old for old, new in RENAMED.items()}


def current_name(key: str, names: Mapping[str, str] = RENAMED) -> str:
    """A setting's present name, with its section if it has one: ``train.optimiser`` → ``train.optimizer``."""
    section, dot, name = key.rpartition(".")
    return section + dot + names.get(name, name)


def current_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config that a file holds, with the settings of each section under their present names."""
    return _with_names(config, RENAMED)


def former_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with the first names of its settings, for digests: what is kept by one must be found again."""
    return _with_names(config, FORMER)


def _with_names(config: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        section: {current_name(key, names): value for key, value in settings.items()}
        if isinstance(settings, Mapping)
        else settings
        for section, settings in config.items()
    }


def settings_of(member: Callable[..., Any], leave_out: tuple[str, ...] = ()) -> dict[str, inspect.Parameter]:
    """The settings that a class or function takes, with evaluated annotations and its defaults.

    A parameter without an annotation is of its default's kind; what ``*`` and ``**`` gather cannot be set. Of a union,
    the first kind counts that is a word, or a sequence of words; a sequence is a tuple.
    """
    try:
        signature = inspect.signature(member, eval_str=True)
    except NameError:  # an annotation that exists for type checkers only
        signature = inspect.signature(member)
    return {
        name: p.replace(annotation=type(p.default) if p.annotation is p.empty else _plain_kind(p.annotation))
        for name, p in signature.parameters.items()
        if name not in leave_out and p.kind not in GATHERED
    }


def _plain_kind(annotation: Any) -> Any:
    """The kind of a setting, from the annotation of a parameter that Python values may fill, too."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        # A backbone, for instance, is a name here, and a module only from Python.
        kinds = [kind for kind in typing.get_args(annotation) if kind in KINDS or typing.get_origin(kind) is Sequence]
        return _plain_kind(kinds[0]) if kinds else annotation
    if typing.get_origin(annotation) is Sequence:
        return types.GenericAlias(tuple, (typing.get_args(annotation)[0], ...))
    return annotation


def toml_names(folder: Traversable) -> list[str]:
    """The names of the TOML files of a folder, without their endings."""
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def words_of(text: str) -> list[str]:
    """The words that commas separate; a word with a comma is in double quotes, as in a CSV file."""
    rows = csv.reader(text.splitlines(keepends=True), skipinitialspace=True) if '"' in text else [text.split(",")]
    return [word for row in rows for word in row]


def typed(name: str, value: Any, annotation: Any) -> Any:
    """The value of the annotated kind, from text, Python or TOML; raise InputError if it is of another kind."""
    annotation = _plain_kind(annotation)
    if typing.get_origin(annotation) is tuple:
        item = typing.get_args(annotation)[0]
        parts = words_of(value.strip("()[] ")) if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            parts = [parts]
        return tuple(_scalar(name, part, item) for part in parts if part != "")
    return _scalar(name, value, annotation)


def _scalar(name: str, value: Any, kind: Any) -> Any:
    if kind not in KINDS:
        raise InputError("setting-cannot-be-set", setting=name)
    try:
        return _converted(value, kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("setting-wrong-type", setting=name, expected=KINDS[kind], value=value) from error


def _converted(value: Any, kind: type) -> Any:
    """The value as that kind; raise TypeError, ValueError or OverflowError if it is of another."""
    text = value.strip() if isinstance(value, str) else None
    if kind is str:
        if text is None:
            raise TypeError
        return text
    if kind is bool:
        if isinstance(value, bool):
            return value
        if text is None or text.lower() not in ("true", "false"):
            raise ValueError
        return text.lower() == "true"
    if isinstance(value, bool):
        raise TypeError
    if kind is int and text is not None and text.lstrip("+-").isdigit():
        return int(text)  # exact, where a float would round
    number = float(value)
    whole = int(number)  # raises for NaN and infinity
    if kind is int and whole != number:
        raise ValueError
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
