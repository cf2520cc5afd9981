"""Shared by all tests: one torch thread per worker and per command it starts, and small trainings."""

import functools
import os

# Before torch is imported: commands that tests start inherit it. Two threads each, beside a second worker, would wait
# for one another on two cores, some ten times as long.
os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import torch
from listeners import Heard

from csad.experiments.build import build, plan_run, read
from csad.registry import METHODS

torch.set_num_threads(1)

SHORT = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
TOYS = ("toy-image", "toy-series", "toy-table")

# Small ascents by default in all tests. With the authors' the tests of the whole take over ten minutes, 150 steps do
# not learn a batch, and fifty strides of Adam at rate 10 make of a rounding error another worst case.
QUICK = {"subspace_steps": 2, "subspace_rate": 0.1, "full_steps": 1}
for name in ("sensei", "sensr"):
    METHODS._members[name] = functools.partial(METHODS[name], **QUICK)


@pytest.fixture(params=METHODS.names())
def method_name(request):
    """Each method in turn: a new one is tested as soon as its file is there."""
    return request.param


@pytest.fixture(params=TOYS)
def toy(request):
    """Each kind of data in turn."""
    return request.param


@pytest.fixture
def make():
    """A data set and a method with fresh weights, by names and settings."""

    def made(task="toy-table", method="csad", seed=0, **settings):
        given = {key.replace("__", "."): value for key, value in settings.items()}
        dataset, plan = plan_run(task, method, {**SHORT, "train.batch_size": 32, **given}, "", read)
        return dataset, build(dataset.task, method, plan, seed)

    return made


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of what is decoded and fetched: this test's own, and not there yet."""
    monkeypatch.setenv("CSAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def double():
    """Everything in float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
