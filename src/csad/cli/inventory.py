"""What there is to choose from, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from typing import Any

from csad.data.arrays import from_npz
from csad.experiments.plan import experiment, experiments, own_settings
from csad.experiments.table import read_table, tables
from csad.experiments.values import settings_of
from csad.methods.method import Course
from csad.nets.parts import Sizes
from csad.registry import BACKBONES, BOUNDS, DATASETS, METHODS, Registry

KINDS = ("methods", "datasets", "backbones", "bounds", "tables", "settings")
SOURCES = {
    "methods": (METHODS, "settings"),
    "datasets": (DATASETS, "data"),
    "backbones": (BACKBONES, "net"),
    "bounds": (BOUNDS, "bound"),
}


# What every method and data set can be given, beside its own.
SHARED = {
    "train.*": ("How long and how fast to train.", settings_of(Course)),
    "net.*": ("Sizes of the parts; the backbone's own settings come beside them.", settings_of(Sizes, ("settings",))),
    "data.*": ("For an .npz file of x, y, b.", own_settings("data", from_npz)),
}


def _shared(name: str, about: str, settings: Mapping[str, Parameter]) -> dict[str, Any]:
    return {"name": name, "about": about, "settings": {key: p.default for key, p in settings.items()}}


def _presets() -> dict[str, Any]:
    known = {task: ",".join(experiment(task).get("presets", {})) for task in experiments()}
    about = "Named settings of a task, laid over its own."
    return {"name": "--preset", "about": about, "settings": {task: names for task, names in known.items() if names}}


def inventory(kind: str) -> list[dict[str, Any]]:
    """The members of a kind: name, what it is, settings with their defaults."""
    if kind == "tables":
        return [_table(name) for name in tables()]
    if kind == "settings":
        return [*(_shared(name, *told) for name, told in SHARED.items()), _presets()]
    registry, section = SOURCES[kind]
    return [_member(registry, section, name) for name in registry.names()]


def _member(registry: Registry, section: str, name: str) -> dict[str, Any]:
    settings = {key: p.default for key, p in own_settings(section, registry[name]).items()}
    return {"name": name, "about": registry.describe(name), "settings": settings}


def _table(name: str) -> dict[str, Any]:
    table = read_table(name)
    rows = ",".join(row.name for row in table.rows)
    return {"name": name, "about": table.title, "settings": {"rows": rows, "columns": ",".join(table.columns)}}
