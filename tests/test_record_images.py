"""Photographs on a GPU: a training in bf16 that is recorded is the eager one, alone and beside others."""

import pytest
import torch

from csad.data.augment import Pictures
from csad.runs.build import build
from csad.runs.settings import experiment, resolve
from csad.training.checkpoint import read_checkpoint
from csad.training.device import ComputeSettings
from csad.training.fit import fit
from tests.support.photographs import photos

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

CUDA = torch.device("cuda")
LENGTHS = {"target_epochs": 3, "bias_epochs": 2, "estimator_epochs": 2, "epochs": 3, "batch_size": 32}


def trained(dataset, name, way, keep, listener, **given):
    # The small stem has no pooling, whose backward pass adds up in any order.
    plan = resolve(name, None, experiment("kinds/photo"), {**LENGTHS, "stem": "small", **given})
    log = fit(build(dataset.task, name, plan, 0), dataset, listener, way, seed=3, keep=keep)
    return read_checkpoint(keep).weights, [line["losses"] for line in log.lines if "losses" in line]


@pytest.fixture(autouse=True)
def every_step_is_logged(monkeypatch):
    monkeypatch.setattr("csad.training.fit.LOG_EVERY", 1)


@pytest.mark.parametrize("balance", ["target", "cells"])
@pytest.mark.parametrize("method", ["vanilla", "csad", "kim", "ragonesi", "group-dro", "lff"])
def test_photographs_in_bf16_are_recorded_as_they_are_trained_eagerly(heard, tmp_path, method, balance):
    dataset = photos(128, vary=Pictures(flip=True))
    given = {"precision": "bf16", "balance": balance} | ({"inner_steps": 3} if method in ("csad", "ragonesi") else {})
    ways = {
        "recorded": ComputeSettings(CUDA, deterministic=True),
        "eager": ComputeSettings(CUDA, deterministic=True, record=False),
    }
    (weights, curve), (expected, known) = (
        trained(dataset, method, way, tmp_path / name, heard, **given) for name, way in ways.items()
    )
    assert curve == known
    for name, value in weights.items():
        assert torch.equal(value, expected[name]), name
    assert not any("recorded" in text for text in heard.warnings)


def test_on_a_gpu_bf16_learns_what_float32_learns(heard, tmp_path):
    dataset = photos(128, vary=Pictures(flip=True))
    found = {
        precision: trained(dataset, "vanilla", ComputeSettings(CUDA), tmp_path / precision, heard, precision=precision)[
            1
        ]
        for precision in ("float32", "bf16")
    }
    first, last = ([found[precision][place]["target"] for precision in found] for place in (0, -1))
    assert first[1] == pytest.approx(first[0], rel=0.02)
    assert first[0] != first[1]
    assert max(last) < 0.5 * min(first)
