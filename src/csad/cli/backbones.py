"""Backbones of one's own on the command line: a module is imported only if this very call names it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
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
    from csad.experiments.trust import named_backbone

    given = list(backbones or ())
    find_modules_here(given)
    named = [named_backbone(Folder(folder).read_config()) for folder in folders]
    if strangers := [backbone for backbone in given if backbone not in named]:
        those = ", ".join(f"'{name}'" for name in dict.fromkeys(named))
        raise InputError(
            f"--backbone {strangers[0]} does not match: training used {those}, so give that, or leave --backbone out."
        )
    return [
        load(folder, backbone=own if own in given else None, device=device)
        for folder, own in zip(folders, named, strict=True)
    ]


def find_modules_here(backbones: Iterable[str]) -> None:
    """Let Python find a module that the user names in the present folder too: last, so that it hides no other."""
    from csad.nets.parts import is_class_path

    if any(map(is_class_path, backbones)) and "" not in sys.path:
        sys.path.append("")


def backbones_in(settings: Mapping[str, Any]) -> list[str]:
    """The backbones that settings name; several have commas between."""
    return [word.strip() for key in ("net.backbone", "backbone") for word in str(settings.get(key, "")).split(",")]
