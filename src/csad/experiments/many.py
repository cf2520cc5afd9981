"""Many runs from settings to figures, in as few programs as can be; each is an ordinary run folder in the end."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

from csad.data.samples import Dataset
from csad.experiments.account import config_of
from csad.experiments.build import build, read
from csad.experiments.finishing import measure_again
from csad.experiments.listeners import Silent, Teller
from csad.experiments.programs import Programs
from csad.experiments.selection import forget_epochs
from csad.experiments.trainable import check_ready
from csad.experiments.wanted import Ready, Wanted
from csad.methods.method import Course
from csad.training.device import Way, choose_device
from csad.training.footprint import free_bytes, run_bytes
from csad.training.stack import why_not_stacked


class Means(TypedDict, total=False):
    """How many runs are trained, whatever they are: the options that a sweep, a table and a check have in common."""

    device: str  # auto, cpu, cuda or cuda:N
    deterministic: bool  # only deterministic algorithms
    record: bool  # on a GPU, as a CUDA graph
    keep_weights: bool  # beside the figures
    data_root: str | Path | None  # the folder that holds the data sets
    teller: Teller | None  # hears what goes on


class Campaign:
    """Trains what is asked for: data are read once, shared pretraining is done once, finished runs are left alone."""

    def __init__(
        self, scratch: Path, way: Way, teller: Teller, *, data_root: Path | None = None, keep_weights: bool = False
    ) -> None:
        self.way, self.teller, self.data_root = way, teller, data_root
        self.programs = Programs(scratch, way, teller, keep_weights=keep_weights)
        self._read: dict[str, Dataset] = {}
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
        teller: Teller | None = None,
    ) -> Campaign:
        """A campaign as a user asks for it: with the options of Means."""
        way = Way(choose_device(device), deterministic, record)
        root = Path(data_root) if data_root is not None else None
        return cls(scratch, way, teller or Silent(), data_root=root, keep_weights=keep_weights)

    def ready(self, wanted: Wanted, *, resume: bool, force: bool) -> Ready:
        """The run with its data and fresh weights; bad settings, bad data and a folder in the way are told here."""
        dataset = self.dataset(wanted.task, wanted.plan.data) if wanted.dataset is None else wanted.dataset
        method = build(dataset.task, wanted.method, wanted.plan, wanted.seed, wanted.backbone)
        what = (id(dataset), method.needs_bias, method.course)
        if what not in self._checked:
            check_ready(dataset, method)
            self._checked.add(what)
        if id(dataset) not in self._fingerprints:
            self._fingerprints[id(dataset)] = dataset.fingerprint()
        word = self._fingerprints[id(dataset)]
        config = config_of(wanted.task, wanted.method, wanted.seed, wanted.plan, dataset, word, wanted.backbone)
        ready = Ready(wanted, dataset, method, config)
        ready.folder.check(ready.config, resume=resume and ready.folder.config.exists(), force=force)
        return ready

    def begin(self, runs: Sequence[Ready], *, resume: bool, force: bool) -> None:
        """Makes the folders, once it is known that all runs can be made."""
        for run in runs:
            again = resume and run.folder.config.exists()
            run.folder.begin(run.config, resume=again, force=force, dataset=run.dataset)

    def complete(self, runs: Sequence[Ready]) -> None:
        """Sees to finished runs that lack a figure: their weights give it, or they are begun anew.

        Those that lack nothing but weights which are to be kept are told of, and stay as they are.
        """
        weightless = []
        for run in runs:
            if not run.folder.result.exists():
                continue
            forget_epochs(run.folder.path, run.method)  # which a stop right after the result may have left
            if lacking := run.lacking():
                told = f"{run.wanted.name} is finished, but lacks {', '.join(lacking)}"
                if run.folder.checkpoint.exists():
                    self.teller.say(f"{told}: measured from the weights that were kept.")
                    measure_again(run, self.way)
                else:
                    self.teller.say(f"{told}, and its weights were not kept: it is trained again.")
                    run.folder.begin(run.config, resume=False, force=True, dataset=run.dataset)
            elif self.programs.keep_weights and not run.folder.checkpoint.exists():
                weightless.append(run.wanted.name)
        if weightless:
            many = f"{len(weightless):,} finished run{'s have' if len(weightless) > 1 else ' has'} no weights"
            advice = "to have them, train anew in another place (--out), or remove the runs first"
            self.teller.warn(f"{many}, which were not kept, the first is {weightless[0]}: {advice}.")

    def stacked(self, runs: Sequence[Ready]) -> list[list[Ready]]:
        """The runs that still have to be made, in stacks that fit into memory."""
        kinds: dict[str, list[Ready]] = {}
        for run in runs:
            if run.result() is None:
                kinds.setdefault(run.kind(), []).append(run)
        return [stack for alike in kinds.values() for stack in self._split(alike)]

    def _split(self, alike: list[Ready]) -> list[list[Ready]]:
        first = alike[0]
        # A net that is worth bf16 keeps a GPU busy by itself; convolutions of a stack would only be slower.
        if first.method.course.precision == "bf16" or why_not_stacked(first.method):
            return [[run] for run in alike]
        data = {id(run.dataset): run.dataset.train.x.nbytes for run in alike}
        free = free_bytes(self.way.device) - sum(data.values())
        limit = max(1, free // run_bytes(first.method, first.dataset))
        count = math.ceil(len(alike) / limit)
        ends = [len(alike) * k // count for k in range(count + 1)]
        return [alike[start:end] for start, end in pairwise(ends)]

    def dataset(self, task: str, settings: Mapping[str, Any]) -> Dataset:
        """The data set, the same object for the same settings."""
        name = json.dumps([task, settings], sort_keys=True)
        if name not in self._read:
            self._read[name] = read(task, settings, self.data_root)
        return self._read[name]
