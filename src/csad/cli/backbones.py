"""Backbones of one's own on the command line: a module is imported only if this very call names it."""

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
    from csad.experiments.run import Run

OwnBackbones = Annotated[
    list[str] | None,
    typer.Option(
        "--backbone",
        metavar="PACKAGE.MODULE:CLASS",
        help="The class of your own that a run was trained with. csad imports none because a run's files name it.",
    ),
]


def load_runs(folders: Sequence[Path], backbones: Sequence[str] | None, device: str) -> list[Run]:
    """The runs of these folders, each with its own backbone among those that the user gave again."""
    from csad.experiments.folder import Folder
    from csad.experiments.run import load
    from csad.experiments.trust import OWN, is_own_backbone, named_backbone

    given = list(backbones or ())
    find_modules_here(given)
    named = [named_backbone(Folder(folder).read_config()) for folder in folders]
    strangers = [backbone for backbone in given if backbone not in named]
    if strangers and OWN not in named:
        those = ", ".join(f"'{name}'" for name in dict.fromkeys(named))
        advice = "give the same" if any(map(is_own_backbone, named)) else "leave it out"
        raise InputError(f"--backbone {strangers[0]} does not match: training used {those}, so {advice}.")
    return [
        load(folder, backbone=own if own in given else None, device=device)
        for folder, own in zip(folders, named, strict=True)
    ]


def find_modules_here(backbones: Iterable[str]) -> None:
    """Let Python find the modules of these classes in the present folder, if it finds them nowhere else."""
    from csad.nets.parts import is_class_path

    names = {backbone.partition(":")[0].partition(".")[0] for backbone in backbones if is_class_path(backbone)}
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ModulesHere)]
    if names:
        sys.meta_path.append(ModulesHere(names, os.getcwd()))


def backbones_in(settings: Mapping[str, Any]) -> list[str]:
    """The backbones that settings name; several have commas between."""
    return [word.strip() for key in ("net.backbone", "backbone") for word in str(settings.get(key, "")).split(",")]


class ModulesHere:
    """Finds the named modules in a folder, and what those import from beside them; Python asks it last.

    The folder on ``sys.path`` would do more: libraries try modules that may not be installed, and any file of such a
    name that lies there would be run.
    """

    def __init__(self, names: Iterable[str], folder: str) -> None:
        self.names, self.folder = set(names), folder
        self.found: set[str] = set()  # a named module that Python found elsewhere has no neighbours here

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """The place of a module, as Python asks for it; of a package's parts Python knows the place itself."""
        if path is not None or not (name in self.names or self._importer() in self.found):
            return None
        spec: ModuleSpec | None = PathFinder.find_spec(name, [self.folder])
        if spec is not None:
            self.found.add(name)
        return spec

    def _importer(self) -> str:
        """The name of the module, or of its outermost package, whose code imports just now."""
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "importlib":
            frame = frame.f_back
        return str(frame.f_globals.get("__name__", "")).partition(".")[0]
