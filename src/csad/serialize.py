"""Dataclasses as plain JSON values and back, with one clear error where a value does not fit its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from csad.errors import InputError

SIMPLE = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


class Serializable:
    """A dataclass that JSON can hold; metadata of a field say how.

    ``saved=False`` leaves it out, so that it has its default when it is read. ``rename`` is a function from names of
    earlier versions to those of today: for the keys of a dict, or for a text itself.
    """

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and strings, in the order of the fields."""
        assert is_dataclass(self)
        return {field.name: to_plain(getattr(self, field.name)) for field in fields(self) if is_saved(field)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Read what ``to_dict`` gave; unknown names are ignored, and names with a default may be missing.

        Args:
            values: the plain values, as JSON holds them.
            where: the path of the values in a larger file, for the message of an error.
        """
        assert is_dataclass(cls)
        if not isinstance(values, Mapping):
            raise misfit(where, "an object of named values", values)
        saved = [field for field in fields(cls) if is_saved(field)]
        required = [field.name for field in saved if field.default is MISSING and field.default_factory is MISSING]
        if missing := [name for name in required if name not in values]:
            raise InputError("saved-parts-missing", where=where or "the whole", parts=", ".join(missing))
        hints = type_hints(cls)
        parts = {}
        for field in saved:
            if field.name in values:
                path = f"{where}.{field.name}".lstrip(".")
                parts[field.name] = renamed(field, from_plain(hints[field.name], values[field.name], path))
        return cls(**parts)


def is_saved(field: Field[Any]) -> bool:
    """Whether a field of a dataclass is written."""
    return bool(field.metadata.get("saved", True))


def renamed(field: Field[Any], value: Any) -> Any:
    """The value of a field that was read, with the names of today."""
    rename = field.metadata.get("rename", str)
    if isinstance(value, dict):
        return {rename(name): part for name, part in value.items()}
    return rename(value) if isinstance(value, str) else value


@cache
def type_hints(kind: type) -> dict[str, Any]:
    """The types of a class's fields; looked up once, as an audit holds hundreds of parts."""
    return get_type_hints(kind)


def to_plain(value: Any) -> Any:
    """A value of a field as JSON holds it."""
    if isinstance(value, Serializable):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: to_plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    return value


def from_plain(kind: Any, value: Any, where: str) -> Any:
    """The value of a field of this type; raise InputError if it does not fit."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        (inner,) = (part for part in parts if part is not NoneType)
        return from_plain(inner, value, where)
    if origin is Literal:
        if value not in parts:
            raise misfit(where, " or ".join(map(repr, parts)), value)
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise misfit(where, "a list", value)
        return tuple(from_plain(parts[0], part, f"{where}[{place}]") for place, part in enumerate(value))
    if origin is dict:
        if not isinstance(value, Mapping):
            raise misfit(where, "an object of named values", value)
        return {name: from_plain(parts[1], part, f"{where}.{name}") for name, part in value.items()}
    if issubclass(kind, Serializable):
        return value if isinstance(value, kind) else kind.from_dict(value, where)
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise misfit(where, SIMPLE[kind], value)
    if kind is float and not isfinite(value):
        raise misfit(where, SIMPLE[kind], value)
    return kind(value)


def misfit(where: str, expected: str, value: Any) -> InputError:
    """The error for a value that does not fit its field."""
    text = repr(value)
    short = text if len(text) <= 40 else text[:37] + "..."
    return InputError("saved-value-misfit", where=where or "the whole", expected=expected, value=short)
