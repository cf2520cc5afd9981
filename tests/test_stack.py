"""R stacked runs are R single runs: for every method, on every kind of data, whatever numbers they differ in."""

import itertools
import signal
from dataclasses import replace

import pytest
import torch
from torch import nn

from csad.data.samples import Classes, Dataset, Samples, Task
from csad.errors import Diverged, Interrupted
from csad.experiments.build import build, plan_run, read
from csad.methods.method import Assign, Course, Method, Stage, Update
from csad.methods.terms import bias_loss
from csad.nets.parts import Nets, Sizes
from csad.registry import METHODS
from csad.training.checkpoint import State, load, save
from csad.training.device import Way
from csad.training.fit import fit, fit_many
from csad.training.log import Log
from csad.training.stack import Alone, why_not_stacked

WAY = Way(torch.device("cpu"))
SHORT = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 2}
SMALL = {"train.batch_size": 16, "train.decay_every": 1, "data.rows": 32}
NARROW = {"toy-image": {"net.filters": 4}, "toy-series": {"net.filters": 4, "net.layers": 2}, "toy-table": {}}


@pytest.fixture(autouse=True)
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def planned(task, method="csad", seed=0, backbone=None, **settings):
    """A data set and a method with fresh weights."""
    usual = {**SHORT, **SMALL, **NARROW[task]} if isinstance(task, str) else SHORT
    given = {**usual, **{key.replace("__", "."): value for key, value in settings.items()}}
    dataset, plan = plan_run(task, method, given, "", read)
    return dataset, build(dataset.task, method, plan, seed, backbone)


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


def test_runs_of_other_seeds_and_data_are_what_they_are_alone(heard, method_name, toy):
    seeds = [3, 4]

    def pairs():
        return [planned(toy, method_name, seed, data__seed=seed) for seed in seeds]

    training = stacked(pairs(), heard, seeds)
    assert apart(training)
    assert_like_single(training, pairs(), heard, seeds)


@pytest.mark.parametrize(
    ("setting", "values", "optimiser"),
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
    ],
)
def test_runs_that_differ_in_one_number_are_what_they_are_alone(heard, setting, values, optimiser):
    fixed = {"train__optimiser": optimiser, "train__rate": 1e-2, "train__epochs": 3, "inner_steps": 2}

    def pairs():
        return [planned("toy-table", seed=1, **{**fixed, setting: value}) for value in values]

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


