"""SenSR: the target's loss at the worst cases."""

import pytest
import torch

from csad.data.samples import Batch, Classes, Number
from csad.methods.method import Encoded
from csad.methods.pieces.terms import label_loss
from tests.support.worst_cases import ROWS, batch_for, encoded, far_cases, made

pytestmark = pytest.mark.usefixtures("double")


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
    assert method.diagnose("target", curves) == []
    [advice] = method.diagnose("debias", curves)
    assert "epsilon" in advice
    assert "debias_weight" not in advice
