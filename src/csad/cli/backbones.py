"""The user's own backbones on the command line. A module is imported only if the command itself names it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from csad.errors import InputError

if TYPE_CHECKING:
    from csad.runs.run import Run

OwnBackbones = Annotated[
    list[str] | None,
    typer.Option(
        "--backbone",
        metavar="PACKAGE.MODULE:CLASS",
        help="Your own class that the run was trained with; csad never imports a class that only a file names.",
    ),
]


def load_runs(folders: Sequence[Path], backbones: Sequence[str] | None, device: str) -> list[Run]:
    """Load the runs of these folders, each with its backbone among those that the user named."""
    from csad.runs.build import OWN, is_own_backbone, named_backbone
    from csad.runs.folder import Folder
    from csad.runs.run import load

    typed = list(backbones or ())
    find_modules_here(typed)
    named = [named_backbone(Folder(folder).read_config()) for folder in folders]
    strangers = [backbone for backbone in typed if backbone not in named]
    if strangers and OWN not in named:
        those = ", ".join(f"'{name}'" for name in dict.fromkeys(named))
        advice = "give the same backbone" if any(map(is_own_backbone, named)) else "remove --backbone"
        raise InputError("backbone-option-mismatch", backbone=strangers[0], known=those, advice=advice)
    return [
        load(folder, backbone=name if name in typed else None, device=device)
        for folder, name in zip(folders, named, strict=True)
    ]


def find_modules_here(backbones: Iterable[str]) -> None:
    """Let Python find the modules of these classes in the current folder, if it finds them nowhere else."""
    from csad.nets.parts import is_class_path

    names = {backbone.partition(":")[0].partition(".")[0] for backbone in backbones if is_class_path(backbone)}
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ModulesHere)]
    if names:
        sys.meta_path.append(ModulesHere(names, os.getcwd()))


def backbones_in(settings: Mapping[str, Any]) -> list[str]:
    """The backbones that settings name, with commas between several."""
    return [word.strip() for key in ("net.backbone", "backbone") for word in str(settings.get(key, "")).split(",")]


class ModulesHere:
    """Finds the named modules in a folder, and the modules there that those import. Python asks it last.

    The folder on ``sys.path`` would do more: libraries try to import optional modules, and a file with such a name in
    the folder would run.
    """

    def __init__(self, names: Iterable[str], folder: str) -> None:
        self.names, self.folder = set(names), folder
        self.located: set[str] = set()  # a named module that Python found elsewhere imports nothing from here

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """Locate a module. Python itself locates the parts of a package."""
        if path is not None or not (name in self.names or self._importer() in self.located):
            return None
        spec: ModuleSpec | None = PathFinder.find_spec(name, [self.folder])
        if spec is not None:
            self.located.add(name)
        return spec

    def _importer(self) -> str:
        """The module whose code is importing now, or its outermost package."""
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "importlib":
            frame = frame.f_back
        return str(frame.f_globals.get("__name__", "")).partition(".")[0]
