"""Names → things. A registry fills itself from a folder: a new file there is all it takes to add a member."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

from csad.errors import unknown

Made = TypeVar("Made", bound=Callable[..., Any])


class Registry:
    """The members of one folder by name; their modules are imported when a name is first asked for."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._members: dict[str, Callable[..., Any]] = {}
        self._about: dict[str, str] = {}
        self._filled = False

    def register(self, name: str, about: str = "", **settings: Any) -> Callable[[Made], Made]:
        """Adds a class or a function under ``name``; for a named variant, ``settings`` change its defaults."""

        def add(member: Made) -> Made:
            if name in self._members:
                raise ValueError(f"The {self.kind} '{name}' is registered twice; choose another name.")
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
        """What a member is, in a line: the first of its docstring, or what a variant says of itself."""
        self[name]
        return self._about[name]

    def _fill(self) -> None:
        if self._filled:
            return
        self._filled = True
        folder = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(folder.__path__):
            importlib.import_module(f"{self.package}.{module.name}")


METHODS = Registry("method", "csad.methods")
DATASETS = Registry("dataset", "csad.data.sets")
BACKBONES = Registry("backbone", "csad.nets.backbones")
BOUNDS = Registry("bound", "csad.information.bounds")
