"""Alvi, Kim and Ragonesi: each loss by hand, and each step against the gradients it is made of."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.autograd import grad

from csad.data.samples import Classes, Number
from csad.methods.method import Encoded
from csad.methods.pieces.terms import as_inputs, confusion, entropy
from csad.methods.ragonesi import no_longer_than
from csad.runs.build import build, plan_run, read_dataset
from csad.training.iterate import descend
from csad.training.optimizers import Optimizers
from csad.training.stacking import Alone
from tests.support.messages import Refusal, refused

NAN = float("nan")


@pytest.fixture
def encoded(make):
    """A method on the toy table and one mini-batch of it, encoded with gradient."""

    def made(name, **settings):
        dataset, method = make("toy-table", name, **settings)
        train = dataset.train
        rows = torch.arange(16)
        h = method.F(dataset.view(train.x[rows]))
        return method, Encoded(h, train.y[rows], train.b[rows], rows)

    return made


def weights(method, part):
    return list(getattr(method, part).parameters())


@pytest.mark.parametrize(
    ("name", "setting", "value", "refusal"),
    [
        *(
            (name, "debias_weight", -0.1, Refusal("negative-setting", setting="debias_weight", value=-0.1))
            for name in ("alvi", "kim", "ragonesi", "csad")
        ),
        ("kim", "entropy_weight", -1, Refusal("negative-setting", setting="entropy_weight", value=-1.0)),
        *((name, "inner_steps", 0, Refusal("inner-steps-below-one", steps=0)) for name in ("alvi", "ragonesi", "csad")),
    ],
)
def test_a_weight_below_zero_or_no_step_at_all_is_refused(make, name, setting, value, refusal):
    with refused(refusal):
        make("toy-table", name, **{setting: value})


# Alvi


def test_confusion_by_hand():
    # Odds 1 : 3 in one column, all alike in the other: (log 4 + log 4/3) / 2 and log 2.
    outs = [torch.tensor([[0.0, math.log(3)]]), torch.zeros(1, 2)]
    assert confusion(outs).item() == pytest.approx(((math.log(4) + math.log(4 / 3)) / 2 + math.log(2)) / 2)


def test_confusion_is_least_and_flat_where_all_classes_are_alike():
    alike = torch.full((3, 5), 0.7, requires_grad=True)
    assert confusion([alike]).item() == pytest.approx(math.log(5))
    assert grad(confusion([alike]), alike)[0].abs().max() < 1e-7
    assert confusion([alike.detach() + torch.randn(3, 5)]) > math.log(5)


def test_alvis_step_is_target_and_weighted_confusion_and_the_branch_stays(encoded):
    method, e = encoded("alvi", debias_weight=2.5)
    step = method.schedule()[-1].updates[0]
    assert step.moves == ("F", "D_y", "P_y")
    by_hand = method.target_loss(e) + 2.5 * confusion(method.P_b(method.D_b(e.h)))
    assert torch.equal(step.loss(e), by_hand)
    assert method.schedule()[-1].updates[1].moves == ("D_b", "P_b")


def test_alvi_wants_classes(make):
    dataset, _ = make("toy-table", "alvi")
    ages = replace(dataset.task, biases=(Classes(2), Number()))
    _, plan = plan_run(dataset, "alvi", {}, "", read_dataset)
    with refused("alvi-needs-class-biases"):
        build(ages, "alvi", plan, 0)


# Kim


def test_entropy_by_hand():
    # p = (1/4, 3/4) in one column, all alike in the other.
    outs = [torch.tensor([[0.0, math.log(3)]]), torch.zeros(1, 2)]
    one = 0.25 * math.log(4) + 0.75 * math.log(4 / 3)
    assert entropy(outs).item() == pytest.approx((one + math.log(2)) / 2)


def test_kims_first_step_is_the_target_less_the_entropy(encoded):
    method, e = encoded("kim", entropy_weight=0.3)
    step, other = method.schedule()[-1].updates
    assert (step.moves, other.moves) == (("F", "D_y", "P_y"), ("F", "D_b", "P_b"))
    by_hand = method.target_loss(e) - 0.3 * entropy(method.P_b(method.D_b(e.h)))
    assert torch.equal(step.loss(e), by_hand)


def test_kims_second_step_turns_the_gradient_round_for_f_alone(encoded):
    method, e = encoded("kim", debias_weight=0.4)
    own, plain = method.reversed_bias_loss(e), method.bias_loss(e)
    assert own.item() == pytest.approx(plain.item(), abs=1e-6)
    for part, factor in (("F", -0.4), ("D_b", 1.0), ("P_b", 1.0)):
        found, expected = (grad(loss, weights(method, part), retain_graph=True) for loss in (own, plain))
        assert any(value.abs().max() > 1e-4 for value in expected)
        for one, other in zip(found, expected, strict=True):
            assert torch.allclose(one, factor * other, atol=1e-6)


def test_kim_takes_numbers_as_well(encoded):
    method, e = encoded("kim")
    method.task = replace(method.task, biases=(Number(),) * len(method.task.biases))
    assert torch.equal(method.unsure_loss(e), method.target_loss(e))  # a number has no entropy


# Ragonesi


def test_the_gradient_of_the_information_is_cut_but_never_stretched():
    task, information = torch.tensor([3.0, 4.0]), torch.tensor([0.0, 20.0])
    assert torch.equal(no_longer_than(task, information), torch.tensor([0.0, 5.0]))
    assert torch.equal(no_longer_than(information, task), task)
    assert torch.equal(no_longer_than(task, torch.zeros(2)), torch.zeros(2))


def test_labels_as_inputs_by_hand():
    kinds = (Classes(3), Number())
    b = torch.tensor([[2.0, 0.5], [0.0, NAN], [NAN, 7.0]])
    assert as_inputs(b, kinds, torch.float64).tolist() == [[0, 0, 1, 0.5], [1, 0, 0, 0], [0, 0, 0, 7]]
    assert as_inputs(torch.tensor([[1], [-1]]), kinds[:1], torch.float32).tolist() == [[0, 1, 0], [0, 0, 0]]


class Product(nn.Module):
    """A critic that can be reckoned by hand: h_y (one number) times the class."""

    def forward(self, x):
        return (x[:, :1] * (x[:, 2:] @ torch.tensor([[1.0], [2.0]]))).reshape(-1, 1)


def test_mines_value_by_hand(encoded):
    method, _ = encoded("ragonesi")
    method.D_y, method.M = nn.Identity(), Product()
    method.task = replace(method.task, biases=(Classes(3),))
    h, b = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[1], [2], [1]])
    # Own labels: 1·1, 2·2, 3·1. Those of the row before (the first has the last one's): 1·1, 2·1, 3·2.
    expected = (1 + 4 + 3) / 3 - math.log((math.exp(1) + math.exp(2) + math.exp(6)) / 3)
    assert method.information(Encoded(h, b[:, 0], b, b[:, 0])).item() == pytest.approx(expected, rel=1e-6)
    # With the second label unknown its own row is left out, and the third one's pair with it.
    b = torch.tensor([[1], [-1], [1]])
    expected = (1 + 3) / 2 - math.log((math.exp(1) + math.exp(2)) / 2)
    assert method.information(Encoded(h, b[:, 0], b, b[:, 0])).item() == pytest.approx(expected, rel=1e-6)


def test_mine_without_a_known_label_is_zero_and_moves_nothing(encoded):
    method, e = encoded("ragonesi")
    value = method.information(e._replace(b=torch.full_like(e.b, -1)))
    assert value == 0
    assert all(not g.any() for g in grad(value, weights(method, "M")))


def test_the_information_is_undone_at_lambda_times_the_rate_by_an_adam_of_its_own(encoded):
    method, e = encoded("ragonesi", debias_weight=0.25)
    _, undo, often = method.schedule()[-1].updates
    assert (undo.optimizer, often.batch, often.repeat) == ("information", "fresh", 40)
    before = [w.clone() for w in weights(method, "F")]
    target, information = undo.loss(e)
    of_target, of_information = (grad(loss, weights(method, "F"), retain_graph=True) for loss in (target, information))
    optimizers = Optimizers(Alone(method).weights, "adam", 0.0)
    descend(Alone(method), undo, e, optimizers, torch.tensor(1e-2, dtype=torch.float64))
    assert set(optimizers.by_part) == {("F", "information"), ("D_y", "information")}
    for was, now, one, other in zip(before, weights(method, "F"), of_target, of_information, strict=True):
        sure = no_longer_than(one, other).abs() > 1e-5  # Adam's first step is rate · sign, but for tiny gradients
        assert torch.allclose((was - now)[sure], 0.25 * 1e-2 * other.sign()[sure], atol=1e-5)
