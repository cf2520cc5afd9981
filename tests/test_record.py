"""A recorded training is the eager one, bit for bit: the same losses at every step, the same weights and moments."""

import gc
import math
from collections import Counter
from statistics import mean, stdev

import pytest
import torch
from torch import nn

from csad.errors import Interrupted
from csad.methods.method import Stage, Update
from csad.runs.build import build, plan_run, read_dataset
from csad.sweeps.sweep import sweep
from csad.sweeps.train import train
from csad.training import cuda_graph
from csad.training.checkpoint import read_checkpoint
from csad.training.device import ComputeSettings
from csad.training.fit import fit, fit_many
from csad.training.log import Log
from tests.support.listeners import StopAt
from tests.support.stacking import made_up_digits

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

CUDA = torch.device("cuda")
RECORDED, EAGER = ComputeSettings(CUDA, deterministic=True), ComputeSettings(CUDA, deterministic=True, record=False)
SHORT = {"target_epochs": 4, "bias_epochs": 2, "estimator_epochs": 2, "epochs": 3, "decay_every": 2}
SETTINGS = {f"train__{name}": value for name, value in SHORT.items()}


@pytest.fixture(autouse=True)
def every_step_is_logged(monkeypatch):
    monkeypatch.setattr("csad.training.fit.LOG_EVERY", 1)


@pytest.fixture
def recordings(monkeypatch):
    """How often each shape of rows was recorded."""
    made = Counter()

    class Counted(cuda_graph.Recording):
        def __init__(self, step, rows, owned):
            super().__init__(step, rows, owned)
            made[tuple(each.shape[-1] for each in rows)] += 1

    monkeypatch.setattr(cuda_graph, "Recording", Counted)
    return made


def losses(log):
    return [(line["stage"], line["step"], line["losses"]) for line in log.lines if "losses" in line]


def trained(pair, way, keep, listener):
    """All that a training leaves: the state that it saved, and its losses."""
    dataset, method = pair
    log = fit(method, dataset, listener, way, seed=3, keep=keep)
    return read_checkpoint(keep), losses(log)


def assert_same(one, other):
    (state, curve), (reference, known) = one, other
    assert curve == known
    assert state.place == reference.place
    for own, expected in ((state.weights, reference.weights), (state.optimizers, reference.optimizers)):
        assert own.keys() == expected.keys()
        for name, value in own.items():
            assert torch.equal(value, expected[name]), name


def test_a_recorded_training_is_the_eager_one(make, heard, recordings, tmp_path, method_name, toy):
    recorded = trained(make(toy, method_name, **SETTINGS), RECORDED, tmp_path / "recorded", heard)
    _, method = make(toy, method_name, **SETTINGS)
    assert recordings.total() == len(method.schedule())  # one for each stage, however many mini-batches a step takes
    assert {rows for shape in recordings for rows in shape} == {32}
    eager = trained(make(toy, method_name, **SETTINGS), EAGER, tmp_path / "eager", heard)
    assert recordings.total() == len(method.schedule())
    assert_same(recorded, eager)
    target = [values["target"] for stage, _, values in recorded[1] if stage == "target"]
    assert target[-1] < 0.9 * target[0]
    assert not any("recorded" in text for text in heard.warnings)


@pytest.mark.parametrize(
    "settings", [{"train__optimizer": "sgd"}, {"train__average": 0.9}, {"train__balance": "target"}]
)
def test_other_ways_to_train_are_recorded_alike(make, heard, recordings, tmp_path, settings):
    both = [trained(make("toy-table", **SETTINGS, **settings), way, tmp_path / "s", heard) for way in (RECORDED, EAGER)]
    assert recordings.total() == 4
    assert_same(*both)


def test_a_smaller_last_batch_is_recorded_by_itself(make, heard, recordings, tmp_path):
    settings = {**SETTINGS, "data__rows": 72, "train__partial": "keep", "train__epochs": 6}
    both = [trained(make("toy-table", **settings), way, tmp_path / "state", heard) for way in (RECORDED, EAGER)]
    # 72 rows are batches of 32, 32 and 8: two eager steps of each shape before it is recorded, in each of four stages.
    assert recordings == {(32,): 4, (8,): 2}
    assert_same(*both)


