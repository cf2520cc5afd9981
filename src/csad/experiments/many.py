"""Many runs from settings to figures, in as few programs as can be; each is an ordinary run folder in the end."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

from torch import nn

from csad.data.samples import Dataset
from csad.errors import Diverged
from csad.experiments.account import config_of
from csad.experiments.build import build, read
from csad.experiments.finishing import Ended, finish, measure_again
from csad.experiments.folder import Folder
from csad.experiments.listeners import Silent, Teller
from csad.experiments.outdated import put_aside
from csad.experiments.plan import Plan
from csad.experiments.pretraining import Pretrained, common_stages, key, moved_parts
from csad.experiments.probing import LEAKAGE
from csad.experiments.reading import OWN
from csad.experiments.trainable import check_ready
from csad.methods.method import Method
from csad.training import checkpoint
from csad.training.checkpoint import Place, State
from csad.training.device import Way, choose_device
from csad.training.fit import fit, fit_many
from csad.training.footprint import free_bytes, run_bytes
from csad.training.log import Log
from csad.training.stack import may_differ, why_not_stacked
from csad.training.stages import Training
from csad.training.watch import Onlooker

# What stacked runs may differ in besides seed, data and the method's buffers: numbers of the optimisers.
FREE = ("rate", "pretrain_rate", "decay", "weight_decay", "average")


@dataclass(frozen=True)
class Wanted:
    """One run that is asked for: what makes it, and where it is to be kept."""

    name: str
    task: str
    method: str
    seed: int
    plan: Plan
    out: Path
    splits: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # figures of each of these splits which its result must hold
    dataset: Dataset | None = None  # where it has been read, or was given from Python
    backbone: nn.Module | None = None  # a module of the user's own, of which a copy is trained
    onlooker: Onlooker | None = None  # who looks on while it trains, the same for all that are one program

    @property
    def probed(self) -> tuple[str, ...]:
        """The splits on which fresh readers look for the bias: it costs seconds, so only where it is asked for."""
        return self.splits if LEAKAGE.keys() & set(self.metrics) else ()


@dataclass(frozen=True)
class Ready:
    """A wanted run with its data and fresh weights."""

    wanted: Wanted
    dataset: Dataset
    method: Method
    config: dict[str, Any]

    @property
    def folder(self) -> Folder:
        """Where it is kept."""
        return Folder(self.wanted.out)

    def lacking(self) -> list[str]:
        """The wanted figures that its result does not hold, or not yet."""
        found = self.folder.read_result()
        held = [found["metrics"].get(split, {}) if found else {} for split in self.wanted.splits]
        return [metric for metric in self.wanted.metrics if any(metric not in own for own in held)]

    def result(self) -> dict[str, Any] | None:
        """What it came to, once it is finished and holds every figure that is wanted."""
        return None if self.lacking() else self.folder.read_result()

    def kind(self) -> str:
        """A word that runs share when they can be one program."""
        plan, train = self.wanted.plan, self.dataset.train
        course = {name: value for name, value in plan.train.items() if name not in FREE}
        course["averaged"] = plan.train["average"] > 0  # then a buffer holds how much
        own = {name: value for name, value in plan.settings.items() if not may_differ(self.method, name)}
        about = {name: value for name, value in self.config["about"].items() if name != "fingerprint"}
        held_out = len(self.dataset.splits["validation"]) if "validation" in self.dataset.splits else 0
        told = [self.wanted.method, plan.net, course, own, about, len(train), held_out, str(train.x.dtype)]
        return json.dumps(told, sort_keys=True)


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
        self.way, self.teller, self.data_root, self.keep_weights = way, teller, data_root, keep_weights
        self.stacks = scratch / "stacks"
        self.pretrained = Pretrained(scratch / "pretrained")
        self._read: dict[str, Dataset] = {}
        self._fingerprints: dict[int, str] = {}  # of large data each takes a while
        self._checked: set[tuple[int, bool, int, str]] = set()

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
        what = (id(dataset), method.needs_bias, method.course.batch_size, method.course.balance)
        if what not in self._checked:
            check_ready(dataset, method)
            self._checked.add(what)
        if id(dataset) not in self._fingerprints:
            self._fingerprints[id(dataset)] = dataset.fingerprint()
        word = self._fingerprints[id(dataset)]
        plan = wanted.plan if wanted.backbone is None else wanted.plan.with_own_backbone(OWN)
        config = config_of(wanted.task, wanted.method, wanted.seed, plan, dataset, word)
        ready = Ready(wanted, dataset, method, config)
        ready.folder.check(ready.config, resume=resume and ready.folder.config.exists(), force=force)
        return ready

    def begin(self, runs: Sequence[Ready], *, resume: bool, force: bool) -> None:
        """Makes the folders, once it is known that all runs can be made."""
        for run in runs:
            again = resume and run.folder.config.exists()
            run.folder.begin(run.config, resume=again, force=force, dataset=run.dataset)

    def complete(self, runs: Sequence[Ready]) -> None:
        """Sees to finished runs that lack a figure: their weights give it, or they are begun anew."""
        for run in runs:
            if run.folder.result.exists() and (lacking := run.lacking()):
                told = f"{run.wanted.name} is finished, but lacks {', '.join(lacking)}"
                if run.folder.checkpoint.exists():
                    self.teller.say(f"{told}: measured from the weights that were kept.")
                    measure_again(run, self.way)
                else:
                    self.teller.say(f"{told}, and its weights were not kept: it is trained again.")
                    run.folder.begin(run.config, resume=False, force=True, dataset=run.dataset)

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

    def train(self, runs: Sequence[Ready]) -> list[str]:
        """Trains one stack to its end and writes the results; gives the names of runs that were lost."""
        if reason := why_not_stacked(runs[0].method):
            return self._train_alone(runs[0], reason)
        starts = self._pretrain(runs)
        lost = [run.wanted.name for run, start in zip(runs, starts, strict=True) if start is None]
        living = [(run, *start) for run, start in zip(runs, starts, strict=True) if start is not None]
        if not living:
            return lost
        chosen = [run for run, _, _ in living]
        keep = self._keep(chosen, "whole")
        if not all(run.folder.log.exists() for run in chosen):
            keep.unlink(missing_ok=True)  # one of them is begun anew
        if not keep.exists():
            for run, _, log in living:
                log.copy_to(run.folder.log)
        states = [state for _, state, _ in living if state is not None]
        training = self._fit(chosen, [Log(run.folder.log) for run in chosen], keep=keep, starts=states)
        if training is None:
            return [run.wanted.name for run in runs]
        ended = [
            Ended(run, training.state_of(number), training.logs[number])
            for number, run in enumerate(chosen)
            if number not in training.lost
        ]
        self._finish(ended, len(chosen))
        keep.unlink(missing_ok=True)
        return lost + [chosen[number].wanted.name for number in training.lost]

    def dataset(self, task: str, settings: Mapping[str, Any]) -> Dataset:
        """The data set, the same object for the same settings."""
        name = json.dumps([task, settings], sort_keys=True)
        if name not in self._read:
            self._read[name] = read(task, settings, self.data_root)
        return self._read[name]

    def _pretrain(self, runs: Sequence[Ready]) -> list[tuple[State | None, Log] | None]:
        """For each run where its common stages lead; None for a run that is lost in them."""
        stages = common_stages(runs[0].method)
        if stages == 0:
            return [(None, Log()) for _ in runs]
        for count in range(1, stages + 1):
            missing: dict[str, Ready] = {}
            for run in runs:
                word, before = (key(run.config, run.method, number) for number in (count, count - 1))
                if not self.pretrained.holds(word) and (count == 1 or self.pretrained.holds(before)):
                    missing.setdefault(word, run)
            if missing:
                self._pretrain_stage(missing, count)
        words = [key(run.config, run.method, stages) for run in runs]
        return [self.pretrained.take(word) if self.pretrained.holds(word) else None for word in words]

    def _pretrain_stage(self, missing: Mapping[str, Ready], count: int) -> None:
        runs = list(missing.values())
        before = [self.pretrained.take(key(run.config, run.method, count - 1)) for run in runs] if count > 1 else []
        keep = self._keep(runs, f"stage {count}")
        for word, (_, log) in zip(missing, before, strict=False):
            if not keep.exists():
                log.copy_to(self.pretrained.log(word))
        logs = [Log(self.pretrained.log(word)) for word in missing]
        training = self._fit(runs, logs, keep=keep, starts=[state for state, _ in before], until=count)
        if training is None:
            return
        parts = moved_parts(runs[0].method, count)
        for number, word in enumerate(missing):
            if number not in training.lost:
                self.pretrained.keep(word, training.state_of(number), parts)
        keep.unlink(missing_ok=True)

    def _keep(self, runs: Sequence[Ready], what: str) -> Path:
        """Where a stack that is stopped is kept until it goes on: the same runs, with the same settings."""
        told = json.dumps([what, *(run.config for run in runs)], sort_keys=True)
        return self.stacks / f"{hashlib.sha256(told.encode()).hexdigest()[:20]}.safetensors"

    def place_of(self, runs: Sequence[Ready], stage: int | None = None) -> Place:
        """How far these runs have come as one program: in that common stage, or in all that follows these."""
        if why_not_stacked(runs[0].method):
            return checkpoint.place_in(runs[0].folder.checkpoint)
        return checkpoint.place_in(self._keep(runs, "whole" if stage is None else f"stage {stage}"))

    def clear(self) -> None:
        """Removes what stopped stacks have left, once all runs are there."""
        shutil.rmtree(self.stacks, ignore_errors=True)

    def _fit(self, runs: Sequence[Ready], logs: Sequence[Log], **options: Any) -> Training | None:
        """The training of a stack; None when all its runs have diverged."""
        many = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        self.teller.title = f"{runs[0].wanted.name}{many}"
        try:
            return fit_many(
                [run.method for run in runs],
                [run.dataset for run in runs],
                self.teller,
                self.way,
                seeds=[run.wanted.seed for run in runs],
                names=[run.wanted.name for run in runs],
                logs=logs,
                onlooker=runs[0].wanted.onlooker,
                **options,
            )
        except Diverged as error:
            self.teller.warn(str(error))
            return None
        finally:
            self.teller.close()

    def _train_alone(self, run: Ready, reason: str) -> list[str]:
        self.teller.title = run.wanted.name
        self.teller.warn(f"This run is trained by itself: {reason}.")
        if moved := put_aside(run.folder.path):
            self.teller.say(moved)
        log, keep = Log(run.folder.log), run.folder.checkpoint
        try:
            fit(
                run.method,
                run.dataset,
                self.teller,
                self.way,
                seed=run.wanted.seed,
                log=log,
                keep=keep,
                resume=True,
                onlooker=run.wanted.onlooker,
            )
        except Diverged as error:
            self.teller.warn(str(error))
            return [run.wanted.name]
        finally:
            self.teller.close()
        self._finish([Ended(run, checkpoint.load(keep), log)], 1)
        return []

    def _finish(self, ended: Sequence[Ended], together: int) -> None:
        finish(ended, self.way, self.teller, together=together, keep_weights=self.keep_weights)
