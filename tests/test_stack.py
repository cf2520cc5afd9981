"""R stacked runs are R single runs: for every method, on every kind of data, whatever numbers they differ in."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from csad.methods.method import Assign, Course, Method, Stage, Update
from csad.methods.pieces.terms import bias_loss
from csad.nets.parts import Nets, Sizes
from csad.training.stacking import why_not_stacked
from tests.support.stacking import apart, assert_like_single, made_up_digits, planned, stacked

pytestmark = pytest.mark.usefixtures("double")


def test_runs_of_other_seeds_and_data_are_what_they_are_alone(heard, method_name, toy):
    seeds = [3, 4]

    def pairs():
        return [planned(toy, method_name, seed, data__seed=seed) for seed in seeds]

    training = stacked(pairs(), heard, seeds)
    assert apart(training)
    assert_like_single(training, pairs(), heard, seeds)


@pytest.mark.parametrize(
    ("setting", "values", "optimizer"),
    [
        ("debias_weight", (0.1, 1.0, 10.0), "adam"),
        ("data__seed", (0, 1, 2), "adam"),
        ("data__agreement", (0.5, 0.9, 1.0), "adam"),
        ("train__rate", (1e-4, 1e-3, 1e-2), "adam"),
        ("train__rate", (1e-4, 1e-3, 1e-2), "sgd"),
        ("train__pretrain_rate", (1e-4, 1e-3, 1e-2), "adam"),
        ("train__decay", (0.1, 0.5, 1.0), "adam"),
        ("train__decay", (0.1, 0.5, 1.0), "sgd"),
        ("train__weight_decay", (0.0, 1e-2, 1.0), "adam"),
        ("train__weight_decay", (0.0, 1e-2, 1.0), "sgd"),
        ("train__average", (0.1, 0.2, 0.99), "adam"),
        ("scale", (0.1, 1.0, 5.0), "adam"),
        ("sharpness", (1.0, 5.0, 20.0), "adam"),
    ],
)
def test_runs_that_differ_in_one_number_are_what_they_are_alone(heard, setting, values, optimizer):
    fixed = {"train__optimizer": optimizer, "train__rate": 1e-2, "train__epochs": 3, "inner_steps": 2}

    def pairs():
        return [planned("toy-table", seed=1, **{**fixed, setting: value}) for value in values]

    training = stacked(pairs(), heard, [1, 1, 1])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 1, 1])


@pytest.mark.parametrize("method", ["alvi", "kim", "ragonesi"])
def test_rivals_that_differ_in_lambda_are_what_they_are_alone(heard, method):
    fixed = {"train__rate": 1e-2, "train__epochs": 3} | ({} if method == "kim" else {"inner_steps": 2})

    def pairs():
        return [planned("toy-table", method, seed=1, debias_weight=weight, **fixed) for weight in (0.0, 0.1, 10.0)]

    training = stacked(pairs(), heard, [1, 1, 1])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 1, 1])


@pytest.mark.parametrize(
    "settings",
    [
        {"train__partial": "keep", "data__rows": 41},
        {"train__partial": "drop", "data__rows": 41},
        {"train__partial": "fill", "data__rows": 41},
        {"train__balance": "target", "train__batch_size": 15},
        {"train__batch_size": 500},
    ],
)
def test_batches_of_every_kind_are_those_of_the_single_runs(heard, settings):
    seeds = [1, 2]

    def pairs():
        return [planned("toy-table", seed=seed, data__seed=seed, inner_steps=2, **settings) for seed in seeds]

    assert_like_single(stacked(pairs(), heard, seeds), pairs(), heard, seeds)


def test_two_hundred_debias_steps_on_images_do_not_drift_apart(heard):
    seeds = [1, 2]

    def pairs():
        settings = {"data__rows": 16, "train__batch_size": 8, "train__epochs": 100, "train__decay_every": 0}
        nets = {"net__filters": 2, "net__branch": 16, "net__estimator": (16, 8)}
        return [planned("toy-image", seed=s, debias_weight=s, inner_steps=1, **nets, **settings) for s in seeds]

    training = stacked(pairs(), heard, seeds)
    assert training.place.step == 2 * (3 + 100)
    assert_like_single(training, pairs(), heard, seeds)


def test_the_papers_net_for_digits_is_stacked_as_it_is_alone(heard):
    seeds = [1, 2]

    def pairs():
        settings = {"net__backbone": "conv", "inner_steps": 2, "train__batch_size": 10, "train__epochs": 1}
        return [planned(made_up_digits(seed, rows=20), seed=seed, **settings) for seed in seeds]

    assert_like_single(stacked(pairs(), heard, seeds), pairs(), heard, seeds)


def off(first, second):
    """The first gradient without its part along the second, and a tenth of the second at the first's length."""
    along = (first * second).sum() / second.square().sum().clamp(min=1e-12)
    return first - along * second + 0.1 * first.norm() / second.norm().clamp(min=1e-12) * second


