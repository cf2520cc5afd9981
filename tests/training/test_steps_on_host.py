"""Data that do not fit on the device stay on the host, and the training is the same, bit for bit."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import csad
from csad.data.augment import Pictures
from csad.data.samples import Samples
from csad.errors import Interrupted
from csad.training import fit as doors
from csad.training import memory
from csad.training.batches import OwnBatches
from csad.training.checkpoint import read_checkpoint
from csad.training.device import ComputeSettings
from csad.training.fit import fit, fit_many
from csad.training.log import Log
from csad.training.stacking import Alone
from csad.training.steps import Steps, optimizers_of
from tests.support.listeners import StopAt
from tests.support.messages import codes, noticed

CPU, META = torch.device("cpu"), torch.device("meta")  # tensors on the second have no values that could come back
WAY = ComputeSettings(CPU)


@pytest.fixture(autouse=True)
def every_step_is_logged(monkeypatch):
    monkeypatch.setattr("csad.training.fit.LOG_EVERY", 1)


@pytest.fixture
def held(monkeypatch):
    """A switch: whether x stays on the host; on a CPU it lies on the device either way, but goes another way there."""

    def switch(on_host: bool) -> None:
        monkeypatch.setattr(doors, "stays_on_host", lambda x, device, needed: on_host)

    return switch


def curve(log):
    return [{name: value for name, value in line.items() if name != "seconds"} for line in log.lines]


def trained(pair, listener, keep, way=fit):
    """All that a training leaves."""
    dataset, method = pair
    if way is fit:
        log = fit(method, dataset, listener, WAY, seed=3, keep=keep)
    else:
        log = Log()
        fit_many([method], [dataset], listener, WAY, seeds=[3], logs=[log], names=["own"], keep=keep)
    return read_checkpoint(keep), curve(log)


def assert_same(one, other):
    (state, lines), (reference, expected) = one, other
    assert lines == expected
    assert state.place == reference.place
    for own, known in ((state.weights, reference.weights), (state.optimizers, reference.optimizers)):
        assert own.keys() == known.keys()
        for name, value in own.items():
            assert torch.equal(value, known[name]), name


def photos(rows=72, **settings: Any):
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (rows, 3, 16, 16), generator=generator, dtype=torch.uint8)
    return replace(csad.from_arrays(x, torch.arange(rows) % 2, torch.arange(rows) // 2 % 2), **settings)


@pytest.mark.parametrize("settings", [{}, {"train__partial": "keep", "data__rows": 72, "train__average": 0.9}])
def test_a_training_is_the_same_wherever_x_lies(make, heard, held, tmp_path, method_name, settings):
    both = []
    for on_host in (True, False):
        held(on_host)
        both.append(trained(make("toy-table", method_name, **settings), heard, tmp_path / str(on_host)))
    assert_same(*both)
    assert any("validation" in line for line in both[0][1])  # which is looked at from the host as well


@pytest.mark.parametrize("toy", ["toy-image", "toy-series"])
def test_pictures_and_series_are_trained_on_alike(make, heard, held, tmp_path, toy):
    both = []
    for on_host in (True, False):
        held(on_host)
        both.append(trained(make(toy, "csad", inner_steps=2), heard, tmp_path / str(on_host), way=fit_many))
    assert_same(*both)


@pytest.mark.parametrize("step", [2, 8, 13])
def test_a_training_with_x_on_the_host_that_was_stopped_goes_on_with_the_same_rows(make, heard, held, tmp_path, step):
    held(False)
    whole = trained(make("toy-image", "csad"), heard, tmp_path / "whole")
    held(True)
    keep, log = tmp_path / "stopped", Log(tmp_path / "log.jsonl")
    dataset, method = make("toy-image", "csad")
    with pytest.raises(Interrupted):
        fit(method, dataset, StopAt(step), WAY, seed=3, keep=keep, log=log)
    assert read_checkpoint(keep).place.step == step + 1
    dataset, method = make("toy-image", "csad", seed=9)
    log = fit(method, dataset, heard, WAY, seed=3, keep=keep, log=Log(log.path), resume=True)
    assert_same((read_checkpoint(keep), curve(log)), whole)


def test_flipped_and_moved_pictures_in_bytes_end_in_the_same_weights_and_figures(held):
    settings = {"train.target_epochs": 2, "train.epochs": 2, "train.batch_size": 16}
    found = []
    for on_host in (True, False):
        held(on_host)
        data = photos(vary=Pictures(shift=2))
        with pytest.warns(csad.TrainingWarning) if on_host else nullcontext() as warned:
            run = csad.train(data, "vanilla", settings=settings, device="cpu")
        if on_host:
            assert codes(each.message.args[0] for each in warned) == ["x-stays-on-host"]
        found.append((run.method.state_dict(), run.result["metrics"]))
    (weights, metrics), (known, expected) = found
    assert metrics == expected
    assert all(torch.equal(value, known[name]) for name, value in weights.items())


def test_a_view_may_change_the_rows_that_it_is_given(make, heard, held, tmp_path):
    both = []
    for on_host in (True, False):
        held(on_host)
        dataset, method = make("toy-table", "csad")
        before = dataset.train.x.clone()
        both.append(trained((replace(dataset, view=lambda x: x.mul_(0.5)), method), heard, tmp_path / str(on_host)))
        assert torch.equal(dataset.train.x, before)
    assert_same(*both)


def test_rows_of_a_file_stay_in_the_file_until_they_are_taken(make, tmp_path):
    _, method = make("toy-image", "vanilla")
    x = photos().train.x
    stored = np.memmap(tmp_path / "pixels", dtype=np.uint8, mode="w+", shape=tuple(x.shape))
    stored[:] = x
    train = Samples(stored, torch.arange(len(x)) % 2, torch.zeros(len(x)))
    dataset = replace(photos(), splits={"train": train})
    batches = OwnBatches(dataset, method.course, 0, CPU, on_host=True)
    assert batches.x.data_ptr() == stored.ctypes.data
    rows = torch.tensor([5, 3, 3])
    assert torch.equal(batches.take(rows).x, dataset.view(x[rows]))


def on_another_device(make, **settings):
    """Steps of the last stage of runs whose x alone lies here."""
    dataset, method = make("toy-image", "csad", inner_steps=2, **settings)
    runs = Alone(method.to(META))
    batches = OwnBatches(dataset, method.course, 0, META, on_host=True)
    return runs, batches, lambda: Steps(runs, batches, optimizers_of(runs, META), 3, ComputeSettings(META), print)


def test_all_that_a_step_computes_with_is_on_the_device(make):
    runs, batches, steps = on_another_device(make)
    assert batches.x.device == CPU
    step = steps()
    rows = step.epoch(0)[0]
    assert {each.device for each in rows} == {CPU}
    given = step.feed.to_device(rows)
    assert len(given) == 2 * len(rows)
    assert {each.device for each in given} == {META}
    losses = step(rows)
    assert {value.device for value in (*losses.values(), *runs.state.values())} == {META}
    assert {value.device for value in batches.take(rows[0])} == {META}
    assert {value.device for value in batches.labels(batches.rows)} == {META}


def test_a_stage_that_leaves_F_alone_brings_no_x(make):
    dataset, method = make("toy-image", "csad")
    runs, batches = Alone(method), OwnBatches(dataset, method.course, 0, CPU, on_host=True)
    step = Steps(runs, batches, optimizers_of(runs, CPU), 1, WAY, print)
    rows = step.epoch(0)[0]
    assert len(step.feed.to_device(rows)) == len(rows)


def test_the_user_is_told_once_that_x_stays_on_the_host(make, heard, held):
    held(True)
    dataset, method = make("toy-table", "vanilla")
    fit(method, dataset, heard, WAY, seed=0)
    assert codes(heard.warnings) == ["x-stays-on-host"]
    assert noticed(heard.warnings, "x-stays-on-host", device="cpu")


SIZE = 1000


@pytest.mark.parametrize(
    ("free", "needed", "counted", "stays"),
    [
        (10 * SIZE, 10**9, 0, False),  # a tenth of what is free: what else is needed is not asked
        (10 * SIZE - 1, 9 * SIZE - 1, 1, False),
        (10 * SIZE - 1, 9 * SIZE, 1, True),
        (SIZE, 0, 1, False),
        (SIZE - 1, 0, 0, True),  # by itself already
    ],
)
def test_x_stays_on_the_host_where_it_would_not_fit_beside_what_is_needed(monkeypatch, free, needed, counted, stays):
    monkeypatch.setattr(memory, "free_bytes", lambda device: free)
    asked = []
    x = torch.empty(10, SIZE // 10, dtype=torch.uint8)
    assert memory.stays_on_host(x, torch.device("cuda"), lambda: asked.append(1) or needed) is stays
    assert len(asked) == counted


def test_x_that_lies_on_the_device_already_is_asked_nothing(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda device: 0)
    assert not memory.stays_on_host(torch.ones(3), CPU, lambda: 10**9)
    assert not memory.stays_on_host(torch.ones(3, device=META), CPU, lambda: 10**9)
    assert not memory.stays_on_host(torch.ones(3, device=META), META, lambda: 10**9)


@pytest.mark.parametrize(("many", "asked"), [(False, 2), (True, 0)])
def test_training_and_validation_rows_of_a_run_are_asked_for_and_never_those_of_a_stack(
    make, heard, monkeypatch, many, asked
):
    sizes = []
    dataset, _ = make("toy-table", "vanilla")
    monkeypatch.setattr(doors, "run_bytes", lambda method, data: 7 if data is dataset else 0)
    monkeypatch.setattr(doors, "stays_on_host", lambda x, device, needed: sizes.append((len(x), needed())) and False)
    methods = [make("toy-table", "vanilla")[1] for _ in range(1 + many)]
    seeds = range(len(methods))
    logs = [Log() for _ in methods]
    fit_many(methods, [dataset] * len(methods), heard, WAY, seeds=seeds, logs=logs, names=[str(k) for k in seeds])
    splits = [dataset.train, dataset.splits["validation"]]
    assert sizes == [(len(split), 7) for split in splits[:asked]]
