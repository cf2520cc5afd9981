"""Group DRO and learning from failure: each formula by hand, and whole trainings against plain loops."""

import copy
import math

import numpy as np
import pytest
import torch
from stacking import apart, assert_like_single, planned, stacked
from torch import nn
from torch.autograd import grad, gradcheck
from torch.nn.functional import cross_entropy

from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.errors import InputError
from csad.experiments.build import build, plan_run, read
from csad.experiments.run import load
from csad.experiments.sweep import sweep
from csad.experiments.train import train
from csad.methods.cells import Cells
from csad.methods.lff import generalised
from csad.methods.method import Assign, Encoded
from csad.training.batches import OwnBatches, encode
from csad.training.descent import Optimisers
from csad.training.device import Way
from csad.training.fit import fit
from csad.training.iterate import iterate
from csad.training.stack import Alone

NAN = float("nan")
TWO = Classes(2)
PARTS, BIASED = ("F", "D_y", "P_y"), ("F_B", "D_B", "P_B")
CPU = torch.device("cpu")
EVEN, MOSTLY = math.log(2), math.log(4 / 3)  # the losses at odds of 1 : 1, and of 3 : 1 for the true class


def of_task(method, target, biases, x, y, b, seed=0, **settings):
    """A method, with fresh weights, for a task of one's own, prepared on these rows."""
    names = tuple(f"bias {k}" for k in range(len(biases)))
    dataset = Dataset(Task("own", tuple(x.shape[1:]), target, biases, names), {"train": Samples(x, y, b)})
    _, plan = plan_run(dataset, method, settings, "", read)
    made = build(dataset.task, method, plan, seed)
    made.prepare(dataset.train, dataset.view)
    return dataset, made


def reading_logits(method):
    """The method with h as its logits, of a biased net too."""
    for part in {"D_y", "P_y", "D_B", "P_B"} & {name for name, _ in method.named_children()}:
        setattr(method, part, nn.Identity())
    return method


def odds(y, right):
    """Logits (n, 2) with odds of ``right`` : 1 for each row's own class."""
    log = torch.tensor(right, dtype=torch.get_default_dtype()).log()
    return torch.stack([torch.where(y == 0, log, 0), torch.where(y == 1, log, 0)], 1)


def one_step(method, dataset, rows, rate):
    """The losses of one mini-batch through the last stage's lines, moved by plain steps of this rate."""
    batches, runs = OwnBatches(dataset, method.course, 0, CPU), Alone(method)
    times = []

    def source(gradient):
        times.append(gradient)
        return encode(runs, batches, rows, gradient)

    found = iterate(
        runs, method.schedule()[-1].updates, source, source, Optimisers(runs, "sgd", 0.0), torch.tensor(rate).double()
    )
    return found, times


def weights(method, *parts):
    return [w for part in parts for w in getattr(method, part).parameters()]


def orders(dataset, method, seed):
    """The row numbers of each mini-batch of each epoch, stage by stage."""
    batches = OwnBatches(dataset, method.course, seed, CPU)
    return [
        [rows for epoch in range(stage.epochs) for rows in batches.order(number, epoch)]
        for number, stage in enumerate(method.schedule())
    ]


# Cells


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
    with pytest.raises(InputError, match=f"^group-dro counts cells of classes, and {what} here holds numbers"):
        of_task("group-dro", target, biases, torch.randn(4, 3), torch.arange(4) % 2, torch.zeros(4, 2))


# Group DRO


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
    with pytest.raises(InputError, match=f"{setting} must be 0 or more, not -1"):
        make("toy-table", "group-dro", **{setting: -1.0})


def test_group_dro_is_plain_pretraining_and_then_two_lines(make):
    _, method = make("toy-table", "group-dro")
    first, last = method.schedule()
    assert first.common
    assert first.updates == method.target_stage().updates
    assert isinstance(last.updates[0], Assign)
    assert [line.moves for line in last.updates] == [(), PARTS]


