"""SenSeI: the target's loss and how far the worst cases move the logits."""

import pytest
import torch
from torch import nn

from csad.methods.method import Encoded
from csad.methods.pieces.fair_subspace import away_from
from csad.methods.pieces.terms import label_loss
from csad.methods.sensei import START, signs
from tests.support.worst_cases import ROWS, batch_for, encoded, far_cases, made

pytestmark = pytest.mark.usefixtures("double")


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
