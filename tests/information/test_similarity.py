"""Content, structure and joint similarity in both forms against the transcription (Zhu et al., Eq. 3, 8, 9)."""

import functools
import math

import pytest
import torch
from torch import nn

from csad.information import Similarity
from csad.information.similarity import structure
from tests.support import information_reference as reference
from tests.support.messages import refused

FORMS = ("authors", "paper")
KINDS = ("content", "structure", "joint")
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
every_form_and_kind = pytest.mark.parametrize("form, kind", [(form, kind) for form in FORMS for kind in KINDS])


def outputs(n, width=16, seed=0):
    """What two untrained nets M_y and M_b say of n samples, in float64."""
    torch.manual_seed(seed)
    nets = [nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(), nn.Linear(64, width)).double() for _ in range(2)]
    with torch.no_grad():
        return [net(torch.randn(n, 32, dtype=torch.float64)) for net in nets]


@functools.cache
def slow_part(form, kind, n):
    return reference.similarity(*rounded(n), 10.0, 7.0, form, kind)


def rounded(n):
    """Features that float32 holds exactly, in float64, so that both precisions start from the same numbers."""
    return [m.float().double() for m in outputs(n)]


@pytest.mark.parametrize("n", [1, 2, 17, 128])
@pytest.mark.parametrize("form", FORMS)
def test_scores_equal_the_transcription_in_every_kind(form, n):
    """Both precisions are held against the transcription in float64."""
    for kind in KINDS:
        slow = sum(slow_part(form, part, n) for part in KINDS[:2]) if kind == "joint" else slow_part(form, kind, n)
        for dtype, tolerance in TOLERANCE.items():
            scores = Similarity(form, kind)(*(m.to(dtype) for m in rounded(n)), (10.0, 7.0))
            assert scores.shape == (n, n)
            assert scores.dtype == dtype
            assert (scores - slow).abs().max() < tolerance


@pytest.mark.parametrize("walk_on", [0.0, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("form", FORMS)
def test_scores_equal_the_transcription_for_other_lengths_of_the_walk(form, walk_on):
    m_y, m_b = outputs(17)
    scores = Similarity(form, "joint", walk_on)(m_y, m_b, (10.0, 7.0))
    assert (scores - reference.similarity(m_y, m_b, 10.0, 7.0, form, "joint", walk_on)).abs().max() < 1e-9


def test_the_two_forms_differ_in_the_structure_and_only_there():
    m_y, m_b = outputs(17)
    authors, paper = ({kind: Similarity(form, kind)(m_y, m_b, (10.0, 10.0)) for kind in KINDS} for form in FORMS)
    assert torch.equal(authors["content"], paper["content"])
    assert (authors["structure"] - paper["structure"]).abs().max() > 1e-2


@every_form_and_kind
def test_two_samples_give_the_numbers_worked_out_by_hand(form, kind):
    """N = 2, τ = ln 3 for both graphs, c = ½.

    M_y = (2, 0), (0, 5): unit vectors at a right angle, cosines 1 and 0, e^{τ·1} = 3 and e^{τ·0} = 1, so
    E_y = [[3/4, 1/4], [1/4, 3/4]]. M_b = (1, 0), (3, 0): the same direction, E_b = [[1/2, 1/2], [1/2, 1/2]].
    Both are symmetric, so the first and the second symmetrising change nothing.
    I − E_y/2 = [[5/8, −1/8], [−1/8, 5/8]], determinant 24/64 = 3/8, half its inverse is ½ · 8/3 · [[5/8, 1/8], …]
      = [[5/6, 1/6], [1/6, 5/6]] = r_y, rows and columns summing to one.
    I − E_b/2 = [[3/4, −1/4], [−1/4, 3/4]], determinant 1/2, half its inverse is [[3/4, 1/4], [1/4, 3/4]] = r_b.
    Content: u_1 = (1, 0), u_2 = (0, 1), v_1 = v_2 = (1, 0), so s_c = [[1, 1], [0, 0]].
    Structure: r_y_1 · log r_b_1 = 5/6 ln 3/4 + 1/6 ln 1/4 =: A (the same for i = j = 2),
      r_y_1 · log r_b_2 = 5/6 ln 1/4 + 1/6 ln 3/4 =: B (the same for 2, 1),
      r_b_1 · log r_y_1 = 3/4 ln 5/6 + 1/4 ln 1/6 =: C, r_b_1 · log r_y_2 = 3/4 ln 1/6 + 1/4 ln 5/6 =: D,
      s_s = ½ [[A + C, B + D], [B + D, A + C]]: symmetric, so the transposed second term changes nothing either.
    In numbers A = −.47078, B = −1.20319, C = −.58468, D = −1.38940: s_s = [[−.52773, −1.29630], …]. The 1e-7 inside
    the logs moves them by at most 1e-7 · Σ r/r' < 1e-6.
    """
    m_y = torch.tensor([[2.0, 0.0], [0.0, 5.0]], dtype=torch.float64)
    m_b = torch.tensor([[1.0, 0.0], [3.0, 0.0]], dtype=torch.float64)
    same, other = -0.52773, -1.29630
    by_hand = {
        "content": torch.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=torch.float64),
        "structure": torch.tensor([[same, other], [other, same]], dtype=torch.float64),
        "joint": torch.tensor([[1 + same, 1 + other], [other, same]], dtype=torch.float64),
    }
    scores = Similarity(form, kind)(m_y, m_b, (math.log(3), math.log(3)))
    assert (scores - by_hand[kind]).abs().max() < 1e-5


def test_the_second_term_of_equation_8_is_transposed_in_the_authors_form_alone():
    """Both forms of Eq. 8 from r_y and r_b that are neither symmetric nor equal.

    r_y_1 = (1/2, 1/2), r_y_2 = (1/4, 3/4), r_b_1 = (1, 0), r_b_2 = (1/2, 1/2). Of entry (1, 2):
    first term r_y_1 · log r_b_2 = ln ½; printed second term r_b_2 · log r_y_1 = ln ½, so the paper has ln ½ = −.6931;
    the authors' second term r_b_1 · log r_y_2 = ln ¼, so the authors have ½ (ln ½ + ln ¼) = −1.0397.
    """
    r_y = torch.tensor([[1 / 2, 1 / 2], [1 / 4, 3 / 4]], dtype=torch.float64)
    r_b = torch.tensor([[1, 0], [1 / 2, 1 / 2]], dtype=torch.float64)
    assert abs(structure(torch.stack([r_y, r_b]), transposed=False)[0, 1] - math.log(1 / 2)) < 1e-6
    assert abs(structure(torch.stack([r_y, r_b]), transposed=True)[0, 1] - 1.5 * math.log(1 / 2)) < 1e-6


@every_form_and_kind
def test_permuting_the_batch_permutes_the_scores(form, kind):
    m_y, m_b = outputs(17)
    order = torch.randperm(17, generator=torch.Generator().manual_seed(3))
    similarity = Similarity(form, kind)
    straight = similarity(m_y, m_b, (10.0, 7.0))
    permuted = similarity(m_y[order], m_b[order], (10.0, 7.0))
    assert (permuted - straight[order][:, order]).abs().max() < 1e-12


@every_form_and_kind
def test_the_length_of_a_feature_does_not_matter(form, kind):
    m_y, m_b = outputs(5)
    longer = torch.tensor([[0.1], [1.0], [3.0], [10.0], [1e3]], dtype=torch.float64)
    similarity = Similarity(form, kind)
    assert (similarity(m_y * longer, m_b, (10.0, 7.0)) - similarity(m_y, m_b, (10.0, 7.0))).abs().max() < 1e-12


@every_form_and_kind
def test_scores_pass_gradcheck_through_features_and_sharpness(form, kind):
    m_y, m_b = (m.requires_grad_() for m in outputs(5, width=3))
    tau = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (3.0, 2.0)]
    similarity = Similarity(form, kind)
    assert torch.autograd.gradcheck(lambda y, b, s, t: similarity(y, b, (s, t)), (m_y, m_b, *tau))