class Joined(Method):
    """Two losses joined by the lengths of their gradients, fresh mini-batches, and buffers that are set."""

    def __init__(self, task, nets, course):
        super().__init__(task, nets, course)
        self.D_b, self.P_b = nets.branch(), nets.bias_heads()
        self.register_buffer("share", torch.zeros(task.target.count))
        self.register_buffer("met", torch.zeros(()))

    def two_losses(self, e):
        weights = 1 / (0.1 + self.share[e.y])
        return self.target_loss(e), (weights[:, None] * self.D_y(e.h).square()).mean()

    def bias_loss(self, e):
        return bias_loss(self.P_b(self.D_b(e.h)), e.b, self.task.biases)

    def now(self, e):
        own = (e.y[:, None] == torch.arange(self.task.target.count)).double().mean(0)
        return {"share": 0.9 * self.share + 0.1 * own}

    def schedule(self):
        lines = (
            Update("two", ("F", "D_y", "P_y"), self.two_losses, join=off),
            Assign("share", self.now),
            Assign("met", lambda e: {"met": self.met + e.h.mean()}, batch="fresh"),
            Update("bias", ("D_b", "P_b"), self.bias_loss, repeat=2, batch="fresh"),
            Update("again", ("F",), lambda e: -0.1 * self.bias_loss(e), batch="fresh", optimizer="second"),
            *self.averaging(),
        )
        return (Stage("all", lines, self.course.epochs, self.course.rate),)


def test_joins_fresh_batches_and_buffers_belong_to_each_run_alone(heard):
    seeds = [1, 2, 3]

    def pairs():
        made = []
        for seed in seeds:
            dataset, _ = planned("toy-table", data__seed=seed, data__rows=41)
            torch.manual_seed(seed)
            nets = Nets(Sizes("mlp", branch=16), dataset.task.shape, 2, (2, 3))
            course = Course(batch_size=8, partial="keep", epochs=4, rate=1e-2, average=0.9)
            made.append((dataset, Joined(dataset.task, nets, course)))
        return made

    training = stacked(pairs(), heard, seeds)
    assert apart(training)
    assert len(set(training.runs.state["met"].tolist())) == 3
    assert_like_single(training, pairs(), heard, seeds)


class Clipped(Method):
    """One loss whose gradient has a given length for each weight."""

    def schedule(self):
        update = Update("target", ("F", "D_y", "P_y"), self.target_loss, join=lambda g: g / (1e-9 + g.norm()))
        return (Stage("target", (update,), self.course.epochs, self.course.rate),)


def test_a_single_gradient_is_joined_in_a_stack_as_it_is_alone(heard):
    seeds = [1, 2]

    def pairs():
        made = []
        for seed in seeds:
            dataset, _ = planned("toy-table", data__seed=seed)
            torch.manual_seed(seed)
            nets = Nets(Sizes("mlp", branch=16), dataset.task.shape, 2, (2, 3))
            course = Course(batch_size=8, epochs=2, rate=1e-2, optimizer="sgd")
            made.append((dataset, Clipped(dataset.task, nets, course)))
        return made

    assert_like_single(stacked(pairs(), heard, seeds), pairs(), heard, seeds)


def test_every_run_sees_its_data_through_its_own_view(heard):
    seeds = [1, 1]

    def pairs():
        dataset, one = planned("toy-table", "vanilla", 1)
        _, other = planned("toy-table", "vanilla", 1)
        return [(dataset, one), (replace(dataset, view=lambda x: 3 * x.double()), other)]

    assert_like_single(stacked(pairs(), heard, seeds), pairs(), heard, seeds)


def normed():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())


@pytest.mark.parametrize("method", ["csad", "vanilla"])
def test_a_backbone_with_batch_norm_has_running_statistics_per_run(heard, method):
    seeds = [1, 2]

    def pairs():
        return [planned("toy-table", method, seed, normed(), data__seed=seed) for seed in seeds]

    training = stacked(pairs(), heard, seeds)
    mean = training.runs.state["F.module.1.running_mean"]
    assert (mean[0] - mean[1]).abs().max() > 1e-3
    assert training.runs.state["F.module.1.num_batches_tracked"].min() > 0
    assert_like_single(training, pairs(), heard, seeds)


def test_a_frozen_weight_of_a_backbone_stays_in_every_run(heard):
    seeds = [1, 2]

    def pairs():
        backbone = normed()
        backbone[0].weight.requires_grad_(False)
        return [planned("toy-table", "csad", seed, backbone, train__average=0.9) for seed in seeds]

    training = stacked(pairs(), heard, seeds)
    for k in range(2):
        torch.testing.assert_close(training.runs.state["F.module.0.weight"][k], normed()[0].weight.detach())
    assert_like_single(training, pairs(), heard, seeds)


def test_dropout_is_named_as_the_reason_why_runs_are_not_stacked():
    _, plain = planned("toy-table")
    assert why_not_stacked(plain) == ""
    _, dropping = planned("toy-table", backbone=nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5)))
    assert "F.module.1" in why_not_stacked(dropping)
    assert "dropout" in why_not_stacked(dropping)
    _, never = planned("toy-table", backbone=nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.0)))
    assert why_not_stacked(never) == ""


def test_a_stage_renews_the_optimizers_that_it_names_and_no_other(heard):
    training = stacked([planned("toy-table", seed=seed, inner_steps=3) for seed in (1, 2)], heard, [1, 2])
    steps = {part: int(training.optimizers.of(part).state["steps"]) for part in ("F", "D_y", "D_b", "M")}
    # Four mini-batches in the last stage: F moves twice in each, and M has kept its memory of the two before.
    assert steps == {"F": 4 * 2, "D_y": 4, "D_b": 4 * 3, "M": 2 + 4 * 3}
