"""Puts the comment beside a parameter or a field into the reference, so that it is written once."""

import inspect
import io
import re
import textwrap
import tokenize
from dataclasses import is_dataclass
from typing import is_typeddict

PLACE = re.compile(r"\s*(\w+)\s*:[^#]*#\s*(.+)")  # name: type = default,  # what it is


def comments(thing):
    """The comment beside each parameter of a function, or each field of a dataclass or named tuple, by name."""
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        return {}
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and (place := PLACE.fullmatch(token.line.rstrip("\n"))):
            found.setdefault(place[1], place[2])
    return found


def parameters(thing):
    """The names in the signature; the keys of a typed dict."""
    if is_typeddict(thing):
        return list(thing.__annotations__)
    try:
        return list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return []


def tell_parameters(app, what, name, thing, options, lines):
    """Add a line to a docstring for each parameter with a comment beside it, if its ``Args:`` have none."""
    if what not in ("function", "method", "class") or name.rsplit(".", 1)[-1].startswith("_"):
        return
    beside = comments(thing if what != "class" or _has_fields(thing) else thing.__init__)
    described = {line.split(":")[1].removeprefix("param ") for line in lines if line.startswith(":param ")}
    added = [f":param {name}: {beside[name]}" for name in parameters(thing) if name in beside.keys() - described]
    if added:
        lines += ["", *added, ""]


def shorten_arrays(app, what, name, thing, options, signature, result):
    """The signature with arrays called ndarray: NumPy's full name of them fills a line and says nothing more."""
    short = [text and text.replace("ndarray[tuple[Any, ...], dtype[Any]]", "ndarray") for text in (signature, result)]
    return tuple(short)


def _has_fields(thing):
    return is_dataclass(thing) or is_typeddict(thing) or hasattr(thing, "_fields")