@pytest.mark.parametrize("step", [5, 31, 69])
def test_a_recorded_training_that_was_stopped_goes_on_as_the_eager_one(make, heard, recordings, tmp_path, step):
    eager = trained(make("toy-table", **SETTINGS), EAGER, tmp_path / "eager", heard)
    keep, log = tmp_path / "recorded", Log(tmp_path / "log.jsonl")
    dataset, method = make("toy-table", **SETTINGS)
    with pytest.raises(Interrupted):
        fit(method, dataset, StopAt(step), RECORDED, seed=3, keep=keep, log=log)
    assert read_checkpoint(keep).place.step == step + 1
    before = recordings.total()
    dataset, method = make("toy-table", seed=9, **SETTINGS)
    log = fit(method, dataset, heard, RECORDED, seed=3, keep=keep, log=Log(log.path), resume=True)
    assert recordings.total() > before > 0
    assert_same((read_checkpoint(keep), losses(log)), eager)


class Spoiler:
    """A listener that overwrites with NaN all memory that nobody holds, at every third step."""

    def __init__(self):
        self.times = 0

    def progress(self, stage, place, steps, losses):
        if place.step % 3:
            return
        gc.collect()
        torch.cuda.synchronize()
        taken = []
        for size in (2**25, 2**23, 2**21, 2**19, 2**16, 2**12, 2**9):  # bytes; what is left falls to the smaller ones
            reserved = torch.cuda.memory_reserved()
            while torch.cuda.memory_reserved() == reserved:  # until the allocator has no free piece of this size
                taken.append(torch.full((size // 4,), math.nan, device=CUDA))
        torch.cuda.synchronize()
        self.times += 1

    def warn(self, text):
        pass


@pytest.mark.parametrize("task", ["toy-table", "toy-image"])
def test_a_recording_owns_all_that_it_reads(make, heard, recordings, tmp_path, task):
    settings = {**SETTINGS, "data__rows": 72, "train__partial": "keep", "train__average": 0.9, "inner_steps": 2}
    spoiler = Spoiler()
    recorded = trained(make(task, **settings), RECORDED, tmp_path / "recorded", spoiler)
    assert recordings.total() >= 5
    assert spoiler.times == math.ceil(len(recorded[1]) / 3)
    assert_same(recorded, trained(make(task, **settings), EAGER, tmp_path / "eager", heard))


@pytest.mark.parametrize("settings", [{}, {"data__rows": 72, "train__partial": "keep", "train__epochs": 6}])
def test_with_x_on_the_host_a_training_is_recorded_and_the_one_on_the_device(
    make, heard, recordings, tmp_path, monkeypatch, toy, settings
):
    settings = {**SETTINGS, "inner_steps": 2, **settings}
    whole = trained(make(toy, **settings), EAGER, tmp_path / "device", heard)
    monkeypatch.setattr("csad.training.fit.stays_on_host", lambda x, device, needed: True)
    both = [trained(make(toy, **settings), way, tmp_path / "host", heard) for way in (RECORDED, EAGER)]
    assert recordings.total() >= 4
    assert not any("recorded" in text for text in heard.warnings)
    for one in both:
        assert_same(one, whole)


def own_backbone(dataset, method, backbone, **settings):
    given = {f"train.{name}": value for name, value in {**SHORT, "batch_size": 32}.items()}
    _, plan = plan_run(dataset, method, {**given, **settings}, "", read_dataset)
    return build(dataset.task, method, plan, 0, backbone)


def test_a_net_that_draws_random_numbers_is_recorded_with_the_same_ones(make, heard, recordings, tmp_path):
    dataset, _ = make("toy-table")
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 32), nn.Dropout(0.2))
    both = [
        trained((dataset, own_backbone(dataset, "csad", net)), way, tmp_path / "state", heard)
        for way in (RECORDED, EAGER)
    ]
    assert recordings.total() == 4
    assert_same(*both)
    plain = own_backbone(dataset, "csad", nn.Sequential(*(layer for layer in net if not isinstance(layer, nn.Dropout))))
    assert trained((dataset, plain), EAGER, tmp_path / "plain", heard)[1] != both[0][1]


def test_a_net_with_batch_norm_is_recorded_with_its_running_statistics(make, heard, recordings, tmp_path):
    dataset, _ = make("toy-table")
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU())
    both = [
        trained((dataset, own_backbone(dataset, "csad", net)), way, tmp_path / "state", heard)
        for way in (RECORDED, EAGER)
    ]
    assert recordings.total() == 4
    assert both[0][0].weights["F.module.1.num_batches_tracked"] > 40
    assert_same(*both)


def test_the_callers_random_numbers_are_left_alone(make, heard, recordings):
    torch.manual_seed(11)
    before = torch.get_rng_state(), torch.cuda.get_rng_state()
    dataset, method = make("toy-table", **SETTINGS)
    fit(method, dataset, heard, RECORDED, seed=0)
    assert recordings.total() == 4
    assert torch.equal(torch.get_rng_state(), before[0])
    assert torch.equal(torch.cuda.get_rng_state(), before[1])


