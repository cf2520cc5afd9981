"""Learning from failure: each formula by hand, a whole training against a plain loop."""

import copy
import math

import numpy as np
import pytest
import torch
from torch.autograd import grad, gradcheck
from torch.nn.functional import cross_entropy

from csad.data.samples import Number
from csad.methods.lff import generalized_cross_entropy
from csad.methods.method import Encoded
from csad.runs.run import load
from csad.sweeps.sweep import sweep
from csad.sweeps.train import train
from csad.training.batches import OwnBatches
from csad.training.device import ComputeSettings
from csad.training.fit import fit
from csad.training.stacking import Alone
from csad.training.steps import encode
from tests.support.messages import refused
from tests.support.stacking import apart, assert_like_single, planned, stacked
from tests.support.steps_by_hand import (
    BIASED,
    CPU,
    EVEN,
    MOSTLY,
    PARTS,
    TWO,
    odds,
    of_task,
    one_step,
    orders,
    reading_logits,
    weights,
)


def test_the_generalised_by_hand():
    loss = torch.tensor([math.log(4), math.log(4 / 3)])  # p of the true class: 1/4 and 3/4
    found = generalized_cross_entropy(loss, torch.tensor(0.5))
    assert found.tolist() == pytest.approx([(1 - 0.5) / 0.5, (1 - math.sqrt(3) / 2) / 0.5])
    found = generalized_cross_entropy(loss, torch.tensor(0.7))
    assert found.tolist() == pytest.approx([(1 - 0.25**0.7) / 0.7, (1 - 0.75**0.7) / 0.7])
    # With q = 1 it is 1 − p; with q near 0 the cross-entropy.
    assert generalized_cross_entropy(loss, torch.tensor(1.0)).tolist() == pytest.approx([0.75, 0.25])
    assert torch.allclose(generalized_cross_entropy(loss, torch.tensor(1e-6)), loss)


@pytest.mark.usefixtures("double")
def test_its_gradient_is_that_of_the_cross_entropy_times_a_power_of_p():
    out = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    y, q = torch.arange(6) % 3, torch.tensor(0.7)
    found = grad(generalized_cross_entropy(cross_entropy(out, y, reduction="none"), q).sum(), out)[0].numpy()
    p = np.exp(out.detach().numpy())
    p /= p.sum(1, keepdims=True)
    of_cross_entropy = p - np.eye(3)[y.numpy()]
    assert np.allclose(found, p[np.arange(6), y.numpy()][:, None] ** 0.7 * of_cross_entropy)
    assert gradcheck(lambda out: generalized_cross_entropy(cross_entropy(out, y, reduction="none"), q), (out,))


def test_it_and_its_gradient_stay_finite_for_sure_predictions():
    out = torch.tensor([[1e4, 0.0], [0.0, 1e4]], requires_grad=True)
    each = cross_entropy(out, torch.zeros(2, dtype=torch.long), reduction="none")
    found = generalized_cross_entropy(each, torch.tensor(0.7))
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
    fit(method, dataset, heard, ComputeSettings(CPU), seed=1)
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
    assert method.freeze_batch_norm() == ("F", "F_B")


def test_learning_from_failure_wants_classes():
    with refused("lff-needs-class-target"):
        of_task("lff", Number(), (TWO,), torch.randn(4, 3), torch.randn(4), torch.zeros(4))


@pytest.mark.parametrize(
    ("setting", "code"), [("gce_power", "gce-power-out-of-range"), ("memory", "memory-out-of-range")]
)
@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_settings_of_lff_beyond_their_range_are_refused(make, setting, code, value):
    with refused(code, **{setting: value}):
        make("toy-table", "lff", **{setting: value})


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("gce_power", (0.1, 0.7, 1.0)),
        ("memory", (0.0, 0.7, 0.99)),
    ],
)
def test_stacked_runs_may_differ_in_a_setting(heard, setting, values):
    fixed = {"train__rate": 1e-2, "train__epochs": 3, "train__decay_every": 0, "data__agreement": 0.8}

    def pairs():
        return [planned("toy-table", "lff", 1, **fixed, **{setting: value}) for value in values]

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
