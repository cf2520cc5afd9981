"""What there is to choose from, as plain values."""

from __future__ import annotations

from typing import Any

from csad.experiments.plan import experiment, experiments
from csad.experiments.values import settings_of
from csad.registry import BACKBONES, BOUNDS, DATASETS, METHODS, Registry

KINDS = ("methods", "datasets", "backbones", "bounds", "tables")
REGISTRIES = {"methods": METHODS, "datasets": DATASETS, "backbones": BACKBONES, "bounds": BOUNDS}
# What csad itself hands to a member, and so no setting of the user's.
HANDED = ("task", "nets", "course", "shape", "data_root", "scores", "related", "scale")


def inventory(kind: str) -> list[dict[str, Any]]:
    """The members of a kind: name, what it is, settings with their defaults."""
    if kind == "tables":
        return [_table(name) for name in experiments()]
    return [_member(kind, REGISTRIES[kind], name) for name in REGISTRIES[kind].names()]


def _member(kind: str, registry: Registry, name: str) -> dict[str, Any]:
    handed = HANDED if kind != "methods" else HANDED[:3]
    settings = {key: p.default for key, p in settings_of(registry[name], leave_out=handed).items()}
    return {"name": name, "about": registry.describe(name), "settings": settings}


def _table(name: str) -> dict[str, Any]:
    presets = list(experiment(name).get("presets", {}))
    return {"name": name, "about": f"csad train {name}", "settings": {"presets": ",".join(presets)} if presets else {}}
