"""One run from settings to figures, kept in a folder from which it can go on."""

from __future__ import annotations

import hashlib
import os
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
from csad.data.tables.owned import OwnTable
from csad.errors import InputError
from csad.experiments.build import build, is_file, plan_run, read
from csad.experiments.choices.occasion import checked_cost, rows_to_choose_by
from csad.experiments.folder import Folder, describe
from csad.experiments.listeners import Silent, Unadvised
from csad.experiments.plan import Plan
from csad.experiments.reading import OWN, name_of
from csad.experiments.run import Run, evaluate
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
    cost: float | None = None,
    **bare: Any,
) -> Run:
    """A trained run of a method on a task: a data set by name, an .npz file or a table, or a Dataset of one's own.

    ``settings`` (``{"train.epochs": 3}``) and bare keywords (``debias_weight=2``) are what ``--set`` takes. With
    ``out`` the run is kept as a folder from which it can go on (``resume``) and be loaded.

    On data of one's own a ``debias_weight`` that is not given is chosen on the validation split, where that has rows
    enough: the one that takes away most leakage at a ``cost`` of at most .02 in balanced accuracy (choice.py).
    """
    _check_kinds(task, backbone)
    seed = checked_seed(seed)
    root = Path(data_root) if data_root is not None else None
    given = dict(settings or {}) | bare
    dataset, plan = plan_run(task, method, given, preset, partial(read, data_root=root))
    model = build(dataset.task, method, plan, seed, backbone)
    check_trainable(dataset, needs_bias=model.needs_bias)
    way = Way(choose_device(device), deterministic, record)
    hearer, place = listener or Silent(), Path(out) if out is not None else None
    own = isinstance(task, Dataset) or is_file(str(task))
    rows = rows_to_choose_by(dataset, plan, given, own=own, cost=cost, say=Unadvised(hearer).say)
    if rows is not None:
        # Imported here: a choice trains many runs, and what trains many imports this file.
        from csad.experiments.choices.choosing import Asked, choose, chosen_before

        told = OWN if isinstance(task, Dataset) else str(task)
        asked = Asked(told, method, seed, plan, dataset, rows, checked_cost(cost), backbone)
        if (known := chosen_before(asked, place, resume=resume)) is None:
            return choose(asked, way, hearer, out=place, resume=resume, force=force)
        plan = known
    config = config_of(
        task,
        method,
        seed,
        plan if backbone is None else plan.with_own_backbone(OWN),
        dataset,
        dataset.fingerprint(),
    )
    folder = Folder(place) if place is not None else None
    again = folder.begin(config, resume=resume, force=force, dataset=dataset) if folder else False
    log = Log(folder.log if folder else None)
    preparation = dataset.preparation if isinstance(dataset, OwnTable) else None
    run = Run(model, config, {}, log, folder.path if folder else None, dataset.view, preparation)
    if folder and again and (done := folder.read_result()) is not None:
        checkpoint.put(checkpoint.load(folder.checkpoint).weights, Alone(model).state, str(folder.checkpoint))
        model.to(way.device)
        run.result = done
        return run
    keep = folder.checkpoint if folder else None
    fit(model, dataset, hearer, way, seed=seed, log=log, keep=keep, resume=again)
    run.result = result_of(run, dataset, plan, environment(way, model.course.precision))
    if folder:
        folder.write_result(run.result)
    return run


def config_of(
    task: str | Path | Dataset, method: str, seed: int, plan: Plan, dataset: Dataset, fingerprint: str
) -> dict[str, Any]:
    """All that a run's folder must hold for it to be run again, from wherever, or loaded without its data."""
    settings = asdict(plan)
    if settings["data"].get("images"):
        settings["data"]["images"] = os.path.abspath(settings["data"]["images"])
    return {
        "csad": __version__,
        "task": OWN if isinstance(task, Dataset) else os.path.abspath(task) if is_file(str(task)) else str(task),
        "method": method,
        "seed": seed,
        "view": "usual" if dataset.view is as_float else OWN,
        **settings,
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
        "task": name_of(run.config["task"]),
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
