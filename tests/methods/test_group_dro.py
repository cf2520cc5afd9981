"""The cells of target and bias, and Group DRO: each formula by hand, a whole training against a plain loop."""

import copy
import math

import numpy as np
import pytest
import torch
from torch.autograd import grad

from csad.data.samples import Classes, Number, Samples, Task
from csad.methods.method import Assign, Encoded
from csad.methods.pieces.cells import Cells
from csad.sweeps.train import train
from csad.training.batches import OwnBatches
from csad.training.device import ComputeSettings
from csad.training.fit import fit
from csad.training.stacking import Alone
from csad.training.steps import encode
from tests.support.messages import refused
from tests.support.stacking import apart, assert_like_single, planned, stacked
from tests.support.steps_by_hand import (
    CPU,
    EVEN,
    MOSTLY,
    NAN,
    PARTS,
    TWO,
    odds,
    of_task,
    one_step,
    orders,
    reading_logits,
)


def test_every_target_with_every_bias_has_a_number_of_its_own():
    cells = Cells(Task("own", (1,), Classes(3), (TWO, Classes(4)), ("one", "other")), "any")
    each = torch.cartesian_prod(torch.arange(3), torch.arange(2), torch.arange(4))
    assert cells.count == 24
    assert cells.of(each[:, 0], each[:, 1:]).tolist() == list(range(24))
    assert cells.of(each[:, 0], each[:, 1:].double()).tolist() == list(range(24))


def test_a_row_with_an_unknown_label_is_in_no_cell():
    cells = Cells(Task("own", (1,), TWO, (TWO, TWO), ("one", "other")), "any")
    y, b = torch.tensor([1, 1, 1, 0]), torch.tensor([[-1, 1], [1, -1], [1, 0], [0, 1]])
    unknown = torch.where(b < 0, NAN, b.float())
    for labels in (b, unknown):
        assert cells.of(y, labels).tolist() == [-1, -1, 6, 1]
        counts = cells.counts(Samples(torch.zeros(4, 1), y, labels))
        assert counts.tolist() == [0, 1, 0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("target", "biases", "what"), [(TWO, (TWO, Number()), "a bias column"), (Number(), (TWO, TWO), "the target")]
)
def test_group_dro_wants_classes(target, biases, what):
    with refused("method-needs-classes", method="group-dro"):
        of_task("group-dro", target, biases, torch.randn(4, 3), torch.arange(4) % 2, torch.zeros(4, 2))


@pytest.fixture
def groups():
    """Group DRO on twelve rows of four groups, nothing moved yet: 6, 3, 2 and 1 of (0, 0), (0, 1), (1, 0), (1, 1)."""

    def made(**settings):
        y = torch.tensor([0] * 9 + [1] * 3)
        b = torch.tensor([0] * 6 + [1] * 3 + [0] * 2 + [1])[:, None]
        dataset, method = of_task("group-dro", TWO, (TWO,), torch.randn(12, 3), y, b, **settings)
        return dataset, reading_logits(method)

    return made


def batch_of(dataset, rows, right):
    rows = torch.tensor(rows)
    y, b = dataset.train.y[rows], dataset.train.b[rows]
    return Encoded(odds(y, right), y, b, rows)


def test_q_grows_with_the_mean_loss_of_each_group_by_hand(groups):
    dataset, method = groups(group_rate=0.5)
    assert torch.allclose(method.q, torch.tensor([0.25] * 4))
    # Group 0 has a row at odds 1 : 1 and one at 3 : 1, group 1 one at 3 : 1, group 3 its only one at 1 : 1; of group 2
    # there is none.
    e = batch_of(dataset, [0, 5, 7, 11], [1.0, 3.0, 3.0, 1.0])
    losses = [(EVEN + MOSTLY) / 2, MOSTLY, 0, EVEN]
    found, present = method.group_losses(e)
    assert found.tolist() == pytest.approx(losses)
    assert present.tolist() == [True, True, False, True]
    grown = [0.25 * math.exp(0.5 * loss) for loss in losses]  # times exp(0) for the group that is not there
    q = [each / sum(grown) for each in grown]
    assert method.weigh(e)["q"].tolist() == pytest.approx(q)
    # A second time from there: q is what all mini-batches have made of it.
    method.q.copy_(method.weigh(e)["q"])
    grown = [0.25 * math.exp(2 * 0.5 * loss) for loss in losses]
    assert method.weigh(e)["q"].tolist() == pytest.approx([each / sum(grown) for each in grown])


def test_the_loss_is_the_sum_of_the_groups_weighed_by_q(groups):
    dataset, method = groups()
    method.q.copy_(torch.tensor([0.1, 0.2, 0.3, 0.4]))
    e = batch_of(dataset, [0, 5, 7, 11], [1.0, 3.0, 3.0, 1.0])
    # Not a mean over four groups, nor over the three that are there, nor over rows.
    by_hand = 0.1 * (EVEN + MOSTLY) / 2 + 0.2 * MOSTLY + 0.4 * EVEN
    assert method.robust_loss(e).item() == pytest.approx(by_hand)