def test_groups_at_chance_are_told_of_with_this_methods_own_settings(make):
    _, method = make("toy-table", "group-dro")
    assert method.symptoms("debias", {"target": [0.1, 0.1]}) == []
    (advice,) = method.symptoms("debias", {"target": [0.1, 0.7]})
    assert "group_rate" in advice


@pytest.mark.usefixtures("double")
def test_group_dro_is_what_a_plain_loop_makes_of_it(heard):
    dataset, method = planned("toy-table", "group-dro", 1, group_rate=0.3, adjustment=0.5, train__rate=1e-2)
    theirs = copy.deepcopy(method)
    fit(method, dataset, heard, Way(CPU), seed=1)
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


# Learning from failure


def test_the_generalised_by_hand():
    loss = torch.tensor([math.log(4), math.log(4 / 3)])  # p of the true class: 1/4 and 3/4
    found = generalised(loss, torch.tensor(0.5))
    assert found.tolist() == pytest.approx([(1 - 0.5) / 0.5, (1 - math.sqrt(3) / 2) / 0.5])
    found = generalised(loss, torch.tensor(0.7))
    assert found.tolist() == pytest.approx([(1 - 0.25**0.7) / 0.7, (1 - 0.75**0.7) / 0.7])
    # With q = 1 it is 1 − p; with q near 0 the cross-entropy.
    assert generalised(loss, torch.tensor(1.0)).tolist() == pytest.approx([0.75, 0.25])
    assert torch.allclose(generalised(loss, torch.tensor(1e-6)), loss)


@pytest.mark.usefixtures("double")
def test_its_gradient_is_that_of_the_cross_entropy_times_a_power_of_p():
    out = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    y, q = torch.arange(6) % 3, torch.tensor(0.7)
    found = grad(generalised(cross_entropy(out, y, reduction="none"), q).sum(), out)[0].numpy()
    p = np.exp(out.detach().numpy())
    p /= p.sum(1, keepdims=True)
    of_cross_entropy = p - np.eye(3)[y.numpy()]
    assert np.allclose(found, p[np.arange(6), y.numpy()][:, None] ** 0.7 * of_cross_entropy)
    assert gradcheck(lambda out: generalised(cross_entropy(out, y, reduction="none"), q), (out,))


def test_it_and_its_gradient_stay_finite_for_sure_predictions():
    out = torch.tensor([[1e4, 0.0], [0.0, 1e4]], requires_grad=True)
    each = cross_entropy(out, torch.zeros(2, dtype=torch.long), reduction="none")
    found = generalised(each, torch.tensor(0.7))
    assert found.tolist() == pytest.approx([0, 1 / 0.7])
    assert torch.isfinite(grad(found.sum(), out)[0]).all()


@pytest.fixture
def failing():
    """Learning from failure on six rows, three of each class; the logits of both nets are given."""

    def made(**settings):
        y = torch.tensor([0, 0, 0, 1, 1, 1])
        dataset, method = of_task("lff", TWO, (TWO,), torch.randn(6, 3), y, torch.zeros(6), **settings)
        return dataset, reading_logits(method)

    return made


def met(dataset, rows, biased, kept):
    """A mini-batch in which the biased net and the one that is kept see these odds for the true class."""
    rows = torch.tensor(rows)
    y = dataset.train.y[rows]
    return Encoded({"h": odds(y, kept), "h_biased": odds(y, biased)}, y, dataset.train.b[rows], rows)


def remembered(method, e):
    for name, value in method.remember(e).items():
        method.get_buffer(name).copy_(value)


def loss_at(right):
    return math.log(1 + 1 / right)


