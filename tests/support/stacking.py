"""Stacks of short trainings, and what they are held against: the same runs alone."""

import itertools

import pytest
import torch

from csad.data.samples import Classes, Dataset, Samples, Task
from csad.runs.build import build, plan_run, read_dataset
from csad.training.device import ComputeSettings
from csad.training.fit import fit, fit_many
from csad.training.log import Log

WAY = ComputeSettings(torch.device("cpu"))
SHORT = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 2}
SMALL = {"train.batch_size": 16, "train.decay_every": 1, "data.rows": 32}
NARROW = {"toy-image": {"net.filters": 4}, "toy-series": {"net.filters": 4, "net.layers": 2}, "toy-table": {}}


def planned(task, method="csad", seed=0, backbone=None, **settings):
    """A data set and a method with fresh weights."""
    usual = {**SHORT, **SMALL, **NARROW[task]} if isinstance(task, str) else SHORT
    given = {**usual, **{key.replace("__", "."): value for key, value in settings.items()}}
    dataset, plan = plan_run(task, method, given, "", read_dataset)
    return dataset, build(dataset.task, method, plan, seed, backbone)


def made_up_digits(seed, rows):
    """28 × 28 pixels in three colours that tell of nothing."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 256, (rows, 3, 28, 28), generator=generator, dtype=torch.uint8)
    y, b = torch.arange(rows) % 4, torch.randint(0, 2, (rows, 3), generator=generator)
    task = Task("made-up", (3, 28, 28), Classes(4), (Classes(2),) * 3, ("red", "green", "blue"))
    return Dataset(task, {"train": Samples(x, y, b)})


def stacked(pairs, listener, seeds, *, logs=None, **options):
    datasets, methods = zip(*pairs, strict=True)
    logs = logs or [Log() for _ in seeds]
    names = [f"run {k}" for k in range(len(seeds))]
    return fit_many(methods, datasets, listener, WAY, seeds=seeds, logs=logs, names=names, **options)


def losses(log):
    return {(line["stage"], line["step"]): line["losses"] for line in log.lines if "losses" in line}


def assert_like_single(training, pairs, listener, seeds):
    """Each run has the weights, buffers and logged losses that it has alone."""
    for k, ((dataset, method), seed) in enumerate(zip(pairs, seeds, strict=True)):
        log = fit(method, dataset, listener, WAY, seed=seed)
        for name, value in method.state_dict().items():
            torch.testing.assert_close(training.runs.state[name][k], value, rtol=0, atol=1e-8, msg=name)
        own, alone = losses(training.logs[k]), losses(log)
        assert own.keys() <= alone.keys()
        assert {stage for stage, _ in own} == {stage for stage, _ in alone}
        for place, values in own.items():
            assert values == pytest.approx(alone[place], rel=0, abs=1e-8), place


def apart(training):
    """Whether every two runs have come to other weights of F."""
    weights = training.runs.weights("F").values()
    return all(
        any((w[one] - w[other]).abs().max() > 1e-6 for w in weights)
        for one, other in itertools.combinations(range(len(training.logs)), 2)
    )


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())
