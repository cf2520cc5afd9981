"""The command that lists what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from csad.cli.completion import LISTS, lists
from csad.cli.console import Console, one_sentence
from csad.cli.options import DataRoot, Json, Quiet
from csad.errors import unknown

if TYPE_CHECKING:
    from csad.registry import Registry

Entry = dict[str, Any]


@one_sentence
def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="methods, datasets, backbones, bounds, tables or settings. Default: all.", autocompletion=lists
        ),
    ] = "",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List methods, data sets, backbones, bounds and tables, with their settings."""
    if what and what not in LISTS:
        raise unknown("list", what, LISTS)
    entries = {kind: inventory(kind) for kind in ([what] if what else LISTS)}
    console = Console(as_json, quiet)

    def show() -> None:
        for kind, members in entries.items():
            rows = [[e["name"], e["about"], "  ".join(f"{k}={v}" for k, v in e["settings"].items())] for e in members]
            console.table(kind, ["name", "description", "settings"], rows)

    console.answer(entries, show)


def inventory(kind: str) -> list[Entry]:
    """The members of a kind as plain values: name, what it is, settings with their defaults."""
    from csad.registry import BACKBONES, BOUNDS, DATASETS, METHODS

    members: dict[str, Callable[[], list[Entry]]] = {
        "methods": partial(_members, METHODS, "settings"),
        "datasets": partial(_members, DATASETS, "data"),
        "backbones": partial(_members, BACKBONES, "net"),
        "bounds": partial(_members, BOUNDS, "bound"),
        "tables": _tables,
        "settings": _shared_settings,
    }
    return members[kind]()


def _members(registry: Registry, section: str) -> list[Entry]:
    from csad.runs.settings import own_settings

    return [_entry(name, registry.describe(name), own_settings(section, registry[name])) for name in registry.names()]


def _tables() -> list[Entry]:
    from csad.reproduction.spec import read_spec, tables

    entries = []
    for table in map(read_spec, tables()):
        settings = {"rows": ",".join(row.name for row in table.rows), "columns": ",".join(table.columns)}
        entries.append({"name": table.name, "about": table.title, "settings": settings})
    return entries


def _shared_settings() -> list[Entry]:
    """The settings that every method and data set takes besides its own."""
    from csad.data.arrays import from_npz
    from csad.methods.method import Course
    from csad.nets.parts import Sizes
    from csad.runs.parse import settings_of
    from csad.runs.settings import experiment, experiments, own_settings

    presets = {task: ",".join(experiment(task).get("presets", {})) for task in experiments()}
    return [
        _entry("train.*", "How long and how fast to train.", settings_of(Course)),
        _entry("net.*", "Sizes of the parts; a backbone has further settings.", settings_of(Sizes, ("settings",))),
        _entry("data.*", "For an .npz file of x, y, b.", own_settings("data", from_npz)),
        {
            "name": "--preset",
            "about": "Named settings of a task, in place of its defaults.",
            "settings": {task: names for task, names in presets.items() if names},
        },
    ]


def _entry(name: str, about: str, settings: Mapping[str, Parameter]) -> Entry:
    return {"name": name, "about": about, "settings": {key: setting.default for key, setting in settings.items()}}
