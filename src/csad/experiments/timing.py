"""How long an epoch of runs takes, from a few real steps of copies of them."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence

from csad.data.samples import Dataset
from csad.experiments.wanted import Ready
from csad.methods.method import Method
from csad.training.batches import Batches, OwnBatches, StackedBatches, batches_per_epoch
from csad.training.device import Way, computing_in, repeatable, wait
from csad.training.footprint import small
from csad.training.record import EAGER_STEPS
from csad.training.stack import Alone, Runs, Stack, why_not_stacked
from csad.training.steps import Steps, optimisers_of

TIMED_STEPS = 5  # at most: each takes a while on a large net
PATIENCE = 0.5  # seconds that the timing of a stage may take on a CPU, beyond its first steps


def epoch_seconds(runs: Sequence[Ready], number: int, way: Way) -> float:
    """Seconds that an epoch of a stage takes; where a stack would be slow to time, one of its runs is, for all."""
    per_epoch = batches_per_epoch(runs[0].dataset.train.y, runs[0].method.course)
    if why_not_stacked(runs[0].method):
        return per_epoch * len(runs) * step_seconds(runs[:1], number, way)
    if way.device.type == "cpu" and len(runs) > 1:
        one_by_one = len(runs) * step_seconds(runs[:1], number, way)
        if one_by_one > PATIENCE:
            return per_epoch * one_by_one
    return per_epoch * step_seconds(runs, number, way)


def step_seconds(runs: Sequence[Ready], number: int, way: Way) -> float:
    """Seconds that a step of a stage takes, of one run or of a stack."""
    on_gpu = way.device.type == "cuda"
    with repeatable(way.device, False), computing_in(runs[0].method.course.precision):
        together, batches = _alone(runs[0], way) if len(runs) == 1 else _stacked(runs, way)
        steps = Steps(together, batches, optimisers_of(together, way.device), number, way, lambda text: None)
        rows = steps.epoch(0)[0]
        for _ in range(EAGER_STEPS + 1 if on_gpu else 1):
            steps(rows)
        wait(way.device)
        start, made = time.perf_counter(), 0
        while made == 0 or (made < TIMED_STEPS and time.perf_counter() - start < PATIENCE):
            steps(rows)
            made += 1
        wait(way.device)
    return (time.perf_counter() - start) / made


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
