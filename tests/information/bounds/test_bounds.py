"""I_CS, I_JSD, MINE and InfoNCE against numbers worked out by hand, slow loops, theory and their edge cases."""

import functools
import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from csad.information import cs, jsd, mine, nce
from csad.registry import BOUNDS
from tests.support import information_reference as reference
from tests.support.messages import refused

OURS = {
    "cs sum": functools.partial(cs, pairs="sum"),
    "cs mean": functools.partial(cs, pairs="mean"),
    "jsd": jsd,
    "mine": mine,
    "nce": nce,
}
SLOW = {
    "cs sum": functools.partial(reference.cs, pairs="sum"),
    "cs mean": functools.partial(reference.cs, pairs="mean"),
    "jsd": reference.jsd,
    "mine": reference.mine,
    "nce": reference.nce,
}
# What must hold of any bound is asked of every registered one, so that a new file is tested by being there.
ANY = {**{name: BOUNDS[name] for name in BOUNDS.names()}, "cs mean": OURS["cs mean"]}
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
LN2, LN3, LN5, ROOT3 = math.log(2), math.log(3), math.log(5), math.sqrt(3)

every_bound = pytest.mark.parametrize("name", OURS)
any_bound = pytest.mark.parametrize("bound", ANY.values(), ids=ANY.keys())


def pairs(n=6, seed=0, unknown=True, dtype=torch.float64):
    """Scores and an Ω with pairs of both kinds and, if asked for, of neither."""
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(n, n, generator=generator, dtype=torch.float64)
    related = torch.randint(-1 if unknown else 0, 2, (n, n), generator=generator)
    related[0, 0], related[0, -1] = 1, 0
    return scores.to(dtype), related.to(torch.int8)


def alphas(related=1.0, other=1.0, dtype=torch.float64):
    return [torch.tensor(value, dtype=dtype, requires_grad=True) for value in (related, other)]


# -- numbers -------------------------------------------------------------------------------------------------


@every_bound
def test_two_samples_give_the_numbers_worked_out_by_hand(name):
    """s = [[ln 2, 0], [ln 3, −ln 2]], Ω the diagonal. Inside: ln 2, −ln 2. Outside: 0, ln 3.

    α = 1: Σ_Ω e^{−s} = 1/2 + 2 = 5/2, Σ_rest e^{s} = 1 + 3 = 4.
      cs sum  = −ln(1 + 5/2) − ln(1 + 4) = −ln 35/2.      cs mean = −ln(1 + 5/4) − ln(1 + 2) = −ln 27/4.
      jsd     = −½ [ln 3/2 + ln 3] − ½ [ln 2 + ln 4] = −½ ln 36 = −ln 6.
      mine    = ½ (ln 2 − ln 2) − ln(4/2) = −ln 2.
      nce     = ½ [ln(2 / (3/2)) + ln(1/2 / (7/4))] = ½ ln(4/3 · 2/7) = ½ ln 8/21.
    α = (2, ½): Σ_Ω e^{−2s} = 1/4 + 4 = 17/4, Σ_rest e^{s/2} = 1 + √3.
      cs sum  = −½ ln 21/4 − 2 ln(2 + √3).                cs mean = −ln 25/8 − ln(1 + (1 + √3)/2).
      jsd     = −½ [ln 5/4 + ln 5] − ½ [ln 2 + ln(1 + √3)].
      mine    = ½ (2 ln 2 − 2 ln 2) − ln((1 + √3)/2).
      nce     = ½ [ln(4 / (5/2)) + ln(1/4 / ((1/4 + √3)/2))].
    """
    by_hand = {
        "cs sum": (-math.log(35 / 2), -math.log(21 / 4) / 2 - 2 * math.log(2 + ROOT3)),
        "cs mean": (-math.log(27 / 4), -math.log(25 / 8) - math.log((3 + ROOT3) / 2)),
        "jsd": (-math.log(6), -math.log(25 / 4) / 2 - math.log(2 + 2 * ROOT3) / 2),
        "mine": (-math.log(2), -math.log((1 + ROOT3) / 2)),
        "nce": (math.log(8 / 21) / 2, (math.log(8 / 5) + math.log((1 / 2) / (1 / 4 + ROOT3))) / 2),
    }
    scores = torch.tensor([[LN2, 0], [LN3, -LN2]], dtype=torch.float64)
    related = torch.eye(2, dtype=torch.int8)
    plain, scaled = by_hand[name]
    assert abs(OURS[name](scores, related) - plain) < 1e-12
    assert abs(OURS[name](scores, related, scale=(2.0, 0.5)) - scaled) < 1e-12


