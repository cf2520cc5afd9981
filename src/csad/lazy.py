"""Public names of a package that are imported when they are first used, so that importing the package is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], *others: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Args:
        package: The package's ``__name__``.
        homes: Each public name with the place of what it stands for, as ``package.module.name``.
        others: Public names that the package has from the beginning.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = homes[name].rpartition(".")
        return getattr(importlib.import_module(module), attribute)

    names = sorted([*homes, *others])
    return get, lambda: list(names), names
