"""Zhang: the adversary's loss by hand, and each step against the gradients it is made of."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import grad

from csad.data.samples import Classes, Number
from csad.methods.zhang import Adversary, off_and_against
from csad.training.iterate import descend
from csad.training.optimizers import Optimizers
from csad.training.stacking import Alone
from tests.support.messages import refused
from tests.support.steps_by_hand import PARTS, TWO, weights


def stepped(method, update, e, rate=0.5):
    """How far the update's parts go in one plain step of this rate, weight by weight, divided by it."""
    moved = weights(method, *update.moves)
    before = [w.detach().clone() for w in moved]
    value = descend(
        Alone(method), update, e, Optimizers(Alone(method).weights, "sgd", 0.0), torch.tensor(rate).double()
    )
    return [(was - now.detach()) / rate for was, now in zip(before, moved, strict=True)], value


def test_the_targets_gradient_loses_its_part_along_the_adversarys_by_hand():
    # Along (0, 1) the target's (3, 4) has 4; the adversary's (0, 2) goes against it with a weight of 1/2.
    target, adversary = torch.tensor([3.0, 4.0]), torch.tensor([0.0, 2.0])
    assert off_and_against(target, -0.5 * adversary).tolist() == [3.0, -1.0]
    # Along (3, 4) / 5 a gradient of (5, 0) has 3: what is left is (5, 0) − 3/5 · (3, 4), whatever the weight.
    left = torch.tensor([5 - 9 / 5, -12 / 5])
    for weight in (1.0, 1e-3):
        found = off_and_against(torch.tensor([5.0, 0.0]), -weight * torch.tensor([3.0, 4.0]))
        assert torch.allclose(found, left - weight * torch.tensor([3.0, 4.0]))


def test_with_nothing_from_the_adversary_the_gradient_is_the_targets():
    target = torch.tensor([[3.0, 4.0]])
    for nothing in (torch.zeros(1, 2), -0.0 * torch.ones(1, 2)):
        assert torch.equal(off_and_against(target, nothing), target)


def test_the_adversary_sees_the_sharpened_prediction_beside_the_target_by_hand():
    A = Adversary(TWO, [Classes(3)])
    # Odds of 1 : 3, and with c = 1 twice the logits: 1 : 9. The paper's s = .9; s · y and s · (1 − y) are .9 and 0 or
    # 0 and .9; then the same of 1 − s, in the order (s_0 y_0, s_0 y_1, s_1 y_0, s_1 y_1).
    out, y = torch.tensor([[0.0, math.log(3)]] * 2), torch.tensor([1, 0])
    wanted = torch.tensor([[0.1, 0.9, 0, 0.1, 0, 0.9], [0.1, 0.9, 0.1, 0, 0.9, 0]])
    assert torch.allclose(A.inputs(out, y), wanted)
    with torch.no_grad():
        A.c.fill_(-2.0)  # |c|: three times the logits, 1 : 27
    assert torch.allclose(A.inputs(out, y)[:, :2], torch.tensor([[1 / 28, 27 / 28]] * 2))
    assert [tuple(o.shape) for o in A(out, y)] == [(2, 3)]


def test_of_a_number_the_adversary_sees_the_prediction_and_the_target():
    A = Adversary(Number(), [TWO, Number()])
    assert A.inputs(torch.tensor([[2.0], [3.0]]), torch.tensor([5.0, 7.0])).tolist() == [[2, 5], [3, 7]]
    assert [tuple(o.shape) for o in A(torch.ones(4, 1), torch.ones(4))] == [(4, 2), (4, 1)]


def test_the_adversarys_loss_by_hand(encoded):
    method, e = encoded("zhang")
    out = method.P_y(method.D_y(e.h)).detach().numpy()
    y, b = e.y.numpy(), e.b.numpy()
    odds = np.exp(2 * out)
    s = odds / odds.sum(1, keepdims=True)
    seen = np.concatenate([s, np.stack([s[:, i] * (y == j) for i in range(2) for j in range(2)], 1)], 1)
    losses = []
    for k, layer in enumerate(linear for head in method.A.heads.heads for linear in head):
        logits = seen @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        losses.append(-np.log(p[np.arange(16), b[:, k]]).mean())
    assert method.adversary_loss(e).item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_zhangs_step_is_the_joined_gradient_weight_by_weight(encoded):
    method, e = encoded("zhang", debias_weight=0.7)
    predict, read_bias = method.schedule()[-1].updates
    assert (predict.moves, read_bias.moves) == (PARTS, ("A",))
    losses = method.target_loss(e), method.adversary_loss(e)
    each = [grad(loss, weights(method, *PARTS), retain_graph=True) for loss in losses]
    moved, value = stepped(method, predict, e)
    assert value.item() == pytest.approx((losses[0] - 0.7 * losses[1]).item(), abs=1e-6)  # the log says what falls
    for found, of_target, of_adversary in zip(moved, *each, strict=True):
        g_y, g_a = of_target.double().numpy(), of_adversary.double().numpy()
        unit = g_a / np.linalg.norm(g_a)
        assert np.linalg.norm(g_a) > 1e-6
        assert np.allclose(found.numpy(), g_y - (g_y * unit).sum() * unit - 0.7 * g_a, atol=1e-6)


def test_without_weight_zhangs_step_is_the_plain_one(encoded):
    method, e = encoded("zhang", debias_weight=0.0)
    plain = grad(method.target_loss(e), weights(method, *PARTS), retain_graph=True)
    moved, _ = stepped(method, method.schedule()[-1].updates[0], e)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(moved, plain, strict=True))


def test_the_adversary_goes_downhill_on_the_bias_its_sharpness_too(encoded):
    method, e = encoded("zhang")
    plain = grad(method.adversary_loss(e), weights(method, "A"), retain_graph=True)
    moved, _ = stepped(method, method.schedule()[-1].updates[1], e)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(moved, plain, strict=True))
    assert all(one.abs().max() > 1e-6 for one in moved)
    assert dict(method.A.named_parameters())["c"].numel() == 1


def test_zhang_works_against_the_biases_that_are_named(encoded):
    method, e = encoded("zhang", biases=("region",))
    assert [head[0].out_features for head in method.A.heads.heads] == [3]
    other = e._replace(b=torch.stack([1 - e.b[:, 0], e.b[:, 1]], 1))
    assert torch.equal(method.adversary_loss(e), method.adversary_loss(other))
    other = e._replace(b=torch.stack([e.b[:, 0], 2 - e.b[:, 1]], 1))
    assert not torch.equal(method.adversary_loss(e), method.adversary_loss(other))
    with refused("misspelled-name", kind="bias", name="regoin", nearest="region"):
        encoded("zhang", biases=("regoin",))


def test_without_a_known_bias_zhangs_step_is_the_plain_one(encoded):
    method, e = encoded("zhang")
    e = e._replace(b=torch.full_like(e.b, -1))
    plain = grad(method.target_loss(e), weights(method, *PARTS), retain_graph=True)
    moved, _ = stepped(method, method.schedule()[-1].updates[0], e)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(moved, plain, strict=True))