@every_bound
def test_three_samples_with_an_unknown_pair_give_the_numbers_worked_out_by_hand(name):
    """s = [[ln 2, ln 3, 0], [ln 5, 99, 0], [0, 0, 0]], Ω = [[1, 1, 0], [0, −1, 1], [1, 1, 1]]: 99 is in neither set.

    Inside: ln 2, ln 3, 0, 0, 0, 0, so Σ e^{−s} = 1/2 + 1/3 + 4 = 29/6. Outside: 0, ln 5, so Σ e^{s} = 6.
      cs sum = −ln(35/6) − ln 7.                     cs mean = −ln(1 + 29/36) − ln(1 + 3) = −ln(65/9).
      jsd    = −1/6 [ln 3/2 + ln 4/3 + 4 ln 2] − ½ [ln 2 + ln 6] = −1/6 ln 32 − ½ ln 12.
      mine   = 1/6 (ln 2 + ln 3) − ln 3.
      nce    : row 1, against one other with e^0: ln(2 / (3/2)) and ln(3 / (4/2)); row 2, against e^{ln 5}:
               ln(1 / (6/2)); row 3 has no others, its three pairs give 0.
               Mean of six: 1/6 ln(4/3 · 3/2 · 1/3) = 1/6 ln 2/3.
    """
    by_hand = {
        "cs sum": -math.log(35 / 6) - math.log(7),
        "cs mean": -math.log(65 / 9),
        "jsd": -math.log(32) / 6 - math.log(12) / 2,
        "mine": math.log(6) / 6 - math.log(3),
        "nce": math.log(2 / 3) / 6,
    }
    scores = torch.tensor([[LN2, LN3, 0], [LN5, 99, 0], [0, 0, 0]], dtype=torch.float64)
    related = torch.tensor([[1, 1, 0], [0, -1, 1], [1, 1, 1]], dtype=torch.int8)
    assert abs(OURS[name](scores, related) - by_hand[name]) < 1e-12


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("scale", [(1.0, 1.0), (1.7, 0.6), (0.3, 4.0)])
@every_bound
def test_bounds_equal_the_slow_loop(name, scale, dtype):
    """Both precisions are held against the transcription in float64 of the same numbers."""
    for n, seed in ((2, 0), (3, 1), (9, 2), (40, 3)):
        scores, related = pairs(n, seed, dtype=dtype)
        value = OURS[name](scores, related, scale=scale)
        assert value.dtype == dtype
        assert value.shape == ()
        slow = SLOW[name](scores.double(), related, **dict(zip(("alpha_pos", "alpha_neg"), scale, strict=True)))
        assert abs(value - slow) < TOLERANCE[dtype] * max(1, abs(slow))


@pytest.mark.parametrize("dtype", TOLERANCE)
@every_bound
def test_gradients_equal_those_of_the_slow_loop(name, dtype):
    scores, related = pairs(9, dtype=dtype)
    ours, slow = (scores.to(t).requires_grad_() for t in (dtype, torch.float64))
    our_alphas, slow_alphas = alphas(1.7, 0.6, dtype), alphas(1.7, 0.6)
    gradients = torch.autograd.grad(OURS[name](ours, related, scale=tuple(our_alphas)), (ours, *our_alphas))
    expected = torch.autograd.grad(
        SLOW[name](slow, related, alpha_pos=slow_alphas[0], alpha_neg=slow_alphas[1]), (slow, *slow_alphas)
    )
    for gradient, right in zip(gradients, expected, strict=True):
        assert (gradient - right).abs().max() < TOLERANCE[dtype]


def test_nce_over_the_diagonal_is_info_nce_as_published():
    scores, _ = pairs(7)
    assert abs(nce(scores, torch.eye(7, dtype=torch.int8)) - reference.info_nce(scores)) < 1e-12


