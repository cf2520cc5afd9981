"""The worst cases of SenSR and SenSeI against a slow transcription, λ by hand, and the fair distance."""

import pytest
import torch
from torch.autograd import grad

from csad.data.samples import Batch, Classes, Number
from csad.methods.pieces.attack import ascend, gradient, next_weight
from csad.methods.pieces.fair_subspace import away_from
from csad.methods.sensei import START, Sensei, signs
from csad.training.batches import OwnBatches
from csad.training.iterate import iterate
from csad.training.optimizers import Optimizers
from csad.training.stacking import Alone, Stack
from csad.training.steps import encode
from tests.support.worst_cases import BOTH, ROWS, batch_for, far_cases, made

pytestmark = pytest.mark.usefixtures("double")


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
        iterate(runs, stage.updates, source, source, Optimizers(runs.weights, "adam", 0.0), torch.tensor(1e-3))
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
