"""The random walk by doubling against the closed form and the iteration of the paper (Zhu et al., Eq. 4–7)."""

import math

import pytest
import torch

from csad.information import graph, random_walk
from csad.information.similarity import unit
from tests.support import information_reference as reference

SIZES = (1, 2, 128, 512)
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def stochastic(n, seed=0):
    """A row-stochastic graph in float64 with no symmetry at all."""
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(3 * torch.randn(n, n, generator=generator, dtype=torch.float64), dim=-1)


def features(n, d=16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("walk_on", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", SIZES)
def test_the_walk_is_the_closed_form_on_a_row_stochastic_graph(n, walk_on, dtype):
    edges = stochastic(n)
    walk = random_walk(edges.to(dtype), walk_on)
    assert walk.dtype == dtype
    assert (walk - reference.closed_walk(edges, walk_on)).abs().max() < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sharpness", [1.0, 10.0, 30.0])
@pytest.mark.parametrize("n", SIZES)
def test_the_walk_is_the_closed_form_on_the_symmetrised_graph(n, sharpness, dtype):
    edges = graph(unit(features(n)), sharpness, symmetric=True)
    walk = random_walk(edges.to(dtype), 0.5)
    assert (walk - reference.closed_walk(edges, 0.5)).abs().max() < TOLERANCE[dtype]


def test_the_walk_is_the_closed_form_on_a_symmetrised_graph_of_radius_above_one():
    """A star: 64 leaves stay with .9 and go to the hub with .1, the hub stays. Symmetrised, its largest eigenvalue is
    that of [[1, 8·.05], [8·.05, .9]]: .95 + √(.05² + .4²) = 1.3531…, and c = .5 times that is still below one.
    """
    edges = 0.9 * torch.eye(65, dtype=torch.float64)
    edges[:, 0] += 0.1
    edges = (edges + edges.T) / 2
    radius = torch.linalg.eigvalsh(edges)[-1]
    assert abs(radius - (0.95 + math.hypot(0.05, 0.4))) < 1e-12
    for dtype, tolerance in TOLERANCE.items():
        walk = random_walk(edges.to(dtype), 0.5)
        assert (walk - reference.closed_walk(edges, 0.5)).abs().max() < tolerance


@pytest.mark.parametrize("n", SIZES)
def test_a_walk_that_never_goes_on_stays_where_it_starts(n):
    assert torch.equal(random_walk(stochastic(n), 0.0), torch.eye(n, dtype=torch.float64))


@pytest.mark.parametrize("walk_on", [0.1, 0.5, 0.9])
def test_iterating_equation_6_reaches_the_column_of_its_start(walk_on):
    edges = stochastic(17)
    walk = random_walk(edges, walk_on)
    for i in (0, 5, 16):
        r = reference.iterated_walk(edges, walk_on, i, steps=400)
        assert (walk[:, i] - r).abs().max() < 1e-12
        assert (walk[i, :] - r).abs().max() > 1e-3


@pytest.mark.parametrize("walk_on", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", SIZES)
def test_each_row_of_the_walk_on_a_row_stochastic_graph_sums_to_one(n, walk_on):
    walk = random_walk(stochastic(n), walk_on)
    assert (walk.sum(-1) - 1).abs().max() < 1e-10
    assert (walk >= 0).all()


def test_the_walk_of_two_samples_is_the_one_worked_out_by_hand():
    """E = [[3/4, 1/4], [1/2, 1/2]], c = 1/2.

    I − cE = [[5/8, −1/8], [−1/4, 3/4]], determinant 15/32 − 1/32 = 7/16, so
    (1 − c)(I − cE)⁻¹ = ½ · 16/7 · [[3/4, 1/8], [1/4, 5/8]] = [[6/7, 1/7], [2/7, 5/7]].
    """
    edges = torch.tensor([[3 / 4, 1 / 4], [1 / 2, 1 / 2]], dtype=torch.float64)
    by_hand = torch.tensor([[6 / 7, 1 / 7], [2 / 7, 5 / 7]], dtype=torch.float64)
    assert (random_walk(edges, 0.5) - by_hand).abs().max() < 1e-15


@pytest.mark.parametrize("walk_on", [0.0, 0.1, 0.5, 0.9])
def test_the_walk_passes_gradcheck(walk_on):
    assert torch.autograd.gradcheck(lambda e: random_walk(e, walk_on), stochastic(4).requires_grad_())
    several = torch.stack([stochastic(3, seed) for seed in range(2)]).requires_grad_()
    assert torch.autograd.gradcheck(lambda e: random_walk(e, walk_on), several)


@pytest.mark.parametrize("walk_on", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [1, 2, 64])
def test_the_walks_derivative_is_that_of_the_closed_form(n, walk_on):
    weights = torch.randn(n, n, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    gradients = []
    for walk in (random_walk, reference.closed_walk):
        edges = stochastic(n).requires_grad_()
        gradients.append(torch.autograd.grad((weights * walk(edges, walk_on)).sum(), edges)[0])
    assert (gradients[0] - gradients[1]).abs().max() < 1e-9 * (1 + gradients[1].abs().max())
    assert gradients[1].abs().max() > 1e-6


@pytest.mark.parametrize("form", ["authors", "paper"])
def test_a_stack_of_graphs_is_walked_as_each_alone(form):
    m = torch.stack([features(9, seed=seed) for seed in range(2)])
    sharpness = torch.tensor([3.0, 10.0], dtype=torch.float64)
    edges = graph(unit(m), sharpness[:, None, None], symmetric=form == "authors").requires_grad_()
    walk = random_walk(edges, 0.5)
    slopes = torch.autograd.grad(walk.square().sum(), edges)[0]
    for k in range(2):
        own = graph(unit(m[k]), sharpness[k], symmetric=form == "authors").requires_grad_()
        alone = random_walk(own, 0.5)
        assert (edges[k] - own).abs().max() < 1e-14
        assert (walk[k] - alone).abs().max() < 1e-14
        assert (slopes[k] - torch.autograd.grad(alone.square().sum(), own)[0]).abs().max() < 1e-13


@pytest.mark.parametrize("form", ["authors", "paper"])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_the_graph_is_the_softmax_of_cosines_diagonal_included(n, form):
    m = features(n)
    edges = graph(unit(m), 10.0, symmetric=form == "authors")
    assert (edges - reference.edges(m, 10.0, form)).abs().max() < 1e-12
    if form == "paper":
        assert (edges.sum(-1) - 1).abs().max() < 1e-12
    else:
        assert torch.equal(edges, edges.T)


def test_walks_of_many_runs_at_once_equal_a_loop():
    edges = torch.stack([stochastic(9, seed) for seed in range(4)])
    together = torch.func.vmap(lambda e: random_walk(e, 0.5))(edges)
    assert (together - torch.stack([random_walk(e, 0.5) for e in edges])).abs().max() < 1e-14