def test_the_gradient_of_a_row_is_its_share_of_its_groups_weight(groups):
    dataset, method = groups()
    method.q.copy_(torch.tensor([0.1, 0.2, 0.3, 0.4]))
    e = batch_of(dataset, [0, 5, 7, 11], [1.0, 3.0, 3.0, 1.0])
    h = e.h.clone().requires_grad_()
    found = grad(method.robust_loss(e._replace(h=h)), h)[0]
    # Of the true class p − 1, of the other p: 1/2 at odds of 1 : 1, 1/4 at 3 : 1. q itself passes no gradient on.
    away = [0.1 / 2 * 0.5, 0.1 / 2 * 0.25, 0.2 * 0.25, 0.4 * 0.5]
    by_hand = [[-a, a] if label == 0 else [a, -a] for a, label in zip(away, e.y.tolist(), strict=True)]
    assert np.allclose(found.numpy(), by_hand)


def test_a_step_takes_the_new_q_of_its_own_mini_batch(make):
    dataset, method = make("toy-table", "group-dro", group_rate=2.0)
    method.prepare(dataset.train, dataset.view)
    rows = torch.arange(32)
    e = encode(Alone(method), OwnBatches(dataset, method.course, 0, CPU), rows, gradient=False)
    before, wanted = method.robust_loss(e).item(), method.weigh(e)["q"]
    losses = method.group_losses(e)[0]
    found, times = one_step(method, dataset, rows, 0.0)
    assert torch.equal(method.q, wanted)
    assert found["target"].item() == pytest.approx((wanted * losses).sum().item(), rel=1e-5)
    assert found["target"].item() > before + 1e-3
    assert times == [True]  # x is encoded once


def test_small_groups_are_adjusted_by_hand(groups):
    dataset, method = groups(group_rate=0.5, adjustment=2.0)
    e = batch_of(dataset, [0, 5, 7, 11], [1.0, 3.0, 3.0, 1.0])
    # The counts are those of the training set, 6, 3 and 1; the group that is not there stays as it is.
    adjusted = [(EVEN + MOSTLY) / 2 + 2 / math.sqrt(6), MOSTLY + 2 / math.sqrt(3), 0, EVEN + 2]
    grown = [math.exp(0.5 * loss) for loss in adjusted]
    assert method.weigh(e)["q"].tolist() == pytest.approx([each / sum(grown) for each in grown])
    # What is descended on is not adjusted: a constant would move no weight.
    assert method.robust_loss(e).item() == pytest.approx(((EVEN + MOSTLY) / 2 + MOSTLY + EVEN) / 4)


def test_groups_without_training_rows_never_have_a_weight(groups):
    dataset, method = groups()
    rows = torch.arange(9)  # of class 0 alone
    method.prepare(dataset.train.rows(rows), dataset.view)
    assert method.q.tolist() == [0.5, 0.5, 0, 0]
    assert method.rarity.tolist() == pytest.approx([1 / math.sqrt(6), 1 / math.sqrt(3), 0, 0])
    e = batch_of(dataset, [0, 11], [3.0, 1.0])  # a row of a group that training does not know
    q = method.weigh(e)["q"]
    assert q[2:].tolist() == [0, 0]
    assert q.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("unknown", [-1, NAN])
def test_without_a_known_group_the_loss_is_zero_and_q_stays(groups, unknown):
    dataset, method = groups()
    e = batch_of(dataset, [0, 5, 7, 11], [1.0, 3.0, 3.0, 1.0])
    e = e._replace(b=torch.full((4, 1), unknown))
    h = e.h.clone().requires_grad_()
    loss = method.robust_loss(e._replace(h=h))
    assert loss.item() == 0
    assert not grad(loss, h)[0].any()
    assert torch.equal(method.weigh(e)["q"], method.q)


def test_a_row_of_unknown_bias_counts_in_no_group(groups):
    dataset, method = groups()
    e = batch_of(dataset, [0, 5, 7, 11], [1.0, 3.0, 3.0, 1.0])
    other = e._replace(b=torch.tensor([[0], [-1], [1], [1]]))
    assert method.group_losses(other)[0].tolist() == pytest.approx([EVEN, MOSTLY, 0, EVEN])


def test_q_stays_finite_however_fast_it_moves(groups):
    dataset, method = groups(group_rate=1e4)
    e = batch_of(dataset, [0, 7, 11], [3.0, 3.0, 1.0])
    method.q.copy_(method.weigh(e)["q"])
    assert method.q.tolist() == pytest.approx([0, 0, 0, 1])  # the worst takes all
    gone = batch_of(dataset, [0, 7, 11], [1e-30, 3.0, 3.0])  # a group without weight does not take the rest along
    assert method.weigh(gone)["q"].tolist() == pytest.approx([0, 0, 0, 1])