def test_nothing_is_recorded_where_that_is_not_wanted(make, heard, recordings):
    for way in (ComputeSettings(CUDA, record=False), ComputeSettings(torch.device("cpu"))):
        dataset, method = make("toy-table", **SETTINGS)
        fit(method, dataset, heard, way, seed=0)
    assert recordings == {}


def assert_stacked_like_single(pairs, listener, recordings, steps):
    """Two runs, stacked and recorded, against each by itself step by step."""
    seeds = [1, 2]
    datasets, methods = zip(*(pairs(seed) for seed in seeds), strict=True)
    logs, names = [Log(), Log()], ["one", "other"]
    training = fit_many(methods, datasets, listener, ComputeSettings(CUDA), seeds=seeds, logs=logs, names=names)
    assert recordings.total() == 4
    assert training.place.step >= steps
    assert training.lost == {}
    for k, seed in enumerate(seeds):
        dataset, method = pairs(seed)
        log = fit(method, dataset, listener, ComputeSettings(CUDA, record=False), seed=seed)
        for name, value in method.state_dict().items():
            torch.testing.assert_close(training.runs.state[name][k], value, rtol=0, atol=1e-8, msg=name)
        alone = {step: values for _, step, values in losses(log)}
        for _, step, values in losses(logs[k]):
            assert values == pytest.approx(alone[step], rel=0, abs=1e-8), step


@pytest.mark.usefixtures("double")
def test_two_hundred_stacked_and_recorded_steps_are_those_of_single_eager_runs(make, heard, recordings):
    def pairs(seed):
        settings = {"data__seed": seed, "data__rows": 64, "train__batch_size": 16, "train__epochs": 50}
        return make("toy-image", "csad", seed, debias_weight=seed, inner_steps=2, **settings)

    assert_stacked_like_single(pairs, heard, recordings, 200)


@pytest.mark.usefixtures("double")
def test_stacked_and_recorded_the_papers_net_for_digits_is_what_it_is_alone(heard, recordings):
    def pairs(seed):
        dataset = made_up_digits(seed, rows=128)
        train = {"target_epochs": 2, "bias_epochs": 2, "estimator_epochs": 2, "epochs": 8, "batch_size": 32}
        given = {"net.backbone": "conv", "inner_steps": 2, **{f"train.{name}": value for name, value in train.items()}}
        _, plan = plan_run(dataset, "csad", given, "", read_dataset)
        return dataset, build(dataset.task, "csad", plan, seed)

    assert_stacked_like_single(pairs, heard, recordings, 4 * 14)


def test_in_float32_stacked_trainings_end_where_single_ones_do(tmp_path):
    seeds = range(5)
    stacked = sweep("digits", seeds=seeds, out=tmp_path / "stacked", device="cuda")
    assert stacked.lost == []
    many = [run["result"]["metrics"]["test"]["accuracy"] for run in stacked.runs]
    single = [
        train("digits", seed=seed, out=tmp_path / str(seed), device="cuda").result["metrics"]["test"]["accuracy"]
        for seed in seeds
    ]
    assert min(many) > 0.7  # trained indeed
    assert abs(mean(many) - mean(single)) <= stdev(single)


# A recording that fails leaves traces in torch's allocator: these come last.


def unrecordable(make):
    """Vanilla with a loss that leaves the device."""
    dataset, method = make("toy-table", "vanilla")

    def loss(e):
        value = method.target_loss(e)
        return value * (2.0 if value.detach().item() > 0.5 else 1.0)

    update = Update("target", ("F", "D_y", "P_y"), loss)
    method.schedule = lambda: (Stage("target", (update,), 3, 1e-3),)
    return dataset, method


@pytest.fixture
def usual_stream():
    usual = torch.cuda.default_stream()
    torch.cuda.set_stream(usual)
    yield usual
    torch.cuda.set_stream(usual)


@pytest.mark.usefixtures("usual_stream")
def test_what_cannot_be_recorded_is_told_and_trained_step_by_step(make, heard, recordings, tmp_path):
    both = [trained(unrecordable(make), way, tmp_path / "state", heard) for way in (RECORDED, EAGER)]
    assert recordings == {}
    assert len(heard.warnings) == 1
    assert "cannot be recorded" in heard.warnings[0]
    assert "captur" in heard.warnings[0]  # torch's own words for the cause
    assert_same(*both)


def test_a_recording_that_fails_leaves_the_caller_on_its_stream(make, heard, usual_stream):
    dataset, method = unrecordable(make)
    fit(method, dataset, heard, RECORDED, seed=0)
    assert torch.cuda.current_stream() == usual_stream
