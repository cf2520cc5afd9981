"""One run from settings to figures, kept in a folder from which it can go on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from csad.data.samples import Dataset
from csad.data.tables.owned import preparation_of
from csad.errors import InputError
from csad.experiments.account import config_of, environment, result_of
from csad.experiments.build import build, plan_run, read
from csad.experiments.choices.asked import Asked
from csad.experiments.choices.choosing import choose
from csad.experiments.choices.folder import chosen_before
from csad.experiments.choices.occasion import checked_cost, rows_to_choose_by
from csad.experiments.folder import Folder
from csad.experiments.listeners import Silent, Teller
from csad.experiments.outdated import put_aside, to_be_removed
from csad.experiments.run import Run
from csad.experiments.selection import best_epochs, fit_selecting, forget_epochs
from csad.experiments.threshold import check_given, check_same, is_own, judged_by, threshold_in
from csad.experiments.trainable import check_ready
from csad.experiments.trust import OWN
from csad.training import checkpoint
from csad.training.device import Way, choose_device
from csad.training.log import Log
from csad.training.stack import Alone


def train(
    task: str | Path | Dataset,
    method: str = "csad",
    *,
    seed: int = 0,  # weights and order of mini-batches follow from it
    preset: str = "",  # named settings of the task, such as authors
    settings: Mapping[str, Any] | None = None,
    backbone: nn.Module | None = None,  # a module of one's own as F: a copy of it is trained
    out: str | Path | None = None,  # the run's folder; nothing is kept without it
    resume: bool = False,  # go on with a run that was stopped
    force: bool = False,  # begin anew over an existing run
    device: str = "auto",  # auto, cpu, cuda or cuda:N
    deterministic: bool = False,  # only deterministic algorithms
    record: bool = True,  # on a GPU, as a CUDA graph
    data_root: str | Path | None = None,  # the folder that holds the data sets
    listener: Teller | None = None,  # hears how it goes; without one, advice is a TrainingWarning
    cost: float | None = None,
    threshold: float | None = None,
    **bare: Any,
) -> Run:
    """A trained run of a method on a task: a data set by name, an .npz file or a table, or a Dataset of one's own.

    ``settings`` (``{"train.epochs": 3}``) and bare keywords (``debias_weight=2``) are what ``--set`` takes. With
    ``out`` the run is kept as a folder from which it can go on (``resume``) and be loaded.

    On data of one's own a ``debias_weight`` that is not given is chosen on the validation split, where that has rows
    enough: the one that takes away most leakage at a ``cost`` of at most .02 in balanced accuracy (choice.py).
    Of two classes the second is said where its probability is above ``threshold``, chosen there too (threshold.py).
    """
    _check_kinds(task, backbone)
    seed = checked_seed(seed)
    root = Path(data_root) if data_root is not None else None
    given = dict(settings or {}) | bare
    dataset, plan = plan_run(task, method, given, preset, partial(read, data_root=root))
    model = build(dataset.task, method, plan, seed, backbone)
    check_ready(dataset, model)
    decision = check_given(threshold, dataset)
    way = Way(choose_device(device), deterministic, record)
    hearer, place = listener or Silent(), Path(out) if out is not None else None
    told = OWN if isinstance(task, Dataset) else str(task)
    rows = rows_to_choose_by(dataset, plan, given, own=is_own(told), cost=cost, say=hearer.say)
    allowed = checked_cost(cost)
    if force and place is not None:
        Folder(place).check({}, resume=resume, force=force)  # nothing is announced of what cannot be begun
        if gone := to_be_removed(place):
            hearer.say(gone)
    if rows is not None:
        asked = Asked(told, method, seed, plan, dataset, rows, allowed, backbone, decision)
        if (known := chosen_before(asked, place, resume=resume)) is None:
            return choose(asked, way, hearer, out=place, resume=resume, force=force)
        plan = known
    config = config_of(task, method, seed, plan, dataset, dataset.fingerprint(), backbone)
    folder = Folder(place) if place is not None else None
    again = folder.begin(config, resume=resume, force=force, dataset=dataset) if folder else False
    log = Log(folder.log if folder else None)
    run = Run(model, config, {}, log, folder.path if folder else None, dataset.view, preparation_of(dataset))
    if folder and again:
        if (done := folder.read_result()) is not None:
            check_same(decision, done, folder.path)
            return _finished(run, folder, done, way)
        if moved := put_aside(folder.path):
            hearer.say(moved)
    keep = folder.checkpoint if folder else None
    best = best_epochs([model], [dataset], [judged_by(config["task"], dataset, model.course.balance, decision)])
    fit_selecting(model, dataset, hearer, way, seed=seed, log=log, keep=keep, resume=again, onlooker=best)
    run.result = result_of(run, dataset, plan, environment(way, model.course.precision), threshold=decision)
    if folder:
        folder.write_result(run.result)
        forget_epochs(folder.path, model)
    return run


def _finished(run: Run, folder: Folder, result: dict[str, Any], way: Way) -> Run:
    """The run as its folder has it, which came to its end before."""
    checkpoint.put(checkpoint.load(folder.checkpoint).weights, Alone(run.method).state, str(folder.checkpoint))
    run.method.to(way.device)
    run.result, run.threshold = result, threshold_in(result)
    forget_epochs(folder.path, run.method)  # which a stop right after the result may have left
    return run


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
