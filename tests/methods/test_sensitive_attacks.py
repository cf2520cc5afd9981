"""SenSR and SenSeI: their worst cases against a slow transcription, λ by hand, and what each loss is made of."""

import inspect
from dataclasses import replace
from functools import partial

import pytest
import torch
from stacking import apart, assert_like_single, planned, stacked
from torch import nn
from torch.autograd import grad
from torch.utils._python_dispatch import TorchDispatchMode

from csad.data.samples import Batch, Classes, Number, Task
from csad.errors import InputError
from csad.methods.attack import ascend, gradient, next_weight
from csad.methods.fair_subspace import away_from
from csad.methods.method import Course, Encoded
from csad.methods.sensei import START, Sensei, signs
from csad.methods.sensr import Sensr
from csad.methods.terms import label_loss
from csad.nets.parts import Nets, Sizes
from csad.training.batches import OwnBatches, encode
from csad.training.descent import Optimisers
from csad.training.iterate import iterate
from csad.training.stack import Alone, Stack

pytestmark = pytest.mark.usefixtures("double")
BOTH = ["sensr", "sensei"]
KINDS = {"sensr": Sensr, "sensei": Sensei}
ROWS = 6
SOME = {"subspace_steps": 7, "subspace_rate": 0.3, "full_steps": 5, "full_rate": 0.02, "distance_weight": 1.5}


def made(name, shape=(5,), target=None, seed=0, backbone="mlp", **settings):
    """A method whose directions were drawn, two of them, and two rows of 0."""
    target = target or Classes(3)
    task = Task("made-up", shape, target, (Classes(2),), ("group",))
    torch.manual_seed(seed)
    outputs = target.count if isinstance(target, Classes) else 1
    nets = Nets(Sizes(backbone, branch=7, branch_relu=True, head=()), shape, outputs, (2,))
    method = KINDS[name](task, nets, Course(), **(SOME | settings))
    basis, _ = torch.linalg.qr(torch.randn(method.width, 2))
    method.directions.copy_(torch.cat([basis.T, torch.zeros(2, method.width)]))
    return method


def batch_for(method, seed=1, rows=ROWS):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, *method.task.shape, generator=generator)
    if isinstance(method.task.target, Classes):
        y = torch.arange(rows) % method.task.target.count
    else:
        y = torch.randn(rows, generator=generator)
    return Batch(x, y, torch.zeros(rows, 1, dtype=torch.long), torch.arange(rows) + 10)


def encoded(method, batch):
    return Encoded(method.encode(batch), batch.y, batch.b, batch.rows)


def far_cases(method, batch):
    """The worst cases that encode meets with, and what it gives."""
    found = {}
    own = method.far

    def far(*arguments):
        found["x_far"], found["distance"] = own(*arguments)
        return found["x_far"], found["distance"]

    method.far = far
    h = method.encode(batch)
    del method.far
    return found, h


def slow_worst_case(method, x, y, start):
    """One row's worst case and its distance by torch's own Adam, the cost told to autograd."""
    x, D = x[None], method.directions

    def objective(moved):
        out = method.P_y(method.D_y(method.F(moved)))
        if isinstance(method, Sensei):
            return (out - method.P_y(method.D_y(method.F(x))).detach()).pow(2).sum()
        if isinstance(method.task.target, Classes):
            return -out.log_softmax(-1)[0, y]
        return (out[0, 0] - y) ** 2

    def climb(where, value, steps, rate):
        adam = torch.optim.Adam([where], lr=float(rate), maximize=True)
        for _ in range(steps):
            where.grad = grad(value(), where)[0]
            adam.step()

    u = start[None].clone().requires_grad_()
    climb(u, lambda: objective(x + (u @ D).reshape(x.shape)), method.subspace_steps, method.subspace_rate)
    beside = (x + (u @ D).reshape(x.shape)).detach()
    moved = torch.zeros_like(x, requires_grad=True)
    outside = torch.eye(method.width) - D.T @ D
    distance = lambda: (moved.reshape(-1) @ outside).pow(2).sum()  # noqa: E731
    value = lambda: objective(beside + moved) - method.distance_weight * distance()  # noqa: E731
    climb(moved, value, method.full_steps, method.full_rate)
    return (beside + moved).detach()[0], distance().detach()


@pytest.mark.parametrize("shape", [(5,), (2, 3, 2)])
@pytest.mark.parametrize("target", [Classes(3), Number()])
@pytest.mark.parametrize("name", BOTH)
def test_worst_cases_are_those_of_a_slow_transcription(name, target, shape):
    method = made(name, shape, target)
    batch = batch_for(method)
    found, h = far_cases(method, batch)
    start = START * signs(batch.rows, 4).double() if name == "sensei" else torch.zeros(ROWS, 4)
    for k in range(ROWS):
        x_far, distance = slow_worst_case(method, batch.x[k], batch.y[k], start[k])
        torch.testing.assert_close(found["x_far"][k], x_far, rtol=0, atol=1e-10)
        torch.testing.assert_close(h["distance"][k], distance, rtol=1e-8, atol=0)
    assert torch.equal(h["h_far"], method.F(found["x_far"]))