def test_each_row_keeps_a_mean_of_its_own_losses_over_two_steps(failing):
    dataset, method = failing()
    assert method.biased_losses.tolist() == method.kept_losses.tolist() == [-1] * 6
    remembered(method, met(dataset, [0, 1, 3], [1.0, 3.0, 9.0], [2.0, 4.0, 5.0]))
    # The first loss of a row is taken whole, and rows that were not there stay as they are.
    once = [loss_at(1), loss_at(3), -1, loss_at(9), -1, -1]
    assert method.biased_losses.tolist() == pytest.approx(once)
    assert method.kept_losses.tolist() == pytest.approx([loss_at(2), loss_at(4), -1, loss_at(5), -1, -1])
    remembered(method, met(dataset, [3, 1, 4], [1.0, 7.0, 6.0], [8.0, 1.0, 3.0]))
    # Rows, not places in the mini-batch: row 3 was last, and is now first.
    twice = [once[0], 0.7 * once[1] + 0.3 * loss_at(7), -1, 0.7 * once[3] + 0.3 * loss_at(1), loss_at(6), -1]
    assert method.biased_losses.tolist() == pytest.approx(twice)
    kept = [loss_at(2), 0.7 * loss_at(4) + 0.3 * loss_at(1), -1, 0.7 * loss_at(5) + 0.3 * loss_at(8), loss_at(3), -1]
    assert method.kept_losses.tolist() == pytest.approx(kept)


def test_a_row_that_fills_a_mini_batch_up_counts_once(failing):
    dataset, method = failing(memory=0.5)
    for _ in range(2):
        remembered(method, met(dataset, [2, 5, 2], [1.0, 3.0, 1.0], [3.0, 3.0, 3.0]))
    assert method.biased_losses.tolist() == pytest.approx([-1, -1, EVEN, -1, -1, MOSTLY])


def test_the_relative_difficulty_by_hand(failing):
    dataset, method = failing()
    method.biased_losses.copy_(torch.tensor([0.2, 1.0, 4.0, 0.1, -1.0, 0.5]))
    method.kept_losses.copy_(torch.tensor([0.3, 2.0, 1.0, 0.8, -1.0, 0.4]))
    e = met(dataset, [0, 1, 3, 5], [1.0] * 4, [1.0] * 4)
    # The largest of class 0 are 4, of a row that is not in the mini-batch, and 2; of class 1, .5 and .8. A row that was
    # never met is the largest of nothing.
    wanted = [
        (0.2 / 4) / (0.2 / 4 + 0.3 / 2),
        (1 / 4) / (1 / 4 + 1),
        (0.1 / 0.5) / (0.1 / 0.5 + 1),
        1 / (1 + 0.4 / 0.8),
    ]
    assert method.difficulty(e).tolist() == pytest.approx(wanted)


def test_the_loss_is_mean_by_mean_with_the_weight_inside(failing):
    dataset, method = failing()
    method.biased_losses.copy_(torch.tensor([0.2, 1.0, 4.0, 0.1, -1.0, 0.5]))
    method.kept_losses.copy_(torch.tensor([0.3, 2.0, 1.0, 0.8, -1.0, 0.4]))
    e = met(dataset, [0, 3], [1.0, 3.0], [3.0, 4.0])
    biased = ((1 - 0.5**0.7) / 0.7 + (1 - 0.75**0.7) / 0.7) / 2
    kept = (0.25 * loss_at(3) + 1 / 6 * loss_at(4)) / 2  # weights by row: not their mean times the mean loss
    assert method.loss(e).item() == pytest.approx(biased + kept)


def test_where_nothing_is_lost_the_weights_are_finite(failing):
    dataset, method = failing()
    sure = met(dataset, [0, 1, 2, 3, 4, 5], [math.inf] * 6, [math.inf] * 6)
    sure = sure._replace(h={name: torch.nan_to_num(h, posinf=1e4) for name, h in sure.h.items()})
    remembered(method, sure)
    assert method.biased_losses.tolist() == [0] * 6
    assert method.difficulty(sure).tolist() == [0] * 6
    assert method.loss(sure).item() == 0


