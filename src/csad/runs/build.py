"""From names, settings or a run's config to a data set and a method with fresh weights.

What a run's file may decide are numbers and names that csad registers, but never what is imported. A run folder, an
exported file or a saved classifier may come from a stranger. It may name any class as its backbone, with arguments for
it; csad imports and calls that class only if its caller gives it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from csad.data.arrays import from_npz
from csad.data.own.from_files import from_pictures, from_series, from_table
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Number, Task
from csad.data.tables.read_table import is_table_file
from csad.errors import InputError, unknown
from csad.methods.method import Method
from csad.nets.parts import Nets, OwnBackbone, class_path, is_class_path, own_class
from csad.nets.weights import without_files
from csad.registry import DATASETS, METHODS
from csad.runs.parse import settings_of
from csad.runs.settings import (
    Plan,
    check_overrides,
    data_settings,
    experiment,
    kind_defaults,
    own_settings,
    resolve,
)

OWN = "own"  # what a config calls a task, a backbone or a view that was given from Python
CLASS_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")

Reader = Callable[[str, Mapping[str, Any]], Dataset]  # a data set by name and settings


def plan_run(
    task: str | Path | Dataset, method: str, overrides: Mapping[str, Any], preset: str, reader: Reader
) -> tuple[Dataset, Plan]:
    """Read the data set and resolve all settings of a run; errors in the settings are raised before data are read."""
    METHODS[method]
    if isinstance(task, Dataset):
        return task, resolve(method, None, kind_defaults(task), overrides, preset)
    maker, file = maker_of(str(task), overrides), experiment(str(task))
    if file:
        plan = resolve(method, maker, file, overrides, preset)
        return reader(str(task), plan.data), plan
    # A task without a file of its own takes the defaults of its kind, which its data tell.
    check_overrides(method, maker, overrides)
    dataset = reader(str(task), data_settings(maker, overrides))
    return dataset, resolve(method, maker, kind_defaults(dataset), overrides, preset)


def read_dataset(name: str, settings: Mapping[str, Any], data_root: Path | None = None) -> Dataset:
    """Read the data set of that name, or of that file."""
    maker = maker_of(name, settings)
    parameters, allowed = settings_of(maker), own_settings("data", maker)
    for key in settings:  # of a run's config, which may be older than the data set
        if key not in allowed:
            raise unknown("setting of data", key, allowed)
    extra: dict[str, Any] = {"data_root": data_root} if "data_root" in parameters else {}
    if "path" in parameters:
        extra["path"] = Path(name)
    dataset: Dataset = maker(**settings, **extra)
    return dataset


def build(task: Task, method: str, plan: Plan, seed: int, backbone: OwnBackbone | None = None) -> Method:
    """Build the method with fresh weights: the same for the same seed, and F, D_y, P_y alike in every method."""
    nets = Nets(plan.sizes(backbone), task.shape, task.target.outputs, tuple(kind.outputs for kind in task.biases))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed the GPUs as well
        model: Method = METHODS[method](task, nets, plan.course(), **plan.settings)
    lines = [line for stage in model.schedule() for line in stage.updates]
    debiases_F = any("F" in line.moves and "P_y" not in line.moves for line in lines)
    if debiases_F and not any(weight.requires_grad for weight in model.F.parameters()):
        raise InputError("backbone-fully-frozen")
    return model


def rebuilt(config: Mapping[str, Any], backbone: OwnBackbone | None) -> Method:
    """The method that a config describes, with fresh weights; ``backbone`` is the caller's, never the config's."""
    plan = Plan.from_config(config)
    with without_files():  # no pretrained weights are read, since all weights are loaded next
        return build(task_from(config["about"]), config["method"], plan, config["seed"], backbone)


def checked_seed(seed: Any) -> int:
    """The seed as Python's own number, which JSON knows; raise InputError if it is none."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError("seed-out-of-range", seed=seed)
    return int(seed)


def is_file(name: str) -> bool:
    """Whether a task is a file of the user's: arrays, or a table."""
    return name.endswith(".npz") or is_own_table(name)


def is_own_table(name: str) -> bool:
    """Whether a task is a table of the user's."""
    return name not in DATASETS and is_table_file(name)


def is_own(task: str) -> bool:
    """Whether a run's task, as its config has it, is the user's own data."""
    return task == OWN or is_file(task)


def name_of(task: str) -> str:
    """What a task is called in results and titles: a file by its name without the folders."""
    return Path(task).name if is_file(task) else task


