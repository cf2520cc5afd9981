"""CoCL: the covariance by hand and as numpy has it, and its gradient."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.autograd import grad, gradcheck

from csad.data.samples import Number
from csad.methods.cocl import covariances
from csad.methods.method import Encoded
from tests.support.steps_by_hand import NAN, PARTS, TWO, reading_logits, weights


def test_the_covariance_of_six_rows_by_hand(encoded):
    method, _ = encoded("cocl")
    reading_logits(method).task = replace(method.task, biases=(TWO,))
    y, b = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([[0], [0], [1], [0], [1], [1]])
    p = torch.tensor([0.2, 0.4, 0.6, 0.3, 0.9, 0.3])  # of the true class
    h = torch.stack([torch.where(y == 0, p, 1 - p), torch.where(y == 0, 1 - p, p)], 1).log()
    # Class 0: mean p = .4, mean b = 1/3, mean p b = .2, covariance .2 − .4 / 3 = 1/15, and its negative for "not b".
    # Class 1: mean p = .5, mean b = 2/3, mean p b = .4, covariance .4 − 1 / 3 = 1/15 as well.
    e = Encoded(h, y, b, y)
    assert method.covariance(e).item() == pytest.approx(math.sqrt(2) / 15, rel=1e-5)
    # Without a second class the mean is over the first alone.
    alone = Encoded(h[:3], y[:3], b[:3], y[:3])
    assert method.covariance(alone).item() == pytest.approx(math.sqrt(2) / 15, rel=1e-5)
    # A row of unknown bias is left out: of class 0 p = .2, .6 with b = 0, 1 is left, covariance .3 − .4 / 2 = .1.
    unknown = Encoded(h[:3], y[:3], torch.tensor([[0], [-1], [1]]), y[:3])
    assert method.covariance(unknown).item() == pytest.approx(math.sqrt(2) / 10, rel=1e-5)
    # Class 1 is there, but nothing is known of its bias: it counts, with 0.
    unknown = Encoded(h, y, torch.tensor([[0], [0], [1], [-1], [-1], [-1]]), y)
    assert method.covariance(unknown).item() == pytest.approx(math.sqrt(2) / 30, rel=1e-5)


def test_covariances_are_numpys_column_by_column():
    generator = np.random.default_rng(0)
    p, b, y = generator.random(40), generator.normal(2000, 5, (40, 3)), generator.integers(0, 3, 40)
    known = generator.random((40, 3)) < 0.7
    found = covariances(
        torch.tensor(p), torch.tensor(b), torch.tensor(known).double(), torch.tensor(np.eye(4)[y])
    )  # the fourth class has no row
    for c in range(3):
        for k in range(3):
            rows = (y == c) & known[:, k]
            assert found[c, k].item() == pytest.approx(np.cov(p[rows], b[rows, k], ddof=0)[0, 1], abs=1e-9)
    assert not found[3].any()


def test_several_biases_stand_side_by_side_and_each_leaves_out_its_own_unknown(encoded):
    method, _ = encoded("cocl")
    reading_logits(method).task = replace(method.task, biases=(TWO, Number()))
    y, p = torch.zeros(4, dtype=torch.long), torch.tensor([0.2, 0.4, 0.6, 0.8])
    b = torch.tensor([[0.0, 10], [NAN, 20], [1, NAN], [1, 40]])
    group = np.cov([0.2, 0.6, 0.8], [0, 1, 1], ddof=0)[0, 1]
    age = np.cov([0.2, 0.4, 0.8], [10, 20, 40], ddof=0)[0, 1]
    found = method.covariance(Encoded(torch.stack([p, 1 - p], 1).log(), y, b, y))
    assert found.item() == pytest.approx(math.sqrt(2 * group**2 + age**2), rel=1e-5)


def test_of_a_number_it_is_the_squared_error_that_must_not_go_with_the_bias(encoded):
    method, _ = encoded("cocl")
    reading_logits(method).task = replace(method.task, target=Number(), biases=(Number(),))
    out, y, age = torch.tensor([[1.0], [2], [3], [5]]), torch.tensor([1.0, 4, 2, 5]), torch.tensor([20.0, 50, 40, 30])
    found = method.covariance(Encoded(out, y, age[:, None], y.long()))
    assert found.item() == pytest.approx(abs(np.cov([0, 4, 1, 0], age.numpy(), ddof=0)[0, 1]))


@pytest.mark.parametrize("label", [0, 1, -1])
def test_without_covariance_the_gradient_is_finite_and_zero(encoded, label):
    method, e = encoded("cocl")
    value = method.covariance(e._replace(b=torch.full_like(e.b, label)))
    assert value.item() == pytest.approx(0, abs=1e-7)
    assert all(g.abs().max() < 1e-6 for g in grad(value, weights(method, *PARTS), retain_graph=True))
    flat = torch.zeros(
        16, 2, requires_grad=True
    )  # the same p for all rows: no covariance, but a slope, which is finite
    reading_logits(method)
    assert torch.isfinite(grad(method.covariance(e._replace(h=flat)), flat)[0]).all()


@pytest.mark.usefixtures("double")
def test_the_gradient_of_the_covariance_is_its_slope(encoded):
    method, e = encoded("cocl")
    reading_logits(method)
    h = torch.randn(16, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert gradcheck(lambda h: method.constrained_loss(e._replace(h=h)), (h,))


def test_cocls_step_is_target_and_weighted_covariance(encoded):
    method, e = encoded("cocl", debias_weight=3.0)
    (step,) = method.schedule()[-1].updates
    assert step.moves == PARTS
    assert torch.equal(step.loss(e), method.target_loss(e) + 3 * method.covariance(e))