@pytest.mark.usefixtures("double")
def test_each_net_steps_on_its_own_loss_and_x_is_encoded_once(make):
    dataset, method = make("toy-table", "lff")
    method.prepare(dataset.train, dataset.view)
    rows = torch.arange(8, 40)
    e = encode(Alone(method), OwnBatches(dataset, method.course, 0, CPU), rows, gradient=True)
    out = method.P_B(method.D_B(e.h["h_biased"]))
    p = out.softmax(-1)[torch.arange(32), e.y]
    biased = ((1 - p**0.7) / 0.7).mean()
    each = torch.stack([-method.P_y(method.D_y(h)).log_softmax(-1)[y] for h, y in zip(e.h["h"], e.y, strict=True)])
    # At the first step the means are the losses themselves; the largest of each class are in the mini-batch.
    of_b = -p.detach().log()
    shares = []
    for k, y in enumerate(e.y):
        b, d = of_b[k] / of_b[e.y == y].max(), each[k].detach() / each.detach()[e.y == y].max()
        shares.append(b / (b + d + 1e-8))
    kept = (torch.stack(shares) * each).mean()
    wanted = [*grad(kept, weights(method, *PARTS)), *grad(biased, weights(method, *BIASED))]
    before = [w.detach().clone() for w in weights(method, *PARTS, *BIASED)]
    found, times = one_step(method, dataset, rows, 0.5)
    assert found["target"].item() == pytest.approx((biased + kept).item())
    for was, now, slope in zip(before, weights(method, *PARTS, *BIASED), wanted, strict=True):
        assert torch.allclose((was - now.detach()) / 0.5, slope)
    assert times == [True]


