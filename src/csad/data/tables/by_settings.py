"""A function that makes a data set of one's own from Python values, for plain ones: as a run's settings hold them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from csad.data.tables.owned import OwnTable
from csad.data.tables.roles import numbers_by_column, one_by_column

# What a parameter may be from Python, and what it is as a setting; other kinds are plain already.
PLAIN = {
    str | Path: str,
    str | Sequence[str]: tuple[str, ...],
    Sequence[float]: tuple[float, ...],
    float | Sequence[float]: tuple[float, ...],
    Mapping[str, Sequence[float]] | None: tuple[str, ...],  # "age=0,30,60"
    Mapping[str, float] | None: tuple[str, ...],  # "age=5"
}


def by_settings(make: Callable[..., OwnTable]) -> Callable[..., OwnTable]:
    """The same function with plain values: ``bins=("age=0,30,60",)``, ``widths=("age=5",)``; none has to be given."""
    python = inspect.signature(make, eval_str=True)
    signature = python.replace(parameters=[_plain(parameter) for parameter in python.parameters.values()])

    @wraps(make)
    def made(*path: Path, **settings: Any) -> OwnTable:
        given = signature.bind(*path, **settings)
        given.apply_defaults()
        given.arguments["bins"] = numbers_by_column("bins", given.arguments["bins"])
        given.arguments["widths"] = one_by_column("width", given.arguments["widths"])
        return make(*given.args, **given.kwargs)

    made.__signature__ = signature  # type: ignore[attr-defined]  # settings are read off it
    return made


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        return parameter
    kind, default = PLAIN.get(parameter.annotation, parameter.annotation), parameter.default
    if default in (parameter.empty, None):
        default = "" if kind is str else ()
    elif kind == tuple[float, ...] and not isinstance(default, tuple):
        default = (default,)
    return parameter.replace(annotation=kind, default=default)
