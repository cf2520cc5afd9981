"""Names → classes and functions. A registry fills itself from a folder: a new file there is enough to add a member."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

from csad.errors import unknown

Member = TypeVar("Member", bound=Callable[..., Any])


def import_all(package: str) -> None:
    """Import every module of a folder, so that each registers what it has."""
    folder = importlib.import_module(package)
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{package}.{module.name}")


class Registry:
    """The members of one folder by name; their modules are imported when the first name is looked up.

    Args:
        kind: What the members are, for messages, such as ``method``.
        package: The package whose modules register them.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._members: dict[str, Callable[..., Any]] = {}
        self._about: dict[str, str] = {}
        self._filled = False

    def register(self, name: str, about: str = "", **settings: Any) -> Callable[[Member], Member]:
        """Return a decorator that adds a class or a function.

        Args:
            name: The name that users type.
            about: What it is, in a line; by default the first line of its docstring.
            settings: Other defaults, for a named variant.
        """

        def add(member: Member) -> Member:
            if name in self._members:
                raise ValueError(f"The {self.kind} '{name}' is registered twice. Choose another name.")
            self._members[name] = functools.partial(member, **settings) if settings else member
            self._about[name] = about or (inspect.getdoc(member) or "").split("\n")[0]
            return member

        return add

    def names(self) -> list[str]:
        """All names, sorted."""
        self._fill()
        return sorted(self._members)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        self._fill()
        if name not in self._members:
            raise unknown(self.kind, name, self._members)
        return self._members[name]

    def __contains__(self, name: str) -> bool:
        return name in self.names()

    def describe(self, name: str) -> str:
        """What a member is, in a line: its ``about``, or the first line of its docstring."""
        self[name]
        return self._about[name]

    def _fill(self) -> None:
        if self._filled:
            return
        self._filled = True
        import_all(self.package)


METHODS = Registry("method", "csad.methods")
DATASETS = Registry("dataset", "csad.data.datasets")
BACKBONES = Registry("backbone", "csad.nets.backbones")
BOUNDS = Registry("bound", "csad.information.bounds")
