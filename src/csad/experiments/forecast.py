"""How long a campaign will take and how much memory, told before it begins: a few real steps of each kind, timed."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from csad.data.samples import Dataset
from csad.errors import Interrupted
from csad.experiments.many import Campaign, Ready
from csad.experiments.pretraining import common_stages, key
from csad.methods.method import Method
from csad.training.batches import Batches, OwnBatches, StackedBatches, batches_per_epoch
from csad.training.device import Way, computing_in, repeatable, wait
from csad.training.footprint import run_bytes, small
from csad.training.record import EAGER_STEPS
from csad.training.stack import Alone, Runs, Stack, why_not_stacked
from csad.training.steps import Steps, optimisers_of

TIMED_STEPS = 3


@dataclass(frozen=True)
class Forecast:
    """What is still to be done, and what it will take."""

    runs: int
    stacks: int
    seconds: float
    bytes: int

    def told(self, device: str) -> str:
        """The forecast in a sentence."""
        one = f"{self.runs} run{'s' * (self.runs > 1)} in {self.stacks} program{'s' * (self.stacks > 1)}"
        memory = f"{self.bytes / 2**30:.1f} GiB" if self.bytes >= 2**30 else f"{math.ceil(self.bytes / 2**20)} MiB"
        return f"{one} on {device}: about {duration(self.seconds)} and {memory} of memory."


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def carry_out(campaign: Campaign, name: str, runs: Sequence[Ready], go_on: str) -> list[str]:
    """Says what the runs that are not there yet will take, and makes them; gives the names of those that were lost.

    ``go_on`` says how to go on after a Ctrl-C.
    """
    try:
        return _carry_out(campaign, name, runs)
    except KeyboardInterrupt:
        raise Interrupted(go_on) from None


def _carry_out(campaign: Campaign, name: str, runs: Sequence[Ready]) -> list[str]:
    campaign.complete(runs)
    stacks = campaign.stacked(runs)
    device, missing = campaign.way.device, sum(map(len, stacks))
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"
    done = f", {len(runs) - missing} of them are there already" if missing < len(runs) else ""
    campaign.teller.say(f"{name}: {len(runs)} run{'s' * (len(runs) > 1)}{done}.")
    if stacks:
        campaign.teller.say(forecast(campaign, stacks).told(where))
    return [name for stack in stacks for name in campaign.train(stack)]


def forecast(campaign: Campaign, stacks: Sequence[Sequence[Ready]]) -> Forecast:
    """What the stacks will take; pretraining that is there or that an earlier stack makes counts nothing."""
    seconds, most = 0.0, 0
    planned: set[str] = set()
    known: dict[tuple[str, int, int], float] = {}  # what one run of a kind takes, another does not take to time again
    sizes: dict[str, int] = {}
    for stack in stacks:
        first, kind = stack[0], stack[0].kind()
        data = {id(run.dataset): run.dataset.train.x.nbytes for run in stack}
        if kind not in sizes:
            sizes[kind] = run_bytes(first.method, first.dataset)
        most = max(most, sum(data.values()) + len(stack) * sizes[kind])
        for number, stage in enumerate(first.method.schedule()):
            runs = list(stack)
            if number < common_stages(first.method) and not why_not_stacked(first.method):
                words = {key(run.config, run.method, number + 1): run for run in stack}
                words = {w: run for w, run in words.items() if w not in planned and not campaign.pretrained.holds(w)}
                planned |= words.keys()
                runs = list(words.values())
            if runs and stage.epochs:
                place = kind, number, len(runs)
                if place not in known:
                    known[place] = epoch_seconds(runs, number, campaign.way)
                seconds += stage.epochs * known[place]
    return Forecast(sum(map(len, stacks)), len(stacks), seconds, most)


def epoch_seconds(runs: Sequence[Ready], number: int, way: Way) -> float:
    """Seconds that an epoch of a stage takes; on a CPU, or where runs cannot be stacked, one is timed for all."""
    on_gpu = way.device.type == "cuda"
    alone = bool(why_not_stacked(runs[0].method))
    timed = runs if on_gpu and not alone else runs[:1]
    course, repeats = timed[0].method.course, TIMED_STEPS if on_gpu else 1
    with repeatable(way.device, False), computing_in(course.precision):
        together, batches = _alone(timed[0], way) if len(timed) == 1 else _stacked(timed, way)
        steps = Steps(together, batches, optimisers_of(together, way.device), number, way, lambda text: None)
        rows = steps.epoch(0)[0]
        for _ in range(EAGER_STEPS + 1 if on_gpu else 1):
            steps(rows)
        wait(way.device)
        start = time.perf_counter()
        for _ in range(repeats):
            steps(rows)
        wait(way.device)
    spent = (time.perf_counter() - start) / repeats
    return spent * batches_per_epoch(runs[0].dataset.train.y, course) * len(runs) / len(timed)


def _alone(run: Ready, way: Way) -> tuple[Runs, Batches]:
    """One run on a copy of its weights, since the steps are real."""
    few = small(run.dataset, run.method.course.batch_size)
    method = _prepared(run.method, few).to(way.device)
    return Alone(method), OwnBatches(few, method.course, run.wanted.seed, way.device)


def _stacked(runs: Sequence[Ready], way: Way) -> tuple[Runs, Batches]:
    """Copies of the runs as a stack."""
    course = runs[0].method.course
    few = {id(run.dataset): small(run.dataset, course.batch_size) for run in runs}
    datasets, seeds = [few[id(run.dataset)] for run in runs], [run.wanted.seed for run in runs]
    methods = [_prepared(run.method, dataset) for run, dataset in zip(runs, datasets, strict=True)]
    return Stack(methods, way.device), StackedBatches(datasets, course, seeds, way.device)


def _prepared(method: Method, dataset: Dataset) -> Method:
    """A copy that is ready for steps on these rows."""
    made = copy.deepcopy(method)
    made.prepare(dataset.train, dataset.view)
    return made
