"""One run from settings to figures, kept in a folder from which it can go on."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from csad import __version__
from csad.data.check import check_trainable
from csad.data.samples import Dataset
from csad.errors import InputError
from csad.experiments.build import build, plan_run
from csad.experiments.folder import Folder, describe, write_whole
from csad.experiments.run import OWN, Run, evaluate
from csad.methods.method import Method, Stage
from csad.registry import METHODS
from csad.training import checkpoint
from csad.training.batches import Batches
from csad.training.checkpoint import Place
from csad.training.device import choose_device
from csad.training.fit import Listener, fit
from csad.training.log import Log

SELECTION = "last epoch"  # the rule by which a run's weights are chosen


class TrainingWarning(UserWarning):
    """Advice that a training gives while it runs."""


class Silent:
    """Hears a training out; advice becomes a Python warning."""

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Nothing is shown."""

    def warn(self, text: str) -> None:
        """A TrainingWarning."""
        warnings.warn(text, TrainingWarning, stacklevel=2)


def train(
    task: str | Path | Dataset,
    method: str = "csad",
    *,
    seed: int = 0,
    preset: str = "",
    settings: Mapping[str, Any] | None = None,
    backbone: nn.Module | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    device: str = "auto",
    deterministic: bool = False,
    data_root: str | Path | None = None,
    listener: Listener | None = None,
    **bare: Any,
) -> Run:
    """A trained run of a method on a task: a data set by name, an .npz file, or a Dataset of one's own.

    ``settings`` (``{"train.epochs": 3}``) and bare keywords (``debias_weight=2``) are what ``--set`` takes. With
    ``out`` the run is kept as a folder from which it can go on (``resume``) and be loaded.
    """
    if not 0 <= seed < 2**63:
        raise InputError(f"seed must be 0 or more, and below 2**63, not {seed}.")
    seed = int(seed)  # NumPy's numbers are no JSON
    root = Path(data_root) if data_root is not None else None
    dataset, plan = plan_run(task, method, dict(settings or {}) | bare, preset, root)
    check_trainable(dataset, needs_bias=METHODS.source(method).needs_bias)
    model = build(dataset.task, method, plan, seed, backbone)
    if backbone is not None:
        plan.net["backbone"] = OWN
    config = {
        "csad": __version__,
        "task": str(task) if isinstance(task, str | Path) else OWN,
        "method": method,
        "seed": seed,
        **asdict(plan),
        "about": describe(dataset.task),
    }
    where = choose_device(device)
    folder = Folder(Path(out)) if out is not None else None
    again = folder.begin(config, resume=resume, force=force) if folder else False
    log = Log(folder.log if folder else None)
    run = Run(model, config, {}, log, folder.path if folder else None, dataset.view)
    if folder and again and (done := folder.read_result()) is not None:
        checkpoint.load(folder.checkpoint, model)
        model.to(where)
        run.result = done
        return run
    keep = folder.checkpoint if folder else None
    fit(
        model,
        dataset,
        listener or Silent(),
        seed=seed,
        device=where,
        log=log,
        keep=keep,
        resume=again,
        deterministic=deterministic,
    )
    run.result = {
        "task": config["task"],
        "method": method,
        "seed": seed,
        "settings": asdict(plan),
        "selection": SELECTION,
        "metrics": evaluate(run, dataset),
        "target_updates": target_updates(model, dataset, seed),
        "seconds": log.seconds(),
        "warnings": log.warnings(),
        "environment": environment(where, model.course.precision, deterministic),
    }
    if folder:
        write_whole(folder.result, json.dumps(run.result, indent=2) + "\n")
    return run


def target_updates(method: Method, dataset: Dataset, seed: int) -> int:
    """How often the schedule moves the target branch."""
    per_epoch = len(Batches(dataset, method.course, seed, torch.device("cpu")).order(0, 0))
    return per_epoch * sum(
        stage.epochs * line.repeat for stage in method.schedule() for line in stage.updates if "P_y" in line.moves
    )


def environment(device: torch.device, precision: str, deterministic: bool) -> dict[str, Any]:
    """What a figure depends on besides its settings."""
    return {
        "csad": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "threads": torch.get_num_threads(),
        "precision": precision,
        "deterministic": deterministic,
    }
