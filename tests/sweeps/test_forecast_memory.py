"""Runs of large nets: each by itself, timed and counted once for all of a kind, and still sharing their pretraining."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from csad.data.samples import Classes, Dataset, Samples, Task
from csad.runs.build import build
from csad.runs.settings import experiment, resolve
from csad.sweeps import forecast
from csad.sweeps.sweep import sweep
from csad.training import memory
from csad.training.device import ComputeSettings
from csad.training.fit import fit, fit_many
from csad.training.log import Log
from tests.support.messages import noticed
from tests.support.own_data import DATASET
from tests.support.quick import QUICK


def swept(place: Path, heard: Any, **settings: Any) -> Any:
    return sweep("toy-table", settings={**QUICK, **settings}, out=place, device="cpu", listener=heard)


def test_runs_in_bf16_are_not_stacked_and_share_their_pretraining_all_the_same(tmp_path: Path, heard: Any) -> None:
    found = swept(tmp_path / "sweep", heard, debias_weight=[0.5, 1.0], **{"train.precision": "bf16"})
    assert noticed(heard.said[1:2], "training-forecast", runs=2, programs=2, device="the CPU")
    assert [run["result"]["stacked"] for run in found.runs] == [1, 1]
    assert len(list((tmp_path / "sweep" / "shared" / "pretrained").glob("*.safetensors"))) == 2  # target, then bias
    assert {run["result"]["environment"]["precision"] for run in found.runs} == {"bf16"}


def test_a_run_that_shares_its_pretraining_ends_where_it_ends_alone(tmp_path: Path, heard: Any) -> None:
    both = swept(tmp_path / "both", heard, debias_weight=[0.5, 1.0], **{"train.precision": "bf16"})
    one = swept(tmp_path / "one", heard, debias_weight=1.0, **{"train.precision": "bf16"})
    assert both.runs[1]["result"]["metrics"] == one.runs[0]["result"]["metrics"]


def test_what_runs_of_a_kind_take_is_timed_once(tmp_path: Path, heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    timed, counted = [], []
    seconds, size = forecast.epoch_seconds, forecast.run_bytes
    monkeypatch.setattr(forecast, "epoch_seconds", lambda runs, k, way: timed.append(k) or seconds(runs, k, way))
    monkeypatch.setattr(forecast, "run_bytes", lambda *given: counted.append(1) or size(*given))
    swept(tmp_path / "sweep", heard, debias_weight=[0.5, 1.0, 2.0], **{"train.precision": "bf16"})
    assert timed == [0, 1, 2, 3]  # the stages of csad, of three runs in three programs
    assert counted == [1]


def test_one_run_is_trained_as_it_is_and_not_as_a_stack(heard: Any) -> None:
    given = {"target_epochs": 1, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 2, "batch_size": 16}
    plan = resolve("csad", None, experiment("kinds/table"), given)
    many, single = (build(DATASET.task, "csad", plan, 0) for _ in range(2))
    way = ComputeSettings(torch.device("cpu"))
    training = fit_many([many], [DATASET], heard, way, seeds=[4], logs=[Log()], names=["run"])
    fit(single, DATASET, heard, way, seed=4)
    state = training.state_of(0)
    for name, value in single.state_dict().items():
        assert torch.equal(state.weights[name], value), name
        assert torch.equal(many.state_dict()[name], value), name


def photos(rows: int) -> Dataset:
    x = torch.zeros(rows, 3, 64, 64, dtype=torch.uint8)
    task = Task("photos", (3, 64, 64), Classes(2), (Classes(2),), ("bias",))
    return Dataset(task, {"train": Samples(x, torch.arange(rows) % 2, torch.arange(rows) % 2)})


def test_of_a_large_mini_batch_a_part_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = photos(64)
    plan = resolve("vanilla", None, experiment("kinds/photo"), {"batch_size": 64})
    method = build(dataset.task, "vanilla", plan, 0)
    part = memory.run_bytes(method, dataset)
    seen = []
    small = memory.small
    monkeypatch.setattr(memory, "MEASURED", (2**40, 32))
    monkeypatch.setattr(memory, "small", lambda data, rows: seen.append(rows) or small(data, rows))
    assert memory.run_bytes(method, dataset) == pytest.approx(part, rel=0.05)
    assert seen == [64]
    assert method.course.batch_size == 64


def test_bytes_are_counted_where_a_part_of_a_mini_batch_could_not_hold_every_class() -> None:
    classes, rows = 40, 80
    x = torch.zeros(rows, 3, 128, 128, dtype=torch.uint8)
    task = Task("photos", (3, 128, 128), Classes(classes), (Classes(2),), ("bias",))
    dataset = Dataset(task, {"train": Samples(x, torch.arange(rows) % classes, torch.arange(rows) % 2)})
    plan = resolve("vanilla", None, experiment("kinds/photo"), {"batch_size": rows, "balance": "target"})
    method = build(task, "vanilla", plan, 0)
    assert memory.run_bytes(method, dataset) > x.nbytes
    assert method.course.balance == "target"
