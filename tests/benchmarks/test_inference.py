"""The inference benchmark counts what a prediction depends on, whatever its parts are called."""

import importlib
from dataclasses import replace

import pytest
import torch

from csad.registry import DATASETS
from tests.support.paths import BENCHMARKS


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("inference")


def size(*parts):
    return sum(weight.numel() for part in parts for weight in part.parameters())


def test_parameters_are_counted_by_use_and_not_by_name(benchmark):
    task = replace(DATASETS["digits"]().task, shape=(3, 28, 28))
    x = torch.rand(4, *task.shape)
    vanilla, csad = (benchmark.made_method(task, name) for name in ("vanilla", "csad"))
    assert benchmark.parameters_used(vanilla, x) == size(vanilla)
    assert benchmark.parameters_used(csad, x) == size(csad.F, csad.D_y, csad.P_y) < size(csad)
    csad.predict = lambda x: csad.P_y(csad.D_y(csad.F(x)) + csad.D_b(csad.F(x)))
    assert benchmark.parameters_used(csad, x) == size(csad.F, csad.D_y, csad.P_y, csad.D_b)
