"""From names and settings to a data set and a method with fresh weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from csad.data.arrays import from_npz
from csad.data.samples import Dataset, Task
from csad.data.tables.files import is_table_file
from csad.data.tables.own import table_from_settings
from csad.data.tables.own_pictures import pictures_from_settings
from csad.data.tables.own_series import series_from_settings
from csad.errors import InputError, unknown
from csad.experiments.defaults import kind_defaults
from csad.experiments.plan import Plan, check_given, data_settings, experiment, own_settings, resolve
from csad.experiments.values import settings_of
from csad.methods.method import Method
from csad.methods.terms import outputs
from csad.nets.parts import Nets, OwnBackbone
from csad.registry import DATASETS, METHODS

Reader = Callable[[str, Mapping[str, Any]], Dataset]  # a data set by name and settings


def plan_run(
    task: str | Path | Dataset, method: str, given: Mapping[str, Any], preset: str, reader: Reader
) -> tuple[Dataset, Plan]:
    """The data set and the whole settings of a run; what is wrong with the settings is said before data are read."""
    METHODS[method]
    if isinstance(task, Dataset):
        return task, resolve(method, None, kind_defaults(task), given, preset)
    maker, file = maker_of(str(task), given), experiment(str(task))
    if file:
        plan = resolve(method, maker, file, given, preset)
        return reader(str(task), plan.data), plan
    # Without a file of its own a task takes the defaults of its kind, which its data tell.
    check_given(method, maker, given)
    dataset = reader(str(task), data_settings(maker, given))
    return dataset, resolve(method, maker, kind_defaults(dataset), given, preset)


def read(name: str, settings: Mapping[str, Any], data_root: Path | None = None) -> Dataset:
    """The data set of that name, or of the file."""
    maker = maker_of(name, settings)
    taken, known = settings_of(maker), own_settings("data", maker)
    for key in settings:  # of a run's config, which may be older than the data set
        if key not in known:
            raise unknown("setting of data", key, known)
    extra: dict[str, Any] = {"data_root": data_root} if "data_root" in taken else {}
    if "path" in taken:
        extra["path"] = Path(name)
    dataset: Dataset = maker(**settings, **extra)
    return dataset


def build(task: Task, method: str, plan: Plan, seed: int, backbone: OwnBackbone | None = None) -> Method:
    """The method with fresh weights; the same seed gives the same ones, and F, D_y, P_y alike in every method."""
    nets = Nets(plan.sizes(backbone), task.shape, outputs(task.target), tuple(map(outputs, task.biases)))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed the GPUs as well
        made: Method = METHODS[method](task, nets, plan.course(), **plan.settings)
    lines = [line for stage in made.schedule() for line in stage.updates]
    debiases_F = any("F" in line.moves and "P_y" not in line.moves for line in lines)
    if debiases_F and not any(weight.requires_grad for weight in made.F.parameters()):
        raise InputError("No weight of the backbone may move (all are frozen), so there is nothing to debias in it.")
    return made


def is_file(name: str) -> bool:
    """Whether a task is a file of the user's: arrays, or a table."""
    return name.endswith(".npz") or is_own_table(name)


def is_own_table(name: str) -> bool:
    """Whether a task is a table of the user's."""
    return name not in DATASETS and is_table_file(name)


def maker_of(name: str, given: Collection[str] = ()) -> Any:
    """The function that makes the data set of that name; of a table, settings tell whether it is one of files."""
    if name.endswith(".npz"):
        return from_npz
    if is_own_table(name):
        named = {key.removeprefix("data.") for key in given}
        if {"series", "series_columns"} & named:
            return series_from_settings
        return pictures_from_settings if "image" in named else table_from_settings
    if name not in DATASETS and Path(name).suffix:
        raise InputError(f"{name} cannot be read: give an .npz file of arrays x, y and b, or a table (.csv, .parquet).")
    return DATASETS[name]
