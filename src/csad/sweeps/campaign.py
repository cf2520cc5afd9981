"""Many runs from settings to results, in as few programs as possible; each is an ordinary run folder in the end."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

from csad.data.samples import Dataset
from csad.messages import message
from csad.methods.method import Course
from csad.runs.best_epoch import forget_epochs
from csad.runs.build import read_dataset
from csad.runs.listeners import Listener, hearing_data
from csad.runs.planned_run import PreparedRun, RunRequest, check_ready, fresh_method
from csad.runs.train_run import measure_again
from csad.sweeps.train_stack import StackTrainer
from csad.training.device import ComputeSettings, choose_device
from csad.training.memory import free_bytes, run_bytes
from csad.training.stacking import why_not_stacked


class RunOptions(TypedDict, total=False):
    """The options that a sweep, a table and a check have in common: how and where runs are trained.

    Args:
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        deterministic: Only deterministic algorithms.
        record: On a GPU, record a step as a CUDA graph.
        keep_weights: Keep the weights of each run with its results.
        data_root: The folder that holds the data sets.
        listener: Hears what is done, a ``csad.Listener``.
    """

    device: str
    deterministic: bool
    record: bool
    keep_weights: bool
    data_root: str | Path | None
    listener: Listener | None


class Campaign:
    """Trains runs: data are read once, shared pretraining is done once, finished runs are left alone."""

    def __init__(
        self,
        scratch: Path,
        compute: ComputeSettings,
        listener: Listener,
        *,
        data_root: Path | None = None,
        keep_weights: bool = False,
    ) -> None:
        self.compute, self.listener, self.data_root = compute, listener, data_root
        self.trainer = StackTrainer(scratch, compute, listener, keep_weights=keep_weights)
        self._datasets: dict[str, Dataset] = {}
        self._fingerprints: dict[int, str] = {}  # of large data each takes a while
        self._checked: set[tuple[int, bool, Course]] = set()

    @classmethod
    def at(
        cls,
        scratch: Path,
        *,
        device: str = "auto",
        deterministic: bool = False,
        record: bool = True,
        keep_weights: bool = False,
        data_root: str | Path | None = None,
        listener: Listener | None = None,
    ) -> Campaign:
        """A campaign with a user's RunOptions."""
        compute = ComputeSettings(choose_device(device), deterministic, record)
        root = Path(data_root) if data_root is not None else None
        return cls(scratch, compute, listener or Listener(), data_root=root, keep_weights=keep_weights)

    def prepare(self, request: RunRequest, *, resume: bool, force: bool) -> PreparedRun:
        """Read the data and build fresh weights; raise InputError for bad settings, bad data or an occupied folder."""
        dataset = self.dataset(request.task, request.plan.data) if request.dataset is None else request.dataset
        method = fresh_method(request, dataset)
        kind = (id(dataset), method.needs_bias, method.course)
        if kind not in self._checked:
            check_ready(dataset, method)
            self._checked.add(kind)
        if id(dataset) not in self._fingerprints:
            self._fingerprints[id(dataset)] = dataset.fingerprint()
        run = PreparedRun(request, dataset, method, self._fingerprints[id(dataset)])
        run.folder.check(run.config, resume=resume and run.folder.config.exists(), force=force)
        return run

    def begin(self, requests: Sequence[RunRequest], *, resume: bool, force: bool) -> list[PreparedRun]:
        """Prepare the runs, and make their folders once all of them can be made."""
        runs = [self.prepare(request, resume=resume, force=force) for request in requests]
        for run in runs:
            run.begin(resume=resume and run.folder.config.exists(), force=force)
        return runs

    def fill_missing_results(self, runs: Sequence[PreparedRun]) -> None:
        """Measure finished runs that lack a metric from their weights, or begin them anew if those were not kept.

        Runs that lack nothing but weights which are to be kept stay as they are, and a warning names them.
        """
        weightless = []
        for run in runs:
            if not run.folder.result.exists():
                continue
            forget_epochs(run.folder.path, run.method)  # a stop right after the result may have left them
            if missing := run.missing_results():
                lacking = {"run": run.request.name, "missing": ", ".join(missing)}
                if run.folder.checkpoint.exists():
                    self.listener.message(message("measured-from-kept-weights", **lacking))
                    measure_again(run, self.compute)
                else:
                    self.listener.message(message("run-trained-again", **lacking))
                    run.begin(resume=False, force=True)
            elif self.trainer.keep_weights and not run.folder.checkpoint.exists():
                weightless.append(run.request.name)
        if weightless:
            self.listener.warn(message("weights-of-runs-missing", count=len(weightless), run=weightless[0]))

    def stacks(self, runs: Sequence[PreparedRun]) -> list[list[PreparedRun]]:
        """The runs that still have to be trained, in stacks that fit into memory."""
        by_key: dict[str, list[PreparedRun]] = {}
        for run in runs:
            if run.result() is None:
                by_key.setdefault(run.stack_key(), []).append(run)
        return [stack for alike in by_key.values() for stack in self._split(alike)]

    def _split(self, alike: list[PreparedRun]) -> list[list[PreparedRun]]:
        first = alike[0]
        # A net that is worth bf16 keeps a GPU busy by itself; convolutions of a stack would only be slower.
        if first.method.course.precision == "bf16" or why_not_stacked(first.method):
            return [[run] for run in alike]
        data = {id(run.dataset): run.dataset.train.x.nbytes for run in alike}
        free = free_bytes(self.compute.device) - sum(data.values())
        limit = max(1, free // run_bytes(first.method, first.dataset))
        count = math.ceil(len(alike) / limit)
        ends = [len(alike) * k // count for k in range(count + 1)]
        return [alike[start:end] for start, end in pairwise(ends)]

    def dataset(self, task: str, settings: Mapping[str, Any]) -> Dataset:
        """The data set, the same object for the same settings."""
        key = json.dumps([task, settings], sort_keys=True)
        if key not in self._datasets:
            with hearing_data(self.listener):
                self._datasets[key] = read_dataset(task, settings, self.data_root)
        return self._datasets[key]
