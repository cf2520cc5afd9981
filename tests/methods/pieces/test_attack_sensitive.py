"""What SenSR and SenSeI have in common: gradients, stacks, batch norm, settings."""

import inspect
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.autograd import grad
from torch.utils._python_dispatch import TorchDispatchMode

from csad.data.samples import Batch, Number
from csad.methods.method import Encoded
from csad.nets.parts import Nets, Sizes
from csad.training.stacking import Alone, Stack
from tests.support.messages import Refusal, refused
from tests.support.stacking import apart, assert_like_single, planned, stacked
from tests.support.worst_cases import BOTH, KINDS, batch_for, far_cases, made

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("name", BOTH)
def test_the_gradient_takes_the_worst_cases_as_given(name):
    method = made(name)
    batch = batch_for(method)
    found, h = far_cases(method, batch)
    assert not any(value.requires_grad for value in (found["x_far"], h["distance"]))
    loss = method.fair_loss(Encoded(h, batch.y, batch.b, batch.rows))
    given = {"h": method.F(batch.x), "h_far": method.F(found["x_far"].clone())}
    by_hand = method.fair_loss(Encoded(given, batch.y, batch.b, batch.rows))
    weights = list(method.parameters())
    for one, other in zip(grad(loss, weights), grad(by_hand, weights), strict=True):
        assert torch.equal(one, other)
        assert one.abs().max() > 0


class Seen(TorchDispatchMode):
    """Notes the name of every operation."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("runs", [1, 2])
def test_an_ascent_asks_the_host_for_nothing_that_a_recording_could_not_hold(name, runs):
    methods = [made(name, seed=k) for k in range(runs)]
    batch = batch_for(methods[0])
    together = Batch(*(torch.stack([values] * runs) for values in batch)) if runs > 1 else batch
    own = Stack(methods, torch.device("cpu")) if runs > 1 else Alone(methods[0])
    with Seen() as seen:
        own.call(own.method.encode, together)
    assert {"sqrt", "lerp"} <= seen.names
    # A value read, a shape that depends on values, a number brought to the device.
    assert not seen.names & {"_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "lift_fresh"}


@pytest.mark.parametrize("name", BOTH)
def test_an_ascent_leaves_running_statistics_and_modes_alone(name):
    backbone = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.ReLU())
    method = made(name, backbone=backbone)
    batch = batch_for(method)
    norm = method.F.module[1]
    method.train()
    method.D_y.eval()
    method.encode(batch)
    # One forward of F in SenSR's loss, two in SenSeI's: x and its worst case.
    assert norm.num_batches_tracked == (1 if name == "sensr" else 2)
    assert (norm.training, method.D_y.training, method.P_y.training) == (True, False, True)


@pytest.mark.parametrize("name", BOTH)
def test_a_backbone_with_batch_norm_is_stacked_as_it_is_alone(heard, name):
    def pairs():
        torch.manual_seed(5)
        backbone = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())
        return [planned("toy-table", name, seed, backbone, data__seed=seed) for seed in (1, 2)]

    assert_like_single(stacked(pairs(), heard, [1, 2]), pairs(), heard, [1, 2])


@pytest.mark.parametrize(
    ("name", "setting", "values"),
    [
        ("sensei", "debias_weight", (0.0, 1.0, 20.0)),
        *((name, "epsilon", (1e-4, 1e-3, 1e-1)) for name in BOTH),
        *((name, "distance_weight", (0.0, 2.0, 1e4)) for name in BOTH),
        *((name, "subspace_rate", (0.0, 0.1, 0.5)) for name in BOTH),
        *((name, "full_rate", (1e-3, 1e-2, 1e-1)) for name in BOTH),
    ],
)
def test_runs_that_differ_in_one_number_are_what_they_are_alone(heard, name, setting, values):
    fixed = {"train__rate": 1e-2, "train__pretrain_rate": 1e-2, "train__epochs": 3, "full_steps": 3, "full_rate": 1e-2}

    def pairs():
        return [planned("toy-table", name, seed=1, **{**fixed, setting: value}) for value in values]

    training = stacked(pairs(), heard, [1, 1, 1])
    assert apart(training)
    assert len(set(training.runs.state["distance_weight"].tolist())) == 3
    assert_like_single(training, pairs(), heard, [1, 1, 1])


@pytest.mark.parametrize("name", BOTH)
def test_a_target_that_is_a_number_is_learned_and_stacked(heard, name):
    def pairs():
        found = []
        for seed in (1, 2):
            dataset, method = planned("toy-table", name, seed)
            splits = {split: _with_numbers(samples) for split, samples in dataset.splits.items()}
            dataset = replace(dataset, task=replace(dataset.task, target=Number()), splits=splits)
            torch.manual_seed(seed)
            nets = Nets(Sizes("mlp", branch=8, head=()), dataset.task.shape, 1, (2, 3))
            course = replace(method.course, target_epochs=20, pretrain_rate=1e-2)
            few = {"subspace_steps": 2, "subspace_rate": 0.1, "full_steps": 2}
            found.append((dataset, KINDS[name](dataset.task, nets, course, **few)))
        return found

    training = stacked(pairs(), heard, [1, 2])
    assert_like_single(training, pairs(), heard, [1, 2])
    curve = training.logs[0].curves("target")["target"]
    assert curve[-1] < curve[0] / 2


def _with_numbers(samples):
    rows = samples.rows(torch.arange(len(samples)))
    rows.y = rows.y.double() * 2 - 1
    return rows


@pytest.mark.parametrize("name", BOTH)
def test_no_stage_is_common_and_all_are_fair(make, name):
    _, method = make("toy-table", name)
    assert [stage.name for stage in method.schedule()] == ["target", "debias"]
    for stage in method.schedule():
        assert not stage.common
        assert [line.name for line in stage.updates] == ["distance_weight", "target"]
        assert stage.updates[1].loss == method.fair_loss


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("setting", "value", "refusal"),
    [
        ("epsilon", 0.0, Refusal("epsilon-not-positive", epsilon=0.0)),
        ("subspace_steps", -1, Refusal("negative-setting", setting="subspace_steps", value=-1)),
        ("full_steps", -1, Refusal("negative-setting", setting="full_steps", value=-1)),
        ("distance_weight", -2.0, Refusal("negative-setting", setting="distance_weight", value=-2.0)),
        ("subspace_rate", -1.0, Refusal("negative-setting", setting="subspace_rate", value=-1.0)),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, name, setting, value, refusal):
    with refused(refusal):
        make("toy-table", name, **{setting: value})


def test_defaults_are_the_authors():
    shared = {"distance_weight": 2.0, "subspace_steps": 50, "subspace_rate": 10.0, "learned": ()}
    own = {
        "sensr": {"epsilon": 1e-3, "full_steps": 40, "full_rate": 1e-4},
        "sensei": {"epsilon": 0.01, "full_steps": 50, "full_rate": 0.0, "debias_weight": 5.0},
    }
    for name, kind in KINDS.items():
        parameters = inspect.signature(kind).parameters.values()
        given = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
        assert given == shared | own[name]
    of_epsilon = partial(made, "sensei", full_rate=0.0)
    assert of_epsilon(epsilon=0.01).full_rate == pytest.approx(1e-3)
    assert of_epsilon(epsilon=0.3).full_rate == pytest.approx(0.03)