def made_up_digits(seed, rows=20):
    """28 × 28 pixels in three colours that tell of nothing."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 256, (rows, 3, 28, 28), generator=generator, dtype=torch.uint8)
    y, b = torch.arange(rows) % 4, torch.randint(0, 2, (rows, 3), generator=generator)
    task = Task("made-up", (3, 28, 28), Classes(4), (Classes(2),) * 3, ("red", "green", "blue"))
    return Dataset(task, {"train": Samples(x, y, b)})


def test_the_papers_net_for_digits_is_stacked_as_it_is_alone(heard):
    seeds = [1, 2]

    def pairs():
        settings = {"net__backbone": "conv", "inner_steps": 2, "train__batch_size": 10, "train__epochs": 1}
        return [planned(made_up_digits(seed), seed=seed, **settings) for seed in seeds]

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
        self.register_buffer("seen", torch.zeros(()))

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
            Assign("seen", lambda e: {"seen": self.seen + e.h.mean()}, batch="fresh"),
            Update("bias", ("D_b", "P_b"), self.bias_loss, repeat=2, batch="fresh"),
            Update("again", ("F",), lambda e: -0.1 * self.bias_loss(e), batch="fresh", optimiser="second"),
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
    assert len(set(training.runs.state["seen"].tolist())) == 3
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
            course = Course(batch_size=8, epochs=2, rate=1e-2, optimiser="sgd")
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


def test_a_stage_renews_the_optimisers_that_it_names_and_no_other(heard):
    training = stacked([planned("toy-table", seed=seed, inner_steps=3) for seed in (1, 2)], heard, [1, 2])
    steps = {part: int(training.optimisers.of(part).state["steps"]) for part in ("F", "D_y", "D_b", "M")}
    # Four mini-batches in the last stage: F moves twice in each, and M has kept its memory of the two before.
    assert steps == {"F": 4 * 2, "D_y": 4, "D_b": 4 * 3, "M": 2 + 4 * 3}


def test_every_run_has_a_log_of_its_own_and_the_listener_hears_of_all_at_once(heard, tmp_path):
    seeds = [1, 2, 3]
    logs = [Log(tmp_path / f"{seed}.jsonl") for seed in seeds]
    training = stacked([planned("toy-table", seed=seed) for seed in seeds], heard, seeds, logs=logs)
    places = [list(losses(log)) for log in logs]
    assert places[0] == places[1] == places[2] == [(stage, step) for stage, step, _ in heard.steps]
    assert places[0][-1] == ("debias", training.place.step - 1)
    assert losses(logs[0])["target", 0] != losses(logs[1])["target", 0]
    for log in logs:
        assert Log(log.path).lines == log.lines


def test_a_training_from_the_start_forgets_what_an_earlier_try_has_logged(heard, tmp_path):
    for _ in range(2):
        training = stacked([planned("toy-table")], heard, [0], logs=[Log(tmp_path / "log.jsonl")])
    steps = [line["step"] for line in training.logs[0].lines]
    assert steps == sorted(set(steps))


@pytest.mark.parametrize("settings", [{}, {"train__average": 0.9}])
def test_a_run_that_diverges_is_given_up_by_name_and_the_others_do_not_feel_it(heard, settings):
    seeds = [1, 2, 3]

    def pairs(rate):
        rates = {1: 1e-3, 2: rate, 3: 1e-3}
        return [planned("toy-table", seed=s, inner_steps=2, train__rate=rates[s], **settings) for s in seeds]

    sound, spoiled = (stacked(pairs(rate), heard, seeds) for rate in (2e-3, 1e200))
    assert sound.lost == {}
    dataset, alone = pairs(1e200)[1]
    with pytest.raises(Diverged) as known:
        fit(alone, dataset, heard, WAY, seed=2)
    assert list(spoiled.lost) == [1]
    assert spoiled.lost[1].startswith("The loss of the update 'estimator' is not a number at step 5")
    assert str(known.value).startswith(spoiled.lost[1])
    assert heard.warnings == [f"run 1: {spoiled.lost[1]}: this run is given up, the others go on."]
    assert max(line["step"] for line in spoiled.logs[1].lines if "losses" in line) < 5
    assert spoiled.logs[1].warnings() == [f"{spoiled.lost[1]}: this run is given up, the others go on."]
    for k in (0, 2):
        own, other = spoiled.state_of(k), sound.state_of(k)
        assert equal(own.weights, other.weights)
        assert equal(own.optimisers, other.optimisers)
        assert losses(spoiled.logs[k]) == losses(sound.logs[k])
    assert all(bool(torch.isfinite(value[[0, 2]]).all()) for value in spoiled.runs.state.values())


def test_a_weight_that_runs_away_in_the_very_last_step_is_noticed_too(heard):
    pairs = [planned("toy-table", "vanilla", data__rows=16, train__epochs=1) for _ in range(2)]
    pairs[1][1].course = replace(pairs[1][1].course, rate=float("inf"))
    training = stacked(pairs, heard, [0, 0])
    assert training.lost == {1: "A weight or buffer is not a number after step 1"}


def test_when_every_run_has_diverged_all_stops(heard):
    pairs = [planned("toy-table", seed=seed, train__rate=1e200) for seed in (1, 2)]
    with pytest.raises(Diverged, match=r"is not a number at step 5\b.*Lower train.rate"):
        stacked(pairs, heard, [1, 2])
    assert [text for text in heard.warnings if "given up" in text] == heard.warnings
    assert len(heard.warnings) == 1  # of the first that was lost


class StopAt:
    """A listener that asks for a stop at a step, as Ctrl-C does."""

    def __init__(self, step):
        self.step = step

    def progress(self, stage, place, steps, losses):
        if place.step == self.step:
            signal.raise_signal(signal.SIGINT)

    def warn(self, text):
        pass


def without_time(logs):
    return [[{k: v for k, v in line.items() if k != "seconds"} for line in log.lines] for log in logs]


@pytest.mark.parametrize("step", [0, 5, 11, 20, 29])
def test_a_stack_that_is_stopped_goes_on_as_if_it_had_not_been(heard, monkeypatch, tmp_path, step):
    monkeypatch.setattr("csad.training.stages.LOG_EVERY", 1)  # of a stack: every fifth step
    seeds = [1, 2]

    def pairs():
        settings = {"data__rows": 96, "train__average": 0.9, "inner_steps": 2}
        return [planned("toy-table", seed=seed, **settings) for seed in seeds]

    whole = stacked(pairs(), heard, seeds)
    assert step in [spoken for _, spoken, _ in heard.steps]
    keep, logs = tmp_path / "state.safetensors", [Log(tmp_path / f"{seed}.jsonl") for seed in seeds]
    with pytest.raises(Interrupted):
        stacked(pairs(), StopAt(step), seeds, logs=logs, keep=keep)
    assert load(keep).place.step == step + 1
    logs = [Log(log.path) for log in logs]
    resumed = stacked(pairs(), heard, seeds, logs=logs, keep=keep)
    assert equal(resumed.state().weights, whole.state().weights)
    assert equal(resumed.state().optimisers, whole.state().optimisers)
    assert without_time(resumed.logs) == without_time(whole.logs)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
@pytest.mark.parametrize("until", [1, 2, 3])
def test_a_training_handed_over_between_stages_is_one_in_one_go(heard, until, optimiser):
    seeds = [1, 2, 3]

    def pairs():
        return [planned("toy-table", seed=seed, inner_steps=2, train__optimiser=optimiser) for seed in seeds]

    whole = stacked(pairs(), heard, seeds)
    first = stacked(pairs(), heard, seeds, until=until)
    assert (first.place.stage, first.place.epoch, first.place.batch) == (until, 0, 0)
    starts = [first.state_of(k) for k in range(3)]
    second = stacked(pairs(), heard, seeds, starts=starts, logs=first.logs)
    assert equal(second.state().weights, whole.state().weights)
    assert equal(second.state().optimisers, whole.state().optimisers)
    assert without_time(second.logs) == without_time(whole.logs)


def test_runs_may_be_handed_over_in_another_order_and_with_the_moved_parts_alone(heard):
    seeds = [1, 2, 3]

    def pairs(order):
        return [planned("toy-table", seed=seed, inner_steps=2, data__seed=seed) for seed in order]

    first = stacked(pairs(seeds), heard, seeds, until=1)
    starts = []
    for k in (2, 0):
        state = first.state_of(k)
        moved = {name: value for name, value in state.weights.items() if name.split(".")[0] in ("F", "D_y", "P_y")}
        starts.append(State(state.place, moved, state.optimisers))
    training = stacked(pairs([3, 1]), heard, [3, 1], starts=starts)
    for k, seed in enumerate([3, 1]):
        dataset, method = planned("toy-table", seed=seed, inner_steps=2, data__seed=seed)
        fit(method, dataset, heard, WAY, seed=seed)
        for name, value in method.state_dict().items():
            torch.testing.assert_close(training.runs.state[name][k], value, rtol=0, atol=1e-8, msg=name)


def test_one_run_of_a_stack_can_go_on_alone(heard, tmp_path):
    seeds = [1, 2]

    def pairs():
        return [planned("toy-table", seed=seed, inner_steps=2) for seed in seeds]

    whole, first = stacked(pairs(), heard, seeds), stacked(pairs(), heard, seeds, until=2)
    keep = tmp_path / "state.safetensors"
    save(keep, first.state_of(1))
    dataset, method = pairs()[1]
    fit(method, dataset, heard, WAY, seed=2, keep=keep, resume=True)
    for name, value in method.state_dict().items():
        torch.testing.assert_close(whole.runs.state[name][1], value, rtol=0, atol=1e-8, msg=name)


def after_common_stages(method_name, heard, **settings):
    """For each common stage at the beginning, by name, the weights that it has moved."""
    found = {}
    _, method = planned("toy-table", method_name, seed=7, **settings)
    for number, stage in enumerate(itertools.takewhile(lambda s: s.common, method.schedule())):
        pair = planned("toy-table", method_name, seed=7, **settings)
        state = stacked([pair], heard, [7], until=number + 1).state_of(0).weights
        before = Alone(planned("toy-table", method_name, seed=7, **settings)[1]).state
        moved = {part for line in stage.updates for part in line.moves}
        found[stage.name] = {name: value for name, value in state.items() if name.split(".")[0] in moved}
        assert not equal(found[stage.name], {name: before[name] for name in found[stage.name]})
    return found


def halved(method_name):
    """Every number among a method's own settings, halved."""
    _, plan = plan_run("toy-table", method_name, {}, "", read)
    numbers = {n: v for n, v in plan.settings.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return {name: max(1, value // 2) if isinstance(value, int) else value / 2 for name, value in numbers.items()}


def test_a_common_stage_does_not_depend_on_the_methods_own_settings(heard, method_name):
    usual, other = (after_common_stages(method_name, heard, **own) for own in ({}, halved(method_name)))
    assert usual.keys() == other.keys()
    for stage, weights in usual.items():
        assert equal(weights, other[stage]), stage


def test_a_common_stage_is_alike_in_every_method_that_has_one_of_its_name(heard):
    found = {}
    for method_name in METHODS.names():
        for stage, weights in after_common_stages(method_name, heard).items():
            found.setdefault(stage, []).append((method_name, weights))
    assert len(found["target"]) > 1
    for stage, each in found.items():
        name, weights = each[0]
        for other, same in each[1:]:
            assert equal(weights, same), f"{stage} of {name} and of {other}"
