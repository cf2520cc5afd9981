"""A run that is asked for, and the same with its data and fresh weights; whether it can be one program with others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from csad.data.samples import Dataset
from csad.experiments.folder import Folder
from csad.experiments.plan import Plan
from csad.experiments.probing import LEAKAGE
from csad.methods.method import Method
from csad.training.stack import may_differ
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
    answers: bool = False  # whether what it says of each row of these splits is kept

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
        """The wanted figures that its result does not hold, or not yet; and the answers, if wanted and not there."""
        found = self.folder.read_result()
        held = [found["metrics"].get(split, {}) if found else {} for split in self.wanted.splits]
        figures = [metric for metric in self.wanted.metrics if any(metric not in own for own in held)]
        there = all(self.folder.answers(split).exists() for split in self.wanted.splits)
        return figures if there or not self.wanted.answers else [*figures, "answers"]

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
