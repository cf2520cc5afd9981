"""CSAD within classes: what h_y tells of h_b where y is the same."""

import pytest
import torch

from csad.data.samples import Classes, Number
from tests.support.messages import refused
from tests.support.steps_by_hand import of_task


@pytest.fixture
def both(encoded):
    """CSAD as ever and within classes, with the same weights, and a mini-batch with gradient."""
    (plain, e), (within, _) = (encoded("csad", pairs="mean", within_classes=chosen) for chosen in (False, True))
    return plain, within, e


def test_a_mini_batch_of_one_class_is_measured_as_ever(both):
    plain, within, e = both
    e = e._replace(y=torch.ones_like(e.y))
    assert torch.equal(plain.shared_information(e), within.shared_information(e))


def test_only_pairs_of_one_class_are_counted(both):
    plain, within, e = both
    e = e._replace(b=torch.stack([torch.arange(16) % 2, torch.arange(16) // 4 % 3], 1))
    scores = within.M.scale()[0] * within.M(within.D_y(e.h), within.D_b(e.h))
    pairs = [(i, j) for i in range(16) for j in range(16) if e.y[i] == e.y[j]]
    alike = [torch.exp(-scores[i, j]) for i, j in pairs if torch.equal(e.b[i], e.b[j])]
    others = [torch.exp(scores[i, j]) for i, j in pairs if not torch.equal(e.b[i], e.b[j])]
    by_hand = -torch.log1p(torch.stack(alike).mean()) - torch.log1p(torch.stack(others).mean())
    torch.testing.assert_close(within.shared_information(e), by_hand)
    assert not torch.isclose(plain.shared_information(e), by_hand)


def test_where_y_gives_b_away_nothing_moves(both):
    plain, within, e = both
    e = e._replace(b=e.y[:, None].expand(-1, 2))
    slopes = [
        torch.autograd.grad(method.shared_information(e), e.h, retain_graph=True)[0] for method in (plain, within)
    ]
    assert slopes[0].any()
    assert not slopes[1].any()


def test_a_target_of_numbers_has_no_classes():
    x, y, b = torch.randn(8, 3), torch.randn(8), torch.arange(8)[:, None] % 2
    with refused("within-classes-needs-classes"):
        of_task("csad", Number(), (Classes(2),), x, y, b, within_classes=True)