# -- the paper's lemma ---------------------------------------------------------------------------------------


@st.composite
def scores_and_masks(draw):
    n = draw(st.integers(2, 5))
    one = st.floats(-60, 60, allow_nan=False)
    scores = draw(st.lists(st.lists(one, min_size=n, max_size=n), min_size=n, max_size=n))
    row = st.lists(st.sampled_from([1, 0, -1]), min_size=n, max_size=n)
    related = torch.tensor(draw(st.lists(row, min_size=n, max_size=n)), dtype=torch.int8)
    assume((related == 1).any() and (related == 0).any())
    return torch.tensor(scores, dtype=torch.float64), related


@settings(deadline=None, max_examples=150)
@given(scores_and_masks())
def test_the_cross_sample_bound_never_exceeds_the_jensen_shannon_bound(drawn):
    """The supplement's lemma; sums lie below means, having at least one pair each. Rounding: 1e-9 of the value."""
    scores, related = drawn
    upper, middle, lower = jsd(scores, related), cs(scores, related, pairs="mean"), cs(scores, related, pairs="sum")
    slack = 1e-9 * (1 + abs(float(upper)))
    assert lower <= middle + slack
    assert middle <= upper + slack
    assert upper <= 0


@settings(deadline=None, max_examples=50)
@given(scores_and_masks(), st.floats(0.1, 5), st.floats(0.1, 5))
def test_the_lemma_holds_for_scaled_scores_too(drawn, a_related, a_other):
    scores, related = drawn
    upper = jsd(scores, related, scale=(a_related, a_other))
    assert cs(scores, related, pairs="mean", scale=(a_related, a_other)) <= upper + 1e-9 * (1 + abs(float(upper)))


def test_the_lemma_is_tight_where_all_scores_are_equal():
    _, related = pairs(6)
    same = torch.full((6, 6), 0.3, dtype=torch.float64)
    assert abs(cs(same, related, pairs="mean") - jsd(same, related)) < 1e-12


# -- scale ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.5, 3.0])
def test_sums_divide_each_logarithm_by_its_alpha_and_means_do_not(a):
    scores, related = pairs(6)
    assert abs(cs(scores, related, pairs="sum", scale=(a, a)) - cs(a * scores, related, pairs="sum") / a) < 1e-12
    for name in ("cs mean", "jsd", "mine", "nce"):
        assert abs(OURS[name](scores, related, scale=(a, a)) - OURS[name](a * scores, related)) < 1e-12


@pytest.mark.parametrize("name", ["cs sum", "cs mean", "jsd"])
def test_each_alpha_belongs_to_its_own_set(name):
    """With the outside far below, only α for related pairs matters, and the other way round."""
    scores = torch.tensor([[0.4, -900.0], [-900.0, 0.4]], dtype=torch.float64)
    related = torch.eye(2, dtype=torch.int8)
    for sign in (1, -1):
        s, omega = sign * scores, related if sign == 1 else 1 - related
        s = s if sign == 1 else torch.where(omega == 1, 900.0, 0.4)
        a_related, a_other = alphas(1.3, 0.7)
        grads = torch.autograd.grad(OURS[name](s, omega, scale=(a_related, a_other)), (a_related, a_other))
        still, moving = (grads[1], grads[0]) if sign == 1 else (grads[0], grads[1])
        assert abs(still) < 1e-12
        assert abs(moving) > 1e-2


def test_no_scale_is_a_scale_of_one():
    scores, related = pairs(6)
    for bound in ANY.values():
        assert torch.equal(bound(scores, related), bound(scores, related, scale=(1.0, 1.0)))


# -- derivatives and symmetry --------------------------------------------------------------------------------


@any_bound
def test_bounds_pass_gradcheck_through_scores_and_scales(bound):
    scores, related = pairs(5)
    inputs = (scores.requires_grad_(), *alphas(1.3, 0.7))
    assert torch.autograd.gradcheck(lambda s, p, n: bound(s, related, scale=(p, n)), inputs)


@any_bound
def test_bounds_do_not_see_the_order_of_the_batch(bound):
    scores, related = pairs(8)
    order = torch.randperm(8, generator=torch.Generator().manual_seed(1))
    permuted = bound(scores[order][:, order], related[order][:, order])
    assert abs(permuted - bound(scores, related)) < 1e-12