@pytest.mark.parametrize("setting", ["group_rate", "adjustment"])
def test_settings_of_group_dro_below_zero_are_refused(make, setting):
    with refused("negative-setting"):
        make("toy-table", "group-dro", **{setting: -1.0})


def test_the_groups_weights_move_and_are_adjusted_as_the_authors_code_does_it_unless_told(make):
    # --robust_step_size and --generalization_adjustment of theirs.
    _, method = make("toy-table", "group-dro")
    assert (method.group_rate.item(), method.adjustment.item()) == (pytest.approx(0.01), 0)


def test_group_dro_is_plain_pretraining_and_then_two_lines(make):
    _, method = make("toy-table", "group-dro")
    first, last = method.schedule()
    assert first.common
    assert first.updates == method.target_stage().updates
    assert isinstance(last.updates[0], Assign)
    assert [line.moves for line in last.updates] == [(), PARTS]


def test_groups_at_chance_are_told_of_with_this_methods_own_settings(make):
    _, method = make("toy-table", "group-dro")
    assert method.diagnose("debias", {"target": [0.1, 0.1]}) == []
    (advice,) = method.diagnose("debias", {"target": [0.1, 0.7]})
    assert "group_rate" in advice


@pytest.mark.usefixtures("double")
def test_group_dro_is_what_a_plain_loop_makes_of_it(heard):
    dataset, method = planned("toy-table", "group-dro", 1, group_rate=0.3, adjustment=0.5, train__rate=1e-2)
    theirs = copy.deepcopy(method)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=1)
    train_rows, c = dataset.train, method.course
    x = dataset.view(train_rows.x)
    group_of = [(y, *b) for y, b in zip(train_rows.y.tolist(), train_rows.b.tolist(), strict=True)]
    size = {g: group_of.count(g) for g in set(group_of)}
    q = {g: 1 / len(size) for g in size}
    first, last = orders(dataset, method, 1)
    for stage, batches in enumerate((first, last)):
        adam = torch.optim.Adam(theirs.parameters(), lr=(c.pretrain_rate, c.rate)[stage], weight_decay=c.weight_decay)
        for number, rows in enumerate(batches):
            log_p = theirs.predict(x[rows]).log_softmax(1)
            each = [-log_p[k, train_rows.y[row]] for k, row in enumerate(rows)]
            if stage == 0:
                loss = sum(each) / len(each)
            else:
                members = {}
                for k, row in enumerate(rows.tolist()):
                    members.setdefault(group_of[row], []).append(each[k])
                means = {g: sum(own) / len(own) for g, own in members.items()}
                for g, mean in means.items():
                    q[g] *= math.exp(0.3 * (mean.item() + 0.5 / math.sqrt(size[g])))
                total = sum(q.values())
                q = {g: share / total for g, share in q.items()}
                loss = sum(q[g] * mean for g, mean in means.items())
                adam.param_groups[0]["lr"] = c.rate * c.decay ** (number // (len(last) // c.epochs) // c.decay_every)
            adam.zero_grad()
            loss.backward()
            adam.step()
    for name, value in theirs.named_parameters():
        torch.testing.assert_close(method.state_dict()[name], value.detach(), rtol=0, atol=1e-8, msg=name)
    place = {g: method.cells.of(torch.tensor(g[:1]), torch.tensor([g[1:]])).item() for g in q}
    assert [method.q[place[g]].item() for g in q] == pytest.approx(list(q.values()))
    assert len({round(share, 6) for share in q.values()}) > 1


def test_the_worst_group_fares_better_than_in_plain_training():
    worst = {}
    for name in ("vanilla", "group-dro"):
        settings = {"data.agreement": 0.95, "data.rows": 1024, "train.rate": 5e-3}
        runs = [train("toy-table", name, seed=seed, settings={**settings, "data.seed": seed}) for seed in (0, 2)]
        worst[name] = np.mean([run.result["metrics"]["test"]["worst_group"] for run in runs])
    assert worst["group-dro"] > worst["vanilla"] + 0.05


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("group_rate", (0.0, 0.1, 10.0)),
        ("adjustment", (0.0, 1.0, 5.0)),
    ],
)
def test_stacked_runs_may_differ_in_a_setting(heard, setting, values):
    fixed = {"train__rate": 1e-2, "train__epochs": 3, "train__decay_every": 0, "data__agreement": 0.8}
    fixed |= {"group_rate": 0.5} if setting == "adjustment" else {}

    def pairs():
        return [planned("toy-table", "group-dro", 1, **fixed, **{setting: value}) for value in values]

    training = stacked(pairs(), heard, [1, 1, 1])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 1, 1])