@pytest.mark.parametrize("name", BOTH)
def test_worst_cases_in_a_stack_are_those_of_each_run_alone(name):
    methods = [made(name, seed=k, distance_weight=k) for k in (1, 2, 3)]
    batches = [batch_for(method, seed=k) for k, method in enumerate(methods)]
    together = Batch(*(torch.stack(values) for values in zip(*batches, strict=True)))
    stack = Stack(methods, torch.device("cpu"))
    h = stack.call(stack.method.encode, together)
    for k, (method, batch) in enumerate(zip(methods, batches, strict=True)):
        for key, value in method.encode(batch).items():
            torch.testing.assert_close(h[key][k], value, rtol=0, atol=1e-10)


def test_an_ascent_is_torchs_adam():
    generator = torch.Generator().manual_seed(0)
    start, goal = torch.randn(4, 3, generator=generator), torch.randn(4, 3, generator=generator)
    objective = lambda at: -((at - goal) ** 4).sum()  # noqa: E731
    there = ascend(gradient(objective), start, 30, torch.tensor(0.2))
    where = start.clone().requires_grad_()
    adam = torch.optim.Adam([where], lr=0.2, maximize=True)
    for _ in range(30):
        where.grad = grad(objective(where), where)[0]
        adam.step()
    torch.testing.assert_close(there, where.detach(), rtol=0, atol=1e-12)
    assert torch.equal(ascend(gradient(objective), start, 0, torch.tensor(0.2)), start)


def test_a_gradient_of_zero_moves_nothing():
    start = torch.ones(2, 3)
    assert torch.equal(ascend(torch.zeros_like, start, 5, torch.tensor(10.0)), start)


# λ


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0.004, 2 + 4 * 0.003),
        (0.0005, 2 - 2 * 0.0005),
        (0.001, 2.0),
        (1e-7, 1e-5),  # 2 − 10⁴ · 0.0009999 would be below 0
        (0.0, 1e-5),
    ],
)
def test_lambda_after_a_step_by_hand(distance, expected):
    after = next_weight(torch.tensor(2.0), torch.tensor(distance), torch.tensor(0.001))
    assert after.item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", BOTH)
def test_a_step_sets_lambda_by_the_worst_cases_that_it_learns_from(make, name):
    dataset, method = make("toy-table", name, full_steps=4)
    batches = OwnBatches(dataset, method.course, 0, torch.device("cpu"))
    method.prepare(batches.train, batches.view)
    rows = batches.order(0, 0)[0]
    runs, asked = Alone(method), []

    def source(gradient):
        asked.append(encode(runs, batches, rows, gradient))
        return asked[-1]

    before = method.distance_weight.clone()
    for stage in method.schedule():
        iterate(runs, stage.updates, source, source, Optimisers(runs, "adam", 0.0), torch.tensor(1e-3))
        e = asked.pop()
        assert not asked  # one ascent per mini-batch
        assert (e.h["distance"] > 0).all()
        assert method.distance_weight == next_weight(before, e.h["distance"].mean(), method.epsilon) != before
        before = method.distance_weight.clone()


# The fair distance


@pytest.mark.parametrize("name", BOTH)
def test_to_move_along_the_directions_costs_nothing(name):
    method = made(name, full_steps=0, subspace_rate=10.0)
    batch = batch_for(method)
    found, _ = far_cases(method, batch)
    moved = found["x_far"] - batch.x
    assert (moved.norm(dim=1) > 10).all()
    assert away_from(moved, method.directions).abs().max() < 1e-12
    assert (found["distance"] == 0).all()


@pytest.mark.parametrize("name", BOTH)
def test_a_small_distance_is_exact_in_float32_however_far_the_subspace_led(name):
    method = made(name, subspace_steps=50, subspace_rate=100.0, full_steps=3, full_rate=1e-4).float()
    batch = batch_for(method)._replace(x=batch_for(method).x.float())
    found, _ = far_cases(method, batch)
    assert (found["x_far"] - batch.x).norm(dim=1).max() > 1000  # where float32 has steps of 1e-4
    assert found["distance"].max() > 1e-7
    assert found["distance"].max() < 1.01 * 5 * (3e-4) ** 2


def test_a_high_price_keeps_the_distance_small():
    cheap, dear = (made("sensr", distance_weight=w, full_steps=60) for w in (0.0, 1e4))
    near, far = (method.encode(batch_for(method))["distance"].mean() for method in (dear, cheap))
    assert near < far / 100