@any_bound
def test_bounds_rise_when_related_pairs_score_more_and_others_less(bound):
    scores, related = pairs(8, unknown=False)
    scores.requires_grad_()
    (gradient,) = torch.autograd.grad(bound(scores, related), scores)
    assert (gradient[related == 1] >= 0).all()
    assert (gradient[related == 0] <= 0).all()
    assert gradient[related == 1].max() > 0
    assert gradient[related == 0].min() < 0


# -- edges ---------------------------------------------------------------------------------------------------

ONE_SET = {
    "no pair related": torch.zeros(4, 4),
    "every pair related": torch.ones(4, 4),
    "every pair unknown": -torch.ones(4, 4),
    "one sample, related": torch.ones(1, 1),
    "one sample, not related": torch.zeros(1, 1),
    "one sample, unknown": -torch.ones(1, 1),
    "related or unknown": torch.eye(4) * 2 - 1,
    "other or unknown": -torch.eye(4),
}


@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("case", ONE_SET)
@any_bound
def test_without_two_sets_to_tell_apart_the_value_is_finite_and_nothing_moves(bound, case, dtype, size):
    related = ONE_SET[case].to(torch.int8)
    n = len(related)
    scores = (size * torch.linspace(-1, 1, n * n, dtype=dtype).reshape(n, n)).requires_grad_()
    scale = alphas(1.3, 0.7, dtype)
    value = bound(scores, related, scale=tuple(scale))
    assert value.isfinite()
    for gradient in torch.autograd.grad(value, (scores, *scale)):
        assert torch.equal(gradient, torch.zeros_like(gradient))


@any_bound
def test_unknown_pairs_change_neither_value_nor_gradient(bound):
    scores, related = pairs(8)
    neither = related == -1
    assert neither.any()
    results = []
    for filling in (scores, 0.0, 1e4, -1e4):
        filled = torch.where(neither, filling, scores).requires_grad_()
        scale = alphas(1.3, 0.7)
        value = bound(filled, related, scale=tuple(scale))
        results.append((value, *torch.autograd.grad(value, (filled, *scale))))
    for value, gradient, *scale_gradients in results:
        assert torch.equal(value, results[0][0])
        assert torch.equal(gradient, results[0][1])
        assert (gradient[neither] == 0).all()
        assert all(torch.equal(a, b) for a, b in zip(scale_gradients, results[0][2:], strict=True))


@any_bound
def test_a_mask_of_truth_values_is_a_mask_of_ones_and_zeros(bound):
    scores, related = pairs(8, unknown=False)
    assert torch.equal(bound(scores, related == 1), bound(scores, related))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("pattern", ["all high", "all low", "right", "wrong", "mixed"])
@any_bound
def test_extreme_scores_stay_finite_with_finite_gradients(bound, pattern, dtype):
    _, related = pairs(6, dtype=dtype)
    sign = {
        "all high": torch.ones(6, 6),
        "all low": -torch.ones(6, 6),
        "right": related.sign() * 2 - 1,
        "wrong": 1 - related.sign() * 2,
        "mixed": torch.where(torch.arange(36).reshape(6, 6) % 2 == 0, 1, -1),
    }[pattern]
    scores = (1e4 * sign.to(dtype)).requires_grad_()
    scale = alphas(1.3, 0.7, dtype)
    value = bound(scores, related, scale=tuple(scale))
    assert value.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(value, (scores, *scale)))


def test_an_unknown_form_is_refused_with_the_known_ones():
    with refused("misspelled-name", name="means", nearest="mean", known="mean, sum"):
        cs(*pairs(), pairs="means")


# -- mutual information --------------------------------------------------------------------------------------


def gaussian_ratio(n, rho, dimensions, generator):
    """log p(x, z) / p(x)p(z) of every x with every z, for n jointly Gaussian pairs: the best critic there is."""
    x = torch.randn(n, dimensions, generator=generator, dtype=torch.float64)
    z = rho * x + math.sqrt(1 - rho**2) * torch.randn(n, dimensions, generator=generator, dtype=torch.float64)
    x, z = x[:, None], z[None, :]
    exponent = (rho**2 * (x**2 + z**2) - 2 * rho * x * z) / (2 * (1 - rho**2))
    return (-exponent - math.log(1 - rho**2) / 2).sum(-1)


