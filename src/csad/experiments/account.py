"""What a run's folder says of it: the config that makes it again, and the result with what that depends on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from csad import __version__
from csad.data.samples import Dataset, as_float
from csad.data.tables.file_columns import PLACES
from csad.experiments.build import is_file
from csad.experiments.digests import weights_digest
from csad.experiments.folder import describe
from csad.experiments.pixels import pixels_of
from csad.experiments.plan import Plan
from csad.experiments.reading import name_of
from csad.experiments.run import Run, evaluate
from csad.experiments.selection import selection_of
from csad.experiments.threshold import threshold_of
from csad.experiments.trust import OWN
from csad.methods.method import Method
from csad.training.batches import batches_per_epoch
from csad.training.device import Way


def config_of(
    task: str | Path | Dataset,
    method: str,
    seed: int,
    plan: Plan,
    dataset: Dataset,
    fingerprint: str,
    backbone: nn.Module | None = None,
) -> dict[str, Any]:
    """All that a run's folder must hold for it to be run again, from wherever, or loaded without its data."""
    settings = (plan if backbone is None else plan.with_own_backbone(OWN)).sections()
    for place in PLACES:
        if settings["data"].get(place):
            settings["data"][place] = os.path.abspath(settings["data"][place])
    return {
        "csad": __version__,
        "task": OWN if isinstance(task, Dataset) else os.path.abspath(task) if is_file(str(task)) else str(task),
        "method": method,
        "seed": seed,
        "view": "usual" if dataset.view is as_float else OWN,
        **settings,
        "about": describe(dataset.task)
        | {"fingerprint": fingerprint}
        | pixels_of(dataset.train)
        | _weights(settings["net"]),
    }


def _weights(net: Mapping[str, Any]) -> dict[str, str]:
    """What pretrained weights a backbone begins with: a file of the same name may come to hold others."""
    word = weights_digest(Path(str(net.get("weights", ""))).expanduser())
    return {"weights": word} if word else {}


def result_of(
    run: Run,
    dataset: Dataset,
    plan: Plan,
    environment: Mapping[str, Any],
    probed: Sequence[str] = (),
    *,
    threshold: float | None = None,
) -> dict[str, Any]:
    """The figures of a run that has come to its end, and what they depend on; the run then has its threshold."""
    decision = threshold_of(run, dataset, threshold)
    if decision is not None:
        run.threshold = decision.value
    return {
        "task": name_of(run.config["task"]),
        "method": run.config["method"],
        "seed": run.config["seed"],
        "settings": plan.sections(),
        "selection": selection_of(run.method, run.log),
        "metrics": evaluate(run, dataset, probed=probed),
        "target_updates": target_updates(run.method, dataset.train.y),
        "seconds": run.log.seconds(),
        "warnings": run.log.warnings(),
        "environment": dict(environment),
        **({"threshold": decision.as_dict()} if decision else {}),
    }


def target_updates(method: Method, y: Tensor) -> int:
    """How often the schedule moves the target branch, for training targets y."""
    return batches_per_epoch(y, method.course) * sum(
        stage.epochs * line.repeat for stage in method.schedule() for line in stage.updates if "P_y" in line.moves
    )


def made_with(environment: Mapping[str, Any]) -> str:
    """The versions and the device, for people."""
    return "csad {csad}, torch {torch}, Python {python}, {device}".format(**environment)


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
