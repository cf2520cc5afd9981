"""How long a campaign will take and how much memory it needs, from a few timed steps of each kind of run."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from csad.data.samples import Dataset
from csad.errors import Interrupted
from csad.messages import Message, message
from csad.methods.method import Method, Stage
from csad.runs.planned_run import PreparedRun
from csad.sweeps.campaign import Campaign
from csad.sweeps.shared_pretraining import common_stages, pretraining_key
from csad.training.batches import Batches, OwnBatches, StackedBatches, batches_per_epoch
from csad.training.checkpoint import Place
from csad.training.cuda_graph import EAGER_STEPS
from csad.training.device import ComputeSettings, computing_in, repeatable, wait
from csad.training.memory import run_bytes, small
from csad.training.stacking import Alone, Runs, Stack, why_not_stacked
from csad.training.steps import Steps, optimizers_of

TIMED_STEPS = 5  # at most: each takes a while on a large net
PATIENCE = 0.5  # seconds that the timing of a stage may take on a CPU, beyond its first steps


def epoch_seconds(runs: Sequence[PreparedRun], number: int, compute: ComputeSettings) -> float:
    """Seconds that an epoch of a stage takes; of a stack that would be slow to time, one run is timed for all."""
    per_epoch = batches_per_epoch(runs[0].dataset.train.y, runs[0].method.course)
    if why_not_stacked(runs[0].method):
        return per_epoch * len(runs) * step_seconds(runs[:1], number, compute)
    if compute.device.type == "cpu" and len(runs) > 1:
        one_by_one = len(runs) * step_seconds(runs[:1], number, compute)
        if one_by_one > PATIENCE:
            return per_epoch * one_by_one
    return per_epoch * step_seconds(runs, number, compute)


def step_seconds(runs: Sequence[PreparedRun], number: int, compute: ComputeSettings) -> float:
    """Seconds that a step of a stage takes, of one run or of a stack."""
    on_gpu = compute.device.type == "cuda"
    with repeatable(compute.device, False), computing_in(runs[0].method.course.precision):
        together, batches = _alone(runs[0], compute) if len(runs) == 1 else _stacked(runs, compute)
        steps = Steps(together, batches, optimizers_of(together, compute.device), number, compute, lambda text: None)
        rows = steps.epoch(0)[0]
        for _ in range(EAGER_STEPS + 1 if on_gpu else 1):
            steps(rows)
        wait(compute.device)
        start, count = time.perf_counter(), 0
        while count == 0 or (count < TIMED_STEPS and time.perf_counter() - start < PATIENCE):
            steps(rows)
            count += 1
        wait(compute.device)
    return (time.perf_counter() - start) / count


def _alone(run: PreparedRun, compute: ComputeSettings) -> tuple[Runs, Batches]:
    """One run on a copy of its weights, since the steps are real."""
    few = small(run.dataset, run.method.course.batch_size)
    method = _prepared(run.method, few).to(compute.device)
    return Alone(method), OwnBatches(few, method.course, run.request.seed, compute.device)


def _stacked(runs: Sequence[PreparedRun], compute: ComputeSettings) -> tuple[Runs, Batches]:
    """Copies of the runs as a stack."""
    course = runs[0].method.course
    few = {id(run.dataset): small(run.dataset, course.batch_size) for run in runs}
    datasets, seeds = [few[id(run.dataset)] for run in runs], [run.request.seed for run in runs]
    methods = [_prepared(run.method, dataset) for run, dataset in zip(runs, datasets, strict=True)]
    return Stack(methods, compute.device), StackedBatches(datasets, course, seeds, compute.device)


def _prepared(method: Method, dataset: Dataset) -> Method:
    """A copy that is ready for steps on these rows."""
    method = copy.deepcopy(method)
    method.prepare(dataset.train, dataset.view)
    return method


@dataclass(frozen=True)
class Forecast:
    """What is still to be trained, and how long and how much memory it will take."""

    runs: int
    stacks: int
    seconds: float
    bytes: int

    def sentence(self, device: str) -> Message:
        """The forecast in a sentence."""
        memory = f"{self.bytes / 2**30:.1f} GiB" if self.bytes >= 2**30 else f"{math.ceil(self.bytes / 2**20)} MiB"
        time = duration(self.seconds)
        return message(
            "training-forecast", runs=self.runs, programs=self.stacks, device=device, time=time, memory=memory
        )


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def carry_out(campaign: Campaign, name: str, runs: Sequence[PreparedRun], resume_advice: str) -> list[str]:
    """Announce and train the runs that are not finished yet; return the names of those that diverged.

    ``resume_advice`` says how to resume after a Ctrl-C.
    """
    try:
        return _carry_out(campaign, name, runs)
    except KeyboardInterrupt:
        raise Interrupted(resume_advice) from None


def _carry_out(campaign: Campaign, name: str, runs: Sequence[PreparedRun]) -> list[str]:
    campaign.fill_missing_results(runs)
    stacks = campaign.stacks(runs)
    device, missing = campaign.compute.device, sum(map(len, stacks))
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"
    done = len(runs) - missing
    finished = message("runs-finished-before", name=name, runs=len(runs), finished=done)
    campaign.listener.message(finished if done else message("runs-planned", name=name, runs=len(runs)))
    if stacks:
        campaign.listener.message(forecast(campaign, stacks).sentence(where))
    return [name for stack in stacks for name in campaign.trainer.train(stack)]


def forecast(campaign: Campaign, stacks: Sequence[Sequence[PreparedRun]]) -> Forecast:
    """What the stacks still take; what was trained before, or is pretrained by an earlier stack, is not counted."""
    seconds, most = 0.0, 0
    planned: set[str] = set()
    known: dict[tuple[str, int, int], float] = {}  # seconds by key: runs of the same key are timed once
    sizes: dict[str, int] = {}
    for stack in stacks:
        first, stack_key = stack[0], stack[0].stack_key()
        data = {id(run.dataset): run.dataset.train.x.nbytes for run in stack}
        if stack_key not in sizes:
            sizes[stack_key] = run_bytes(first.method, first.dataset)
        most = max(most, sum(data.values()) + len(stack) * sizes[stack_key])
        shared = 0 if why_not_stacked(first.method) else common_stages(first.method)
        for number, stage in enumerate(first.method.schedule()):
            runs, common = list(stack), number + 1 if number < shared else None
            if common:
                runs = _missing(campaign, stack, common, planned)
            if runs and (epochs := _epochs_left(stage, number, campaign.trainer.place_of(runs, common), first)):
                place = stack_key, number, len(runs)
                if place not in known:
                    known[place] = epoch_seconds(runs, number, campaign.compute)
                seconds += epochs * known[place]
    return Forecast(sum(map(len, stacks)), len(stacks), seconds, most)


def _missing(campaign: Campaign, stack: Sequence[PreparedRun], stages: int, planned: set[str]) -> list[PreparedRun]:
    """The runs that must do the first stages, each for all that share them; ``planned`` then holds their keys."""
    by_key: dict[str, PreparedRun] = {}
    for run in stack:
        by_key.setdefault(pretraining_key(run.config, run.method, stages), run)
    pretrained = campaign.trainer.pretrained
    missing = [run for own_key, run in by_key.items() if own_key not in planned and not pretrained.holds(own_key)]
    planned.update(by_key)
    return missing


def _epochs_left(stage: Stage, number: int, place: Place, run: PreparedRun) -> float:
    """How many epochs of a stage are left, from the place at which a training will resume."""
    if place.stage != number:
        return stage.epochs if place.stage < number else 0
    return stage.epochs - place.epoch - place.batch / batches_per_epoch(run.dataset.train.y, run.method.course)
