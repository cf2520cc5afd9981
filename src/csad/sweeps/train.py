"""``csad.train``: one run from a task and settings, or the choice of its debias_weight (λ) among several trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from csad.data.samples import Dataset
from csad.errors import InputError
from csad.runs.build import OWN, checked_seed, is_own, plan_run, read_dataset
from csad.runs.folder import Folder
from csad.runs.listeners import Listener, hearing_data
from csad.runs.planned_run import PreparedRun, RunRequest, check_ready, fresh_method
from csad.runs.run import Run
from csad.runs.threshold import check_threshold
from csad.runs.train_run import train_run
from csad.sweeps.tuning.trials import TuningJob
from csad.sweeps.tuning.tune import plan_chosen_before, tune
from csad.sweeps.tuning.validation_rows import WEIGHT, checked_cost, tuning_rows
from csad.training.device import ComputeSettings, choose_device


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
    threshold: float | None = None,
    **bare: Any,
) -> Run:
    """Train a method on a task and return the run.

    On your own data a ``debias_weight`` that is not given is tuned on the validation split, if that has enough rows:
    the one that removes most leakage at a ``cost`` of at most .02 in balanced accuracy (sweeps/tuning/rule.py). If
    mini-batches are not balanced, the threshold between two classes is chosen there too (runs/threshold.py).

    Args:
        task: A data set's name, an .npz file of x, y and b, a table (.csv, .parquet), or a ``csad.Dataset``.
        method: A method's name, as ``csad list methods`` prints it.
        seed: Fixes the weights and the order of mini-batches.
        preset: Named settings of the task, such as ``authors``.
        settings: Settings by name, such as ``{"train.epochs": 3}``: what ``--set`` takes.
        backbone: Your own torch module as F. A copy of it is trained.
        out: The run's folder. Without it nothing is kept on disk.
        resume: Continue a run that was stopped; a finished one is loaded.
        force: Begin anew over an existing run.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        deterministic: Use only deterministic algorithms.
        record: On a GPU, record a step as a CUDA graph, which is faster.
        data_root: The folder that holds the data sets.
        listener: Hears progress, notices and advice, a ``csad.Listener``. Without one, advice is a
            ``csad.TrainingWarning``.
        cost: Balanced accuracy (of a number: share of explained variance) that tuning may give up on the validation
            split; .02 by default.
        threshold: Of two classes, the probability above which the second is predicted.
        **bare: More settings, such as ``debias_weight=2``.
    """
    _check_types(task, backbone)
    seed, listener = checked_seed(seed), listener or Listener()
    root = Path(data_root) if data_root is not None else None
    overrides = dict(settings or {}) | bare
    with hearing_data(listener):
        dataset, plan = plan_run(task, method, overrides, preset, partial(read_dataset, data_root=root))
    name = OWN if isinstance(task, Dataset) else str(task)
    request = RunRequest(
        name=f"{dataset.task.name if isinstance(task, Dataset) else Path(task).stem} {method} seed {seed}",
        task=name, method=method, seed=seed, plan=plan, out=Path(out) if out is not None else None, dataset=dataset,
        backbone=backbone,
    )  # fmt: skip
    model = fresh_method(request, dataset)
    check_ready(dataset, model)
    request = replace(request, threshold=check_threshold(threshold, dataset))
    compute = ComputeSettings(choose_device(device), deterministic, record)
    scorer, allowed_cost = None, 0.0
    if WEIGHT in plan.settings or cost is not None:  # without the weight there is nothing to tune
        scorer = tuning_rows(dataset, plan, overrides, own_data=is_own(name), cost=cost, notify=listener.message)
        allowed_cost = checked_cost(cost)
    if force and request.out is not None:
        _announce_removal(Folder(request.out), listener, resume=resume)
    if scorer is not None:
        job = TuningJob(request, dataset, scorer, allowed_cost)
        if (chosen := plan_chosen_before(job, resume=resume)) is None:
            return tune(job, compute, listener, resume=resume, force=force)
        request = replace(request, plan=chosen)
        model = fresh_method(request, dataset)
    return train_run(PreparedRun(request, dataset, model), listener, compute, resume=resume, force=force)


def _check_types(task: Any, backbone: Any) -> None:
    """Raise InputError for a task or a backbone of a wrong type."""
    if not isinstance(task, str | Path | Dataset):
        raise InputError("task-wrong-type", kind=type(task).__name__)
    if backbone is not None and not isinstance(backbone, nn.Module):
        raise InputError("backbone-not-an-instance", value=backbone)


def _announce_removal(folder: Folder, listener: Listener, *, resume: bool) -> None:
    """Say which reports go with the run that is begun anew, if it can be."""
    folder.check({}, resume=resume, force=True)
    if message := folder.to_be_removed():
        listener.message(message)