# SenSR


def test_sensr_without_a_step_is_vanilla(make):
    dataset, method = make("toy-table", "sensr", subspace_steps=0, full_steps=0)
    _, vanilla = make("toy-table", "vanilla")
    vanilla.load_state_dict(method.state_dict(), strict=False)
    train, rows = dataset.train, torch.arange(16)
    batch = Batch(dataset.view(train.x[rows]), train.y[rows], train.b[rows], rows)
    assert torch.equal(method.fair_loss(encoded(method, batch)), vanilla.target_loss(encoded(vanilla, batch)))


@pytest.mark.parametrize("target", [Classes(3), Number()])
def test_sensrs_loss_is_the_targets_at_the_worst_cases_and_higher_there(target):
    method = made("sensr", target=target)
    batch = batch_for(method)
    found, h = far_cases(method, batch)
    loss = method.fair_loss(Encoded(h, batch.y, batch.b, batch.rows))
    assert torch.equal(loss, label_loss(method.predict(found["x_far"]), batch.y, target))
    assert loss > label_loss(method.predict(batch.x), batch.y, target)


@pytest.mark.parametrize(("target", "unknown"), [(Classes(3), -1), (Number(), float("nan"))])
def test_a_row_without_a_target_stays_where_it_is(target, unknown):
    method = made("sensr", target=target)
    batch = batch_for(method)
    batch.y[2] = unknown
    found, _ = far_cases(method, batch)
    still = (found["x_far"] == batch.x).all(1)
    assert still.tolist() == [k == 2 for k in range(ROWS)]
    fewer = Batch(*(torch.cat([values[:2], values[3:]]) for values in batch))
    other, _ = far_cases(method, fewer)
    torch.testing.assert_close(other["x_far"], torch.cat([found["x_far"][:2], found["x_far"][3:]]))


def test_sensr_names_its_own_settings_when_the_target_falls_to_chance(make):
    _, method = make("toy-table", "sensr")
    curves = {"target": [0.3, *[0.69] * 8]}
    assert method.symptoms("target", curves) == []
    [advice] = method.symptoms("debias", curves)
    assert "epsilon" in advice
    assert "debias_weight" not in advice


# SenSeI


def test_senseis_loss_is_the_targets_and_the_weighted_distance_of_logits():
    method = made("sensei", debias_weight=0.7)
    batch = batch_for(method)
    found, h = far_cases(method, batch)
    own, far = method.predict(batch.x), method.predict(found["x_far"])
    apart = sum(((own[k] - far[k]) ** 2).sum() for k in range(ROWS)) / ROWS
    expected = label_loss(own, batch.y, method.task.target) + 0.7 * apart
    assert method.fair_loss(Encoded(h, batch.y, batch.b, batch.rows)).item() == pytest.approx(expected.item())
    beginning = batch.x + START * signs(batch.rows, 4).double() @ method.directions
    assert apart > (own - method.predict(beginning)).square().sum(1).mean()


def test_senseis_penalty_is_zero_when_the_net_ignores_the_directions():
    method = made("sensei", full_steps=0, subspace_rate=10.0)
    batch = batch_for(method)
    plain = label_loss(method.predict(batch.x), batch.y, method.task.target)
    assert method.fair_loss(encoded(method, batch)) > plain + 1
    first = next(part for part in method.F.modules() if isinstance(part, nn.Linear))
    with torch.no_grad():
        first.weight.copy_(away_from(first.weight, method.directions))
    plain = label_loss(method.predict(batch.x), batch.y, method.task.target)
    assert method.fair_loss(encoded(method, batch)).item() == pytest.approx(plain.item(), abs=1e-12)


def test_the_start_goes_either_way_equally_often_and_follows_from_the_row_alone():
    rows = torch.arange(20_000)
    all_signs = signs(rows, 5)
    assert set(all_signs.unique().tolist()) == {-1, 1}
    few = torch.tensor([17, 3, 19_999])
    assert torch.equal(signs(few, 5), all_signs[few])
    values = all_signs.double()
    assert (values.T @ values / len(rows) - torch.eye(5)).abs().max() < 0.05
    for every in (2, 3, 7, 10):  # whatever order the rows of a data set have
        assert all(values[k::every].mean(0).abs().max() < 0.1 for k in range(every))


# Both


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
    ("setting", "value", "wanted"),
    [
        ("epsilon", 0.0, "above 0"),
        ("subspace_steps", -1, "0 or more"),
        ("full_steps", -1, "0 or more"),
        ("distance_weight", -2.0, "0 or more"),
        ("subspace_rate", -1.0, "0 or more"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, name, setting, value, wanted):
    with pytest.raises(InputError, match=f"{setting} must be {wanted}, not {value}"):
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