@pytest.mark.parametrize("n", [1, 2, 17])
@every_form_and_kind
def test_content_lies_within_one_and_structure_not_above_zero(form, kind, n):
    """The 1e-7 inside the logs may lift the structure above zero by that much."""
    scores = Similarity(form, kind)(*outputs(n), (10.0, 10.0))
    lowest, highest = {"content": (-1, 1), "structure": (math.log(1e-7), 0), "joint": (math.log(1e-7) - 1, 1)}[kind]
    assert scores.min() >= lowest - 2e-7
    assert scores.max() <= highest + 2e-7


@pytest.mark.parametrize("dtype", TOLERANCE)
@every_form_and_kind
def test_rows_of_zeros_stay_finite(form, kind, dtype):
    m_y, m_b = (m.to(dtype) for m in outputs(6))
    m_y[0], m_b[:] = 0, 0
    m_y.requires_grad_(), m_b.requires_grad_()
    scores = Similarity(form, kind)(m_y, m_b, (10.0, 10.0))
    gradients = torch.autograd.grad(scores.sum(), (m_y, m_b))
    assert scores.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    if kind == "content":
        assert torch.equal(scores, torch.zeros_like(scores))


@pytest.mark.parametrize("sharpness", [0.0, 1e-3, 100.0, 1e4])
@every_form_and_kind
def test_any_sharpness_stays_finite_in_float32(form, kind, sharpness):
    m_y, m_b = (m.float().requires_grad_() for m in outputs(17))
    scores = Similarity(form, kind)(m_y, m_b, (sharpness, sharpness))
    gradients = torch.autograd.grad(scores.sum(), (m_y, m_b))
    assert scores.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients)


@every_form_and_kind
def test_scores_of_many_runs_at_once_equal_a_loop(form, kind):
    m_y, m_b = (torch.stack(m) for m in zip(*(outputs(9, seed=seed) for seed in range(3)), strict=True))
    tau = torch.tensor([[10.0, 7.0], [1.0, 2.0], [20.0, 5.0]], dtype=torch.float64)
    similarity = Similarity(form, kind)
    together = torch.func.vmap(lambda y, b, t: similarity(y, b, (t[0], t[1])))(m_y, m_b, tau)
    loop = torch.stack([similarity(y, b, (t[0], t[1])) for y, b, t in zip(m_y, m_b, tau, strict=True)])
    assert (together - loop).abs().max() < 1e-12


@pytest.mark.parametrize("form, walk_on", [("authors", 0.61), ("authors", -0.1), ("paper", 1.0), ("paper", -0.1)])
def test_a_walk_without_an_end_is_refused_in_one_sentence(form, walk_on):
    with refused("walk-on-out-of-range"):
        Similarity(form, walk_on=walk_on)


def test_not_a_number_is_no_walk():
    with refused("walk-on-out-of-range"):
        Similarity(walk_on=math.nan)


def test_unknown_forms_and_kinds_are_refused_with_the_nearest_name():
    with refused("misspelled-name", name="autors", nearest="authors", known="authors, paper"):
        Similarity(form="autors")
    with refused("misspelled-name", name="struct", nearest="structure"):
        Similarity(kind="struct")
