"""One run from settings to figures, kept in a folder from which it can go on."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from csad import __version__
from csad.data.check import check_trainable
from csad.data.samples import Dataset, as_float
from csad.errors import InputError
from csad.experiments.build import build, plan_run, read
from csad.experiments.folder import Folder, describe
from csad.experiments.listeners import Silent
from csad.experiments.plan import Plan
from csad.experiments.run import OWN, Run, evaluate
from csad.methods.method import Method
from csad.training import checkpoint
from csad.training.batches import batches_per_epoch
from csad.training.device import Way, choose_device
from csad.training.fit import fit
from csad.training.log import Log
from csad.training.stack import Alone
from csad.training.stages import Listener

SELECTION = "last epoch"  # the rule by which a run's weights are chosen


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
    record: bool = True,
    data_root: str | Path | None = None,
    listener: Listener | None = None,
    **bare: Any,
) -> Run:
    """A trained run of a method on a task: a data set by name, an .npz file, or a Dataset of one's own.

    ``settings`` (``{"train.epochs": 3}``) and bare keywords (``debias_weight=2``) are what ``--set`` takes. With
    ``out`` the run is kept as a folder from which it can go on (``resume``) and be loaded.
    """
    _check_kinds(task, backbone)
    seed = checked_seed(seed)
    root = Path(data_root) if data_root is not None else None
    dataset, plan = plan_run(task, method, dict(settings or {}) | bare, preset, partial(read, data_root=root))
    model = build(dataset.task, method, plan, seed, backbone)
    check_trainable(dataset, needs_bias=model.needs_bias)
    where = choose_device(device)
    config = config_of(
        task,
        method,
        seed,
        plan if backbone is None else plan.with_own_backbone(OWN),
        dataset,
        dataset.fingerprint(),
    )
    folder = Folder(Path(out)) if out is not None else None
    again = folder.begin(config, resume=resume, force=force) if folder else False
    log = Log(folder.log if folder else None)
    run = Run(model, config, {}, log, folder.path if folder else None, dataset.view)
    if folder and again and (done := folder.read_result()) is not None:
        checkpoint.put(checkpoint.load(folder.checkpoint).weights, Alone(model).state, str(folder.checkpoint))
        model.to(where)
        run.result = done
        return run
    keep = folder.checkpoint if folder else None
    way = Way(where, deterministic, record)
    fit(model, dataset, listener or Silent(), way, seed=seed, log=log, keep=keep, resume=again)
    run.result = result_of(run, dataset, plan, environment(way, model.course.precision))
    if folder:
        folder.write_result(run.result)
    return run


def config_of(
    task: str | Path | Dataset, method: str, seed: int, plan: Plan, dataset: Dataset, fingerprint: str
) -> dict[str, Any]:
    """All that a run's folder must hold for it to be run again, or loaded without its data."""
    return {
        "csad": __version__,
        "task": str(task) if isinstance(task, str | Path) else OWN,
        "method": method,
        "seed": seed,
        "view": "usual" if dataset.view is as_float else OWN,
        **asdict(plan),
        "about": describe(dataset.task) | {"fingerprint": fingerprint} | _weights(plan),
    }


def _weights(plan: Plan) -> dict[str, str]:
    """What pretrained weights a backbone begins with: a file of the same name may come to hold others."""
    file = Path(str(plan.net.get("weights", ""))).expanduser()
    return {"weights": hashlib.sha256(file.read_bytes()).hexdigest()[:16]} if file.is_file() else {}


def result_of(
    run: Run, dataset: Dataset, plan: Plan, environment: Mapping[str, Any], probed: Sequence[str] = ()
) -> dict[str, Any]:
    """The figures of a run that has come to its end, and what they depend on."""
    return {
        "task": run.config["task"],
        "method": run.config["method"],
        "seed": run.config["seed"],
        "settings": asdict(plan),
        "selection": SELECTION,
        "metrics": evaluate(run, dataset, probed=probed),
        "target_updates": target_updates(run.method, dataset.train.y),
        "seconds": run.log.seconds(),
        "warnings": run.log.warnings(),
        "environment": dict(environment),
    }


def checked_seed(seed: Any) -> int:
    """The seed, NumPy's as Python's own, which JSON knows."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be 0 or more, and below 2**63, a whole number, not {seed!r}.")
    return int(seed)


def _check_kinds(task: Any, backbone: Any) -> None:
    """What Python cannot check for us at this door."""
    if not isinstance(task, str | Path | Dataset):
        raise InputError(
            f"The task must be a data set's name, an .npz file or a csad.Dataset, not a {type(task).__name__}: "
            "csad.from_arrays(x, y, b) makes one of arrays, csad.Samples.from_dataset reads a torch Dataset."
        )
    if backbone is not None and not isinstance(backbone, nn.Module):
        raise InputError(f"backbone must be a torch module, not {backbone!r}: give an instance of your class.")


def target_updates(method: Method, y: Tensor) -> int:
    """How often the schedule moves the target branch, for training targets y."""
    return batches_per_epoch(y, method.course) * sum(
        stage.epochs * line.repeat for stage in method.schedule() for line in stage.updates if "P_y" in line.moves
    )


def environment(way: Way, precision: str) -> dict[str, Any]:
    """What a figure depends on besides its settings."""
    on_gpu = way.device.type == "cuda"
    return {
        "csad": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(way.device) if on_gpu else way.device.type,
        "threads": torch.get_num_threads(),
        "precision": precision,
        "deterministic": way.deterministic,
        "recorded": way.record and on_gpu,
    }