def maker_of(name: str, overrides: Collection[str] = ()) -> Any:
    """The function that makes the data set of that name; the names of the settings tell of what kind a table is."""
    if name.endswith(".npz"):
        return from_npz
    if is_own_table(name):
        settings = {key.removeprefix("data.") for key in overrides}
        if {"series", "series_columns"} & settings:
            return from_series
        return from_pictures if "image" in settings else from_table
    if name not in DATASETS and Path(name).suffix:
        raise InputError("data-file-unknown", file=name)
    return DATASETS[name]


def describe(task: Task) -> dict[str, Any]:
    """The task as plain values, so that a run can be loaded without its data."""
    return {
        "name": task.name,
        "shape": task.shape,
        "target": _class_count(task.target),
        "target_names": task.target.names if isinstance(task.target, Classes) else (),
        "biases": tuple(_class_count(bias) for bias in task.biases),
        "bias_names": task.bias_names,
        "bias_classes": tuple(bias.names if isinstance(bias, Classes) else () for bias in task.biases),
        "related": task.related.rule,
        "tolerance": task.related.tolerance,
    }


def task_from(about: Mapping[str, Any]) -> Task:
    """The task that ``describe`` described."""
    target = Classes(about["target"], tuple(about["target_names"])) if about["target"] else Number()
    return Task(
        name=about["name"],
        shape=tuple(about["shape"]),
        target=target,
        biases=tuple(
            Classes(count, tuple(names)) if count else Number()
            for count, names in zip(about["biases"], about["bias_classes"], strict=True)
        ),
        bias_names=tuple(about["bias_names"]),
        related=Related(about["related"], tuple(about["tolerance"])),
    )


def _class_count(label: Classes | Number) -> int:
    """The number of classes, 0 for a number."""
    return int(label.count) if isinstance(label, Classes) else 0


def named_backbone(config: Any) -> str:
    """The backbone that a config names; empty if it names none."""
    net = config.get("net") if isinstance(config, Mapping) else None
    backbone = net.get("backbone") if isinstance(net, Mapping) else None
    return backbone if isinstance(backbone, str) else ""


def is_own_backbone(named: str) -> bool:
    """Whether a config names a class or a module that is not csad's."""
    return named == OWN or is_class_path(named)


def backbone_to_build(named: str, backbone: OwnBackbone | str | None, place: object) -> OwnBackbone | None:
    """The backbone to build a run with, which a file ``named``; None for one that csad registers.

    A class comes from the caller as ``package.module:Class``, the same path as in the file, or as the class or a module
    of it; a module that was given from Python must be given again as a module.
    """
    if backbone is not None and not _is_backbone(backbone):
        raise InputError("own-backbone-wrong-type", value=backbone)
    if named == OWN:
        return _module_again(backbone, place)
    if is_class_path(named):
        return _class_again(named, backbone, place)
    if named and backbone is not None and backbone != named:
        raise InputError("backbone-not-needed", run=place, backbone=named, given=_shown(backbone))
    return None


def check_view(config: Mapping[str, Any], place: object, view: Callable[[Tensor], Tensor] | None) -> None:
    """Raise InputError if a run was trained with a view of the user's own that was not given again."""
    if config.get("view") == OWN and view is None:
        raise InputError("view-not-passed", run=place)


def _is_backbone(backbone: object) -> bool:
    return isinstance(backbone, str | nn.Module) or (isinstance(backbone, type) and issubclass(backbone, nn.Module))


def _module_again(backbone: OwnBackbone | str | None, place: object) -> nn.Module:
    if not isinstance(backbone, nn.Module):
        raise InputError("backbone-module-needed", run=place)
    return backbone


def _class_again(named: str, backbone: OwnBackbone | str | None, place: object) -> OwnBackbone:
    """The class, imported only if the caller gives the very path that the file has."""
    if isinstance(backbone, type | nn.Module):
        return backbone
    if not CLASS_PATH.fullmatch(named):  # it is not shown, since it may read as a command or as words of csad's
        raise InputError("backbone-name-invalid", run=place)
    if backbone is None:
        raise InputError("backbone-class-not-trusted", run=place, backbone=named)
    if backbone != named:
        raise InputError("backbone-class-differs", run=place, backbone=named, given=backbone)
    return own_class(backbone)


def _shown(backbone: OwnBackbone | str) -> str:
    if isinstance(backbone, str):
        return f"'{backbone}'"
    return f"'{class_path(backbone)}'" if isinstance(backbone, type) else f"a module {type(backbone).__name__}"
