"""The guide to series can be followed by someone who types what stands there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import csad
from csad.registry import BACKBONES
from tests.support.guide_steps import GUIDES, brief, fewer, follow


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guide_to_series_can_be_followed(here: Path) -> None:
    given = " --set train.bias_epochs=2 --set train.epochs=2"  # as brief gives them
    world = (("--people 1000", "--people 150"), ("per_cell=10", "per_cell=1"), ("filters=16", "filters=4"), (given, ""))
    smaller = fewer(("count, rng = 900,", "count, rng = 200,"), ("64", "24"), *world)
    done = follow("series.md", smaller=smaller, shorter=brief)
    own = ["train", "train", "audit", "report", "predict", "export", "train", "train"]
    assert done == [*own, "simulate", "train", "train", "evaluate"]
    assert len((here / "predictions.csv").read_text().splitlines()) == 11
    assert (here / "hands.safetensors").exists()
    shapes = {
        run: tuple(csad.load(here / "runs" / run).method.task.shape)
        for run in ("hands-csad-0", "wide-vanilla-0", "arrays-vanilla-0", "mpower-csad-0")
    }
    own_shapes = {"hands-csad-0": (3, 24), "wide-vanilla-0": (1, 24), "arrays-vanilla-0": (2, 24)}
    assert shapes == {**own_shapes, "mpower-csad-0": (6, 24)}


def test_the_net_for_series_looks_as_far_back_as_the_guide_says() -> None:
    assert "see 252 steps back" in (GUIDES / "series.md").read_text()
    x = torch.zeros(1, 1, 400, requires_grad=True)
    # Positive weights, so that no ReLU hides what is seen; without the mean over time at the end.
    layers = BACKBONES["tcn"]((1, 400))[:-2]
    for weight in layers.parameters():
        weight.data.fill_(0.01)
    layers(x)[0, :, 399].sum().backward()
    assert x.grad is not None
    assert 399 - int(torch.nonzero(x.grad[0, 0])[0]) == 252
