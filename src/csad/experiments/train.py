"""One run from settings to figures, kept in a folder from which it can go on."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from csad import __version__
from csad.data.check import check_trainable
from csad.data.order import epoch_order
from csad.data.samples import Dataset, as_float
from csad.errors import InputError
from csad.experiments.build import build, plan_run
from csad.experiments.folder import Folder, describe, write_whole
from csad.experiments.run import OWN, Run, evaluate
from csad.methods.method import Method, Stage
from csad.training import checkpoint
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
    _check_kinds(task, seed, backbone)
    seed = int(seed)  # NumPy's numbers are no JSON
    root = Path(data_root) if data_root is not None else None
    dataset, plan = plan_run(task, method, dict(settings or {}) | bare, preset, root)
    model = build(dataset.task, method, plan, seed, backbone)
    check_trainable(dataset, needs_bias=model.needs_bias)
    where = choose_device(device)
    config = {
        "csad": __version__,
        "task": str(task) if isinstance(task, str | Path) else OWN,
        "method": method,
        "seed": seed,
        "view": "usual" if dataset.view is as_float else OWN,
        **asdict(plan if backbone is None else plan.with_own_backbone(OWN)),
        "about": describe(dataset.task) | {"fingerprint": dataset.train.fingerprint()},
    }
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
        "target_updates": target_updates(model, dataset.train.y),
        "seconds": log.seconds(),
        "warnings": log.warnings(),
        "environment": environment(where, model.course.precision, deterministic),
    }
    if folder:
        write_whole(folder.result, json.dumps(run.result, indent=2) + "\n")
    return run


def _check_kinds(task: Any, seed: Any, backbone: Any) -> None:
    """What Python cannot check for us at this door."""
    if not isinstance(task, str | Path | Dataset):
        raise InputError(
            f"The task must be a data set's name, an .npz file or a csad.Dataset, not a {type(task).__name__}: "
            "csad.from_arrays(x, y, b) makes one of arrays, csad.Samples.from_dataset reads a torch Dataset."
        )
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be 0 or more, and below 2**63, a whole number, not {seed!r}.")
    if backbone is not None and not isinstance(backbone, nn.Module):
        raise InputError(f"backbone must be a torch module, not {backbone!r}: give an instance of your class.")


def target_updates(method: Method, y: Tensor) -> int:
    """How often the schedule moves the target branch, for training targets y."""
    c, n = method.course, len(y)
    balance = y if c.balance == "target" else None
    order = epoch_order(n, min(c.batch_size, n), torch.Generator(), partial=c.partial, balance=balance)
    per_epoch = len(order)
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