@pytest.mark.parametrize("rho, dimensions", [(0.0, 1), (0.5, 1), (0.8, 1), (0.6, 3)])
@pytest.mark.parametrize("bound", [mine, nce])
def test_with_the_best_critic_the_estimate_is_near_the_true_information(bound, rho, dimensions):
    """I = −d/2 ln(1 − ρ²): 0, .144, .511, .669 nats. 32 batches of 256, seed 0; within .03 nats.

    The standard deviation of ln p/pp per pair is ρ√d (at most 1.04), so that of a mean of 8,192 pairs is below .012.
    """
    truth = -dimensions / 2 * math.log(1 - rho**2)
    generator = torch.Generator().manual_seed(0)
    diagonal = torch.eye(256, dtype=torch.int8)
    batches = [bound(gaussian_ratio(256, rho, dimensions, generator), diagonal) for _ in range(32)]
    assert abs(torch.stack(batches).mean() - truth) < 0.03


@pytest.mark.parametrize("a", [0.1, 1.0, 20.0])
def test_with_one_alpha_scores_that_are_all_alike_hold_no_information(a):
    """0 nats for mine and nce; for jsd and cs at most −2 ln 2, what a critic that always says 0 gets."""
    _, related = pairs(6)
    for level in (-3.0, 0.0, 1.0):
        scores = torch.full((6, 6), level, dtype=torch.float64)
        assert abs(mine(scores, related, scale=(a, a))) < 1e-12
        assert abs(nce(scores, related, scale=(a, a))) < 1e-12
        assert jsd(scores, related, scale=(a, a)) <= -2 * LN2 + 1e-12
        assert cs(scores, related, pairs="mean", scale=(a, a)) <= -2 * LN2 + 1e-12


def test_nce_says_less_where_there_is_more_than_it_can_hold():
    """ρ = .99 in 4 dimensions holds 7.8 nats; 64 samples can show ln 64 = 4.16 at most."""
    scores = gaussian_ratio(64, 0.99, 4, torch.Generator().manual_seed(0))
    value = nce(scores, torch.eye(64, dtype=torch.int8))
    assert 3.5 < value <= math.log(64)


@settings(deadline=None, max_examples=60)
@given(scores_and_masks())
def test_nce_never_exceeds_the_logarithm_of_the_batch(drawn):
    scores, related = drawn
    assert nce(scores, related) <= math.log(len(scores)) + 1e-12


# -- many runs -----------------------------------------------------------------------------------------------


@any_bound
def test_bounds_of_many_runs_at_once_equal_a_loop(bound):
    """One of the four runs has no related pair at all."""
    scores, related = (torch.stack(part) for part in zip(*(pairs(6, seed) for seed in range(4)), strict=True))
    related[3] = 0
    scale = torch.tensor([[1.0, 1.0], [2.0, 0.5], [0.3, 3.0], [1.5, 1.5]], dtype=torch.float64)

    def one(s, r, a):
        return bound(s, r, scale=(a[0], a[1]))

    def descent(s, r, a):
        return torch.func.grad(one, argnums=(0, 2))(s, r, a)

    runs = list(zip(scores, related, scale, strict=True))
    together = torch.func.vmap(one)(scores, related, scale)
    assert (together - torch.stack([one(*run) for run in runs])).abs().max() < 1e-12
    gradients = torch.func.vmap(descent)(scores, related, scale)
    for gradient, loop in zip(gradients, zip(*(descent(*run) for run in runs), strict=True), strict=True):
        assert (gradient - torch.stack(loop)).abs().max() < 1e-12
        assert (gradient[3] == 0).all()


@any_bound
def test_many_runs_may_share_one_mask(bound):
    scores = torch.stack([pairs(6, seed)[0] for seed in range(3)])
    _, related = pairs(6)
    together = torch.func.vmap(bound, in_dims=(0, None))(scores, related)
    assert (together - torch.stack([bound(s, related) for s in scores])).abs().max() < 1e-12
