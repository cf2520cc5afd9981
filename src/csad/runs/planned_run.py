"""A run that is asked for, and the same prepared: with its data, its fresh weights, its config and its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from csad import __version__
from csad.auditing.metrics.metric import METRICS
from csad.data.own.linked_files import PLACES
from csad.data.sampler import balanced_over, epoch_order
from csad.data.samples import Dataset, as_float
from csad.data.validate import check_trainable
from csad.methods.method import Method
from csad.nets.parts import OwnBackbone
from csad.runs.best_epoch import check_selectable
from csad.runs.build import OWN, build, describe, is_file
from csad.runs.digests import weights_digest
from csad.runs.folder import Folder
from csad.runs.run import pixels_of
from csad.runs.settings import Plan
from csad.training.stacking import may_differ
from csad.training.validation import EpochCallback

# What stacked runs may differ in besides seed, data and the method's buffers: numbers of the optimizers.
FREE = ("rate", "pretrain_rate", "decay", "weight_decay", "average")


@dataclass(frozen=True)
class RunRequest:
    """One run that is asked for: what makes it, where it is kept, and what its result must hold."""

    name: str  # as messages call it
    task: str  # a data set's name, a file, or OWN
    method: str
    seed: int
    plan: Plan
    out: Path | None  # the run's folder; None: the run stays in memory
    splits: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # of each of these splits, in the result
    dataset: Dataset | None = None  # if it has been read, or was given from Python
    backbone: nn.Module | None = None  # a module of the user's own, of which a copy is trained
    threshold: float | None = None  # that the user gives
    callback: EpochCallback | None = None  # called while it trains; the same for all runs of a program
    row_predictions: bool = False  # whether the predictions for each row of these splits are kept

    @property
    def probed(self) -> tuple[str, ...]:
        """The splits on which fresh probes look for the bias. It takes seconds, so it must be asked for."""
        return self.splits if set(METRICS.needing("probes")) & set(self.metrics) else ()

    @property
    def own_backbone(self) -> OwnBackbone | None:
        """The module or class that the user gave, with which the run's folder is loaded again."""
        return self.plan.own_backbone if self.backbone is None else self.backbone


@dataclass(frozen=True)
class PreparedRun:
    """A run with its data and a method with fresh weights."""

    request: RunRequest
    dataset: Dataset
    method: Method
    fingerprint: str = ""  # of the data set, if it is known: for large data it takes a while

    @cached_property
    def config(self) -> dict[str, Any]:
        """All that config.toml holds: enough to train the run again, or to load it without its data."""
        request = self.request
        fingerprint = self.fingerprint or self.dataset.fingerprint()
        return run_config(
            request.task, request.method, request.seed, request.plan, self.dataset, fingerprint, request.backbone
        )

    @property
    def folder(self) -> Folder:
        """The run's folder, of a run that is kept."""
        assert self.request.out is not None, "a run in memory has no folder"
        return Folder(self.request.out)

    @property
    def is_kept(self) -> bool:
        """Whether the run has a folder."""
        return self.request.out is not None

    def begin(self, *, resume: bool, force: bool) -> bool:
        """Make the folder of a run that is kept; return whether there is a run to resume."""
        return self.is_kept and self.folder.begin(self.config, resume=resume, force=force, dataset=self.dataset)

    def missing_results(self) -> list[str]:
        """The metrics that its result does not hold, or not yet; and the row predictions, if they are not there."""
        result, request = self.folder.read_result(), self.request
        by_split = [result["metrics"].get(split, {}) if result else {} for split in request.splits]
        missing = [metric for metric in request.metrics if any(metric not in metrics for metrics in by_split)]
        complete = all(self.folder.row_predictions(split).exists() for split in request.splits)
        return missing if complete or not request.row_predictions else [*missing, "row predictions"]

    def result(self) -> dict[str, Any] | None:
        """Its result, once it is finished and holds every metric that was asked for."""
        return None if self.missing_results() else self.folder.read_result()

    def stack_key(self) -> str:
        """A key that runs share if they can be trained as one program."""
        plan, train = self.request.plan, self.dataset.train
        course = {name: value for name, value in plan.train.items() if name not in FREE}
        course["averaged"] = plan.train["average"] > 0  # then a buffer holds how much
        settings = {name: value for name, value in plan.settings.items() if not may_differ(self.method, name)}
        about = {name: value for name, value in self.config["about"].items() if name != "fingerprint"}
        held_out = len(self.dataset.splits["validation"]) if "validation" in self.dataset.splits else 0
        parts = [self.request.method, plan.net, course, settings, about, len(train), held_out, str(train.x.dtype)]
        return json.dumps(parts, sort_keys=True)


def fresh_method(request: RunRequest, dataset: Dataset) -> Method:
    """The request's method with fresh weights."""
    return build(dataset.task, request.method, request.plan, request.seed, request.backbone)


def check_ready(dataset: Dataset, method: Method) -> None:
    """Raise InputError if the data, or mini-batches of them, do not suit the method and its settings."""
    check_trainable(dataset, needs_bias=method.needs_bias)
    check_selectable(dataset, method)
    course, rows = method.course, dataset.train
    balance = balanced_over(course.balance, rows.y, rows.b)
    size = min(course.batch_size, len(rows))
    epoch_order(len(rows), size, torch.Generator(), partial=course.partial, balance=balance)  # raises if there is none


def run_config(
    task: str | Path | Dataset,
    method: str,
    seed: int,
    plan: Plan,
    dataset: Dataset,
    fingerprint: str,
    backbone: nn.Module | None = None,
) -> dict[str, Any]:
    """All that a run's folder must hold to train the run again, from anywhere, or to load it without its data."""
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
        | _pretrained_digest(settings["net"]),
    }


def _pretrained_digest(net: Mapping[str, Any]) -> dict[str, str]:
    """The digest of the pretrained weights of a backbone: a file of the same name may come to hold others."""
    digest = weights_digest(Path(str(net.get("weights", ""))).expanduser())
    return {"weights": digest} if digest else {}