@pytest.mark.usefixtures("double")
def test_learning_from_failure_is_what_a_plain_loop_makes_of_it(heard):
    settings = {"train__rate": 1e-2, "data__rows": 41, "train__partial": "fill"}
    dataset, method = planned("toy-table", "lff", 1, **settings)
    theirs = copy.deepcopy(method)
    fit(method, dataset, heard, Way(CPU), seed=1)
    x, y, c = dataset.view(dataset.train.x), dataset.train.y.tolist(), method.course
    means = {"biased": {}, "kept": {}}
    stages = orders(dataset, method, 1)
    assert any(len(set(rows.tolist())) < len(rows) for stage in stages for rows in stage)  # some were filled up
    for stage, batches in enumerate(stages):
        adam = torch.optim.Adam(theirs.parameters(), lr=(c.pretrain_rate, c.rate)[stage], weight_decay=c.weight_decay)
        for number, rows in enumerate(batches):
            outs = {"biased": theirs.P_B(theirs.D_B(theirs.F_B(x[rows]))), "kept": theirs.predict(x[rows])}
            log_p = {net: out.log_softmax(1) for net, out in outs.items()}
            each = {net: [-of[k, y[row]] for k, row in enumerate(rows)] for net, of in log_p.items()}
            for net, own in means.items():
                earlier = dict(own)
                for row, loss in zip(rows.tolist(), each[net], strict=True):
                    own[row] = 0.7 * earlier[row] + 0.3 * loss.item() if row in earlier else loss.item()
            terms = []
            for k, row in enumerate(rows.tolist()):
                alike = [other for other in means["biased"] if y[other] == y[row]]
                b, d = (own[row] / max(own[other] for other in alike) for own in means.values())
                p = (-each["biased"][k]).exp()
                terms.append((1 - p**0.7) / 0.7 + b / (b + d + 1e-8) * each["kept"][k])
            if stage == 1:
                adam.param_groups[0]["lr"] = c.rate * c.decay ** (number // (len(batches) // c.epochs) // c.decay_every)
            adam.zero_grad()
            (sum(terms) / len(terms)).backward()
            adam.step()
    for name, value in theirs.named_parameters():
        torch.testing.assert_close(method.state_dict()[name], value.detach(), rtol=0, atol=1e-8, msg=name)
    for table, own in ((method.biased_losses, means["biased"]), (method.kept_losses, means["kept"])):
        assert table.tolist() == pytest.approx([own.get(row, -1) for row in range(41)])


def test_rows_that_go_against_the_bias_come_to_weigh_more():
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(1000) % 2
    against = torch.rand(1000, generator=generator) < 0.05
    b = torch.where(against, 1 - y, y)
    one = torch.randint(0, 2, (1000,), generator=generator)
    # The bias is plain to see; the target is in whether two columns agree.
    x = 0.3 * torch.randn(1000, 10, generator=generator)
    x[:, :3] += torch.stack([2.0 * (2 * b - 1), 2 * one - 1, 2 * (one ^ y) - 1], 1)
    dataset, _ = of_task("lff", TWO, (TWO,), x, y, b)
    run = train(dataset, "lff", settings={"train.target_epochs": 20, "train.epochs": 0})
    weight = run.method.difficulty(Encoded(None, y, b[:, None], torch.arange(1000)))
    assert weight[against].mean() > 5 * weight[~against].mean()


def test_the_biased_net_predicts_nothing(make):
    dataset, method = make("toy-table", "lff")
    x = dataset.view(dataset.train.x)
    before = method.predict(x), method.features(x)["h"]
    with torch.no_grad():
        for weight in weights(method, *BIASED):
            weight.add_(1)
    assert torch.equal(method.predict(x), before[0])
    assert torch.equal(method.features(x)["h"], before[1])


def test_both_nets_learn_from_the_first_stage_on_which_is_shared_with_nobody(make):
    _, method = make("toy-table", "lff")
    assert not any(stage.common for stage in method.schedule())
    for stage in method.schedule():
        assert [line.moves for line in stage.updates] == [(), (*PARTS, *BIASED)]
    assert not method.needs_bias
    for mine, other in zip(weights(method, "F"), weights(method, "F_B"), strict=True):
        assert not torch.equal(mine, other)


def test_batch_norm_of_both_nets_rests_after_the_first_stage(make, monkeypatch):
    monkeypatch.setattr("csad.nets.backbones.resnet.WIDTHS", (4, 4, 6, 8))
    _, method = make("toy-image", "lff", net__backbone="resnet18")
    assert method.rest() == ("F", "F_B")


def test_learning_from_failure_wants_classes():
    with pytest.raises(InputError, match=r"^lff learns classes, and the target here holds numbers"):
        of_task("lff", Number(), (TWO,), torch.randn(4, 3), torch.randn(4), torch.zeros(4))


@pytest.mark.parametrize("setting", ["gce_power", "memory"])
@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_settings_of_lff_beyond_their_range_are_refused(make, setting, value):
    with pytest.raises(InputError, match=f"{setting} must lie .*, not {value}"):
        make("toy-table", "lff", **{setting: value})


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("name", "setting", "values"),
    [
        ("group-dro", "group_rate", (0.0, 0.1, 10.0)),
        ("group-dro", "adjustment", (0.0, 1.0, 5.0)),
        ("lff", "gce_power", (0.1, 0.7, 1.0)),
        ("lff", "memory", (0.0, 0.7, 0.99)),
    ],
)
def test_stacked_runs_may_differ_in_a_setting(heard, name, setting, values):
    fixed = {"train__rate": 1e-2, "train__epochs": 3, "train__decay_every": 0, "data__agreement": 0.8}
    fixed |= {"group_rate": 0.5} if setting == "adjustment" else {}

    def pairs():
        return [planned("toy-table", name, 1, **fixed, **{setting: value}) for value in values]

    training = stacked(pairs(), heard, [1, 1, 1])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 1, 1])


def test_a_run_that_keeps_something_of_each_row_is_loaded_without_its_data(tmp_path):
    settings = {"train.target_epochs": 1, "train.epochs": 1}
    run = train("toy-table", "lff", settings=settings, out=tmp_path / "run")
    again = load(tmp_path / "run")
    assert len(again.method.kept_losses) == 256
    assert all(torch.equal(value, again.method.state_dict()[name]) for name, value in run.method.state_dict().items())


def test_several_runs_that_keep_something_of_each_row_are_one_sweep(tmp_path):
    given = {"train.target_epochs": 1, "train.epochs": 1, "memory": [0.5, 0.7]}
    found = sweep("toy-table", "lff", seeds=(0, 1), settings=given, out=tmp_path / "runs", keep_weights=True)
    assert found.lost == []
    assert {run["result"]["stacked"] for run in found.runs} == {4}
