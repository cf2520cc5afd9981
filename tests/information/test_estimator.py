"""M as a module: two nets, four learnable numbers, and the scores of the transcription."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from csad.information import Estimator, Similarity, cs
from csad.information.estimator import Scale
from tests.support import information_reference as reference

NAMES = {"sharpness_y", "sharpness_b", "scale_related", "scale_other"}


def estimator(form="authors", kind="joint", seed=0):
    torch.manual_seed(seed)
    nets = [nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(), nn.Linear(8, 4)) for _ in range(2)]
    return Estimator(*nets, Similarity(form, kind), sharpness=10.0, scale=1.0).double()


def features(n=7, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, 6, generator=generator, dtype=torch.float64) for _ in range(2)]


@pytest.mark.parametrize("start", [0.1, 1.0, 10.0])
def test_a_scale_starts_at_its_start_and_moves_with_its_weight_one_for_one(start):
    scale = Scale(start).double()
    value = scale()
    (slope,) = torch.autograd.grad(value, scale.theta)
    assert abs(value - start) < 1e-7 * start  # the start was rounded to float32
    assert abs(slope - 1) < 1e-12


@settings(deadline=None)
@given(st.floats(-80, 80, allow_nan=False), st.sampled_from([0.1, 1.0, 10.0]))
def test_a_scale_is_positive_and_finite_for_any_weight(theta, start):
    """θ in units of the start; beyond ±87 float32 itself ends."""
    scale = Scale(start)
    with torch.no_grad():
        scale.theta.fill_(theta * start)
    assert 0 < scale() < float("inf")


def test_a_scale_grows_with_its_weight():
    scale = Scale(2.0).double()
    values = []
    for theta in (-5.0, -1.0, 0.0, 1.0, 5.0):
        with torch.no_grad():
            scale.theta.fill_(theta)
            values.append(float(scale()))
    assert values == sorted(values)
    assert values[3:] == [3.0, 7.0]
    assert abs(values[1] - 2 * 2.718281828459045**-0.5) < 1e-12


def test_weight_decay_draws_a_scale_to_its_start():
    scale = Scale(10.0)
    with torch.no_grad():
        scale.theta.fill_(3.0)
    before = scale().detach()
    descent = torch.optim.SGD(scale.parameters(), lr=0.1, weight_decay=1.0)
    (scale() * 0).backward()
    descent.step()
    assert 10 < scale() < before


def test_the_four_numbers_of_an_estimator_have_names_and_are_weights():
    m = estimator()
    scales = m.scales()
    assert set(scales) == NAMES
    assert {name: round(value.item(), 6) for name, value in scales.items()} == {
        "sharpness_y": 10.0,
        "sharpness_b": 10.0,
        "scale_related": 1.0,
        "scale_other": 1.0,
    }
    assert {f"{name}.theta" for name in NAMES} <= dict(m.named_parameters()).keys()
    assert [a.item() for a in m.scale()] == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["content", "structure", "joint"])
@pytest.mark.parametrize("form", ["authors", "paper"])
def test_scores_of_an_estimator_are_those_of_the_transcription_of_its_nets(form, kind):
    m = estimator(form, kind)
    with torch.no_grad():
        m.sharpness_y.theta.fill_(2.0)
        m.sharpness_b.theta.fill_(-3.0)
        h_y, h_b = features()
        tau_y, tau_b = 12.0, 10 * torch.exp(torch.tensor(-0.3, dtype=torch.float64))
        slow = reference.similarity(m.M_y(h_y), m.M_b(h_b), tau_y, tau_b, form, kind)
        assert (m(h_y, h_b) - slow).abs().max() < 1e-9


def test_the_first_scale_belongs_to_related_pairs():
    m = estimator()
    with torch.no_grad():
        m.scale_related.theta.fill_(1.0)
    related, other = m.scale()
    assert related > other
    assert abs(other - 1) < 1e-12


@pytest.mark.parametrize("form", ["authors", "paper"])
def test_every_weight_of_an_estimator_is_reached_by_the_bound(form):
    m = estimator(form)
    value = cs(m(*features()), torch.eye(7, dtype=torch.int8), pairs="sum", scale=m.scale())
    gradients = torch.autograd.grad(value, list(m.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert all(gradient.abs().max() > 0 for gradient in gradients)


def test_estimators_of_many_runs_at_once_equal_a_loop():
    runs = [estimator(seed=seed) for seed in range(3)]
    for run, theta in zip(runs, (0.0, 1.0, -2.0), strict=True):
        with torch.no_grad():
            run.sharpness_y.theta.fill_(theta)
    weights, buffers = torch.func.stack_module_state(runs)
    h_y, h_b = (torch.stack(h) for h in zip(*(features(seed=seed) for seed in range(3)), strict=True))

    def scores(weights, buffers, h_y, h_b):
        return torch.func.functional_call(runs[0], (weights, buffers), (h_y, h_b))

    with torch.no_grad():
        together = torch.func.vmap(scores)(weights, buffers, h_y, h_b)
        loop = torch.stack([run(y, b) for run, y, b in zip(runs, h_y, h_b, strict=True)])
    assert (together - loop).abs().max() < 1e-12


def test_one_scale_serves_both_sets_where_two_are_not_asked_for():
    nets = (torch.nn.Linear(6, 4), torch.nn.Linear(6, 4))
    m = Estimator(*nets, Similarity(), scale=2.0, two_scales=False)
    with torch.no_grad():
        m.scale_related.theta.fill_(1.0)
    assert [a.item() for a in m.scale()] == [3.0, 3.0]
    assert set(m.scales()) == NAMES - {"scale_other"}
