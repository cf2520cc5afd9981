"""Runs to export, made without training, and what is in the files that they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnx.numpy_helper
import torch
from safetensors import safe_open
from torch import Tensor

from csad.data.samples import Dataset
from csad.methods.method import TARGET_BRANCH
from csad.runs.build import build, plan_run, read_dataset
from csad.runs.planned_run import run_config
from csad.runs.run import Run
from csad.training.log import Log

TINY = {"net.branch": 6, "net.head": (5,), "net.estimator": (4, 3), "data.rows": 32}
HIDDEN = {"net.hidden": (7,)}
CONV = {"net.filters": 4}


def made(task: str | Dataset, method: str = "csad", **settings: Any) -> tuple[Dataset, Run]:
    """A run whose weights are still those it began with, but whose buffers the data have set."""
    given = {key.replace("__", "."): value for key, value in settings.items()}
    dataset, plan = plan_run(task, method, given, "", read_dataset)
    model = build(dataset.task, method, plan, seed=0)
    model.prepare(dataset.train, dataset.view)
    config = run_config(task, method, 0, plan, dataset, dataset.fingerprint())
    return dataset, Run(model, config, {}, Log(), None, dataset.view)


def tensors_in(path: Path) -> dict[str, Tensor]:
    """Whatever weights a file holds, by name."""
    if path.suffix == ".onnx":
        return {t.name: torch.tensor(onnx.numpy_helper.to_array(t)) for t in onnx.load(path).graph.initializer}
    if path.suffix == ".pt2":
        program = torch.export.load(path)
        return {**program.state_dict, **{name: t for name, t in program.constants.items() if isinstance(t, Tensor)}}
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict


def numbers(weight: Tensor) -> tuple[float, ...]:
    """What a tensor holds, in whatever order and under whatever name."""
    return tuple(sorted(weight.detach().flatten().tolist()))


def check_weights(run: Run, path: Path) -> None:
    """The file has every weight of the target branch and none of all others."""
    found = {numbers(tensor) for tensor in tensors_in(path).values()}
    for name, weight in run.method.named_parameters():
        if weight.numel() > 1:  # a single number may be anywhere
            assert (numbers(weight) in found) == (name.split(".")[0] in TARGET_BRANCH), name


def scores(run: Run, x: Tensor) -> Tensor:
    with torch.no_grad():
        return run.method.eval().predict(run.view(x))
