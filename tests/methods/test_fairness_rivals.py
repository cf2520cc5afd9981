"""Zhang, CoCL, reweighing and project: each loss by hand, and each step against the gradients it is made of."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from stacking import apart, assert_like_single, planned, stacked
from torch import nn
from torch.autograd import grad, gradcheck

from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.errors import InputError
from csad.experiments.build import build, plan_run, read
from csad.methods.cocl import covariances
from csad.methods.method import Encoded
from csad.methods.zhang import Adversary, off_and_against
from csad.training.descent import Optimisers
from csad.training.device import Way
from csad.training.fit import fit
from csad.training.iterate import descend
from csad.training.stack import Alone

NAN = float("nan")
TWO = Classes(2)
PARTS = ("F", "D_y", "P_y")


@pytest.fixture
def encoded(make):
    """A method on the toy table and one mini-batch of it, encoded with gradient."""

    def made(name, **settings):
        dataset, method = make("toy-table", name, **settings)
        train = dataset.train
        method.prepare(train, dataset.view)
        rows = torch.arange(16)
        h = method.F(method.seen(dataset.view(train.x[rows])))
        return method, Encoded(h, train.y[rows], train.b[rows], rows)

    return made


def of_task(method, target, biases, x, y, b, **settings):
    """A method, with fresh weights, for a task of one's own, prepared on these rows."""
    names = tuple(f"bias {k}" for k in range(len(biases)))
    dataset = Dataset(Task("own", tuple(x.shape[1:]), target, biases, names), {"train": Samples(x, y, b)})
    _, plan = plan_run(dataset, method, settings, "", read)
    made = build(dataset.task, method, plan, 0)
    made.prepare(dataset.train, dataset.view)
    return dataset, made


def reading_logits(method):
    """The method with h as its logits."""
    method.D_y, method.P_y = nn.Identity(), nn.Identity()
    return method


def weights(method, *parts):
    return [w for part in parts for w in getattr(method, part).parameters()]


def stepped(method, update, e, rate=0.5):
    """How far the update's parts go in one plain step of this rate, weight by weight, divided by it."""
    moved = weights(method, *update.moves)
    before = [w.detach().clone() for w in moved]
    value = descend(Alone(method), update, e, Optimisers(Alone(method), "sgd", 0.0), torch.tensor(rate).double())
    return [(was - now.detach()) / rate for was, now in zip(before, moved, strict=True)], value


@pytest.mark.parametrize("name", ["zhang", "cocl"])
def test_a_weight_below_zero_is_refused(make, name):
    with pytest.raises(InputError, match="debias_weight must be 0 or more, not -1"):
        make("toy-table", name, debias_weight=-1.0)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ["zhang", "cocl"])
def test_stacked_runs_may_differ_in_their_weight(heard, name):
    def pairs():
        return [planned("toy-table", name, 1, debias_weight=w, train__rate=1e-2) for w in (0.0, 0.1, 10.0)]

    training = stacked(pairs(), heard, [1, 1, 1])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 1, 1])


@pytest.mark.parametrize("name", ["zhang", "cocl", "project"])
@pytest.mark.parametrize("target", [Classes(3), Number()])
def test_targets_and_biases_may_be_numbers_and_labels_unknown(heard, name, target):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 4, generator=generator)
    age, group = 40 + 10 * x[:, 0], (x[:, 1] > 0).float()
    b = torch.stack([group, age], 1)
    b[::7, 0], b[::5, 1] = NAN, NAN
    y = torch.arange(60) % 3 if isinstance(target, Classes) else x.sum(1)
    short = {"train.target_epochs": 2, "train.epochs": 2, "train.batch_size": 20}
    dataset, method = of_task(name, target, (TWO, Number()), x, y, b, **short)
    fit(method, dataset, heard, Way(torch.device("cpu")), seed=0)
    assert all(torch.isfinite(value).all() for value in method.state_dict().values())
    assert method.predict(x).shape == (60, 3 if isinstance(target, Classes) else 1)


# Zhang


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
    with pytest.raises(InputError, match=r"No bias is called 'regoin'. Nearest: region"):
        encoded("zhang", biases=("regoin",))


def test_without_a_known_bias_zhangs_step_is_the_plain_one(encoded):
    method, e = encoded("zhang")
    e = e._replace(b=torch.full_like(e.b, -1))
    plain = grad(method.target_loss(e), weights(method, *PARTS), retain_graph=True)
    moved, _ = stepped(method, method.schedule()[-1].updates[0], e)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(moved, plain, strict=True))


# CoCL


def test_the_covariance_of_six_rows_by_hand(encoded):
    method, _ = encoded("cocl")
    reading_logits(method).task = replace(method.task, biases=(TWO,))
    y, b = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([[0], [0], [1], [0], [1], [1]])
    p = torch.tensor([0.2, 0.4, 0.6, 0.3, 0.9, 0.3])  # of the true class
    h = torch.stack([torch.where(y == 0, p, 1 - p), torch.where(y == 0, 1 - p, p)], 1).log()
    # Class 0: mean p = .4, mean b = 1/3, mean p b = .2, covariance .2 − .4 / 3 = 1/15, and its negative for "not b".
    # Class 1: mean p = .5, mean b = 2/3, mean p b = .4, covariance .4 − 1 / 3 = 1/15 as well.
    e = Encoded(h, y, b, y)
    assert method.covariance(e).item() == pytest.approx(math.sqrt(2) / 15, rel=1e-5)
    # Without a second class the mean is over the first alone.
    alone = Encoded(h[:3], y[:3], b[:3], y[:3])
    assert method.covariance(alone).item() == pytest.approx(math.sqrt(2) / 15, rel=1e-5)
    # A row of unknown bias is left out: of class 0 p = .2, .6 with b = 0, 1 is left, covariance .3 − .4 / 2 = .1.
    unknown = Encoded(h[:3], y[:3], torch.tensor([[0], [-1], [1]]), y[:3])
    assert method.covariance(unknown).item() == pytest.approx(math.sqrt(2) / 10, rel=1e-5)
    # Class 1 is there, but nothing is known of its bias: it counts, with 0.
    unknown = Encoded(h, y, torch.tensor([[0], [0], [1], [-1], [-1], [-1]]), y)
    assert method.covariance(unknown).item() == pytest.approx(math.sqrt(2) / 30, rel=1e-5)


def test_covariances_are_numpys_column_by_column():
    generator = np.random.default_rng(0)
    p, b, y = generator.random(40), generator.normal(2000, 5, (40, 3)), generator.integers(0, 3, 40)
    known = generator.random((40, 3)) < 0.7
    found = covariances(
        torch.tensor(p), torch.tensor(b), torch.tensor(known).double(), torch.tensor(np.eye(4)[y])
    )  # the fourth class has no row
    for c in range(3):
        for k in range(3):
            rows = (y == c) & known[:, k]
            assert found[c, k].item() == pytest.approx(np.cov(p[rows], b[rows, k], ddof=0)[0, 1], abs=1e-9)
    assert not found[3].any()


def test_several_biases_stand_side_by_side_and_each_leaves_out_its_own_unknown(encoded):
    method, _ = encoded("cocl")
    reading_logits(method).task = replace(method.task, biases=(TWO, Number()))
    y, p = torch.zeros(4, dtype=torch.long), torch.tensor([0.2, 0.4, 0.6, 0.8])
    b = torch.tensor([[0.0, 10], [NAN, 20], [1, NAN], [1, 40]])
    group = np.cov([0.2, 0.6, 0.8], [0, 1, 1], ddof=0)[0, 1]
    age = np.cov([0.2, 0.4, 0.8], [10, 20, 40], ddof=0)[0, 1]
    found = method.covariance(Encoded(torch.stack([p, 1 - p], 1).log(), y, b, y))
    assert found.item() == pytest.approx(math.sqrt(2 * group**2 + age**2), rel=1e-5)


def test_of_a_number_it_is_the_squared_error_that_must_not_go_with_the_bias(encoded):
    method, _ = encoded("cocl")
    reading_logits(method).task = replace(method.task, target=Number(), biases=(Number(),))
    out, y, age = torch.tensor([[1.0], [2], [3], [5]]), torch.tensor([1.0, 4, 2, 5]), torch.tensor([20.0, 50, 40, 30])
    found = method.covariance(Encoded(out, y, age[:, None], y.long()))
    assert found.item() == pytest.approx(abs(np.cov([0, 4, 1, 0], age.numpy(), ddof=0)[0, 1]))


@pytest.mark.parametrize("label", [0, 1, -1])
def test_without_covariance_the_gradient_is_finite_and_zero(encoded, label):
    method, e = encoded("cocl")
    value = method.covariance(e._replace(b=torch.full_like(e.b, label)))
    assert value.item() == pytest.approx(0, abs=1e-7)
    assert all(g.abs().max() < 1e-6 for g in grad(value, weights(method, *PARTS), retain_graph=True))
    flat = torch.zeros(
        16, 2, requires_grad=True
    )  # the same p for all rows: no covariance, but a slope, which is finite
    reading_logits(method)
    assert torch.isfinite(grad(method.covariance(e._replace(h=flat)), flat)[0]).all()


@pytest.mark.usefixtures("double")
def test_the_gradient_of_the_covariance_is_its_slope(encoded):
    method, e = encoded("cocl")
    reading_logits(method)
    h = torch.randn(16, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert gradcheck(lambda h: method.constrained_loss(e._replace(h=h)), (h,))


def test_cocls_step_is_target_and_weighted_covariance(encoded):
    method, e = encoded("cocl", debias_weight=3.0)
    (step,) = method.schedule()[-1].updates
    assert step.moves == PARTS
    assert torch.equal(step.loss(e), method.target_loss(e) + 3 * method.covariance(e))


# Reweighing


def table(*counts):
    """y (n,) and b (n,) with so many rows of each (y, b)."""
    y, b = zip(*((y, b) for (y, b), count in counts for _ in range(count)), strict=True)
    return torch.tensor(y), torch.tensor(b)


def test_the_weights_of_a_small_table_by_hand():
    y, b = table(((0, 0), 3), ((0, 1), 1), ((1, 1), 4))
    _, method = of_task("reweigh", TWO, (TWO,), torch.randn(8, 3), y, b)
    # Of 8 rows 4 are of class 0 and 3 of bias 0: 4 · 3 / 8 are expected in the first cell, where 3 are; 4 · 5 / 8 in
    # the second, where 1 is, and in the last, where 4 are. The third is empty.
    assert method.weights.tolist() == [0.5, 2.5, 1.0, 0.625]


def test_weighed_target_and_bias_are_independent():
    y, b = table(((0, 0), 5), ((0, 1), 2), ((0, 2), 1), ((1, 0), 1), ((1, 1), 3), ((1, 2), 8))
    _, method = of_task("reweigh", TWO, (Classes(3),), torch.randn(20, 3), y, b)
    counts = np.array([[5, 2, 1], [1, 3, 8]])
    weighed = counts * method.weights.numpy().reshape(2, 3)
    assert np.allclose(weighed, np.outer(counts.sum(1), counts.sum(0)) / 20)


@pytest.mark.parametrize("whole", [True, False])
def test_bias_columns_make_cells_together_and_an_unknown_one_makes_none(whole):
    b = torch.tensor([[0, 0], [0, 1], [1, 2], [1, 2], [0, -1], [-1, 1]])
    b = b if whole else torch.where(b < 0, NAN, b.float())
    y = torch.tensor([0, 1, 1, 0, 1, 1])
    _, method = of_task("reweigh", TWO, (TWO, Classes(3)), torch.randn(6, 3), y, b)
    assert method.weights.shape == (12,)
    # Four rows are known in full: two of each class; (0, 0) and (0, 1) once, (1, 2) twice.
    wanted = torch.ones(2, 2, 3)
    wanted[0, 0, 0] = wanted[1, 0, 1] = 2 * 1 / 4
    wanted[0, 1, 2] = wanted[1, 1, 2] = 2 * 2 / 4
    assert torch.equal(method.weights, wanted.flatten())
    h = torch.tensor([[0.0, math.log(3)]]).repeat(6, 1)  # odds of 1 : 3
    reading_logits(method)
    own = [math.log(4) if label == 0 else math.log(4 / 3) for label in y.tolist()]
    by_hand = np.mean(np.array([0.5, 0.5, 1, 1, 1, 1]) * own)
    assert method.weighed_loss(Encoded(h, y, b, y)).item() == pytest.approx(by_hand)


def test_rows_are_weighed_from_the_first_stage_on(encoded):
    method, e = encoded("reweigh")
    first, last = method.schedule()
    assert not first.common
    assert [update.moves for stage in (first, last) for update in stage.updates] == [PARTS] * 2
    out = method.P_y(method.D_y(e.h))
    own = torch.stack([method.weights[y * 6 + b[0] * 3 + b[1]] for y, b in zip(e.y, e.b, strict=True)])
    each = -out.log_softmax(-1)[torch.arange(16), e.y]
    for stage in (first, last):
        assert stage.updates[0].loss(e).item() == pytest.approx((own * each).mean().item())
    assert not torch.isclose(first.updates[0].loss(e), method.target_loss(e))


@pytest.mark.parametrize(
    ("target", "biases", "what"), [(TWO, (TWO, Number()), "a bias column"), (Number(), (TWO, TWO), "the target")]
)
def test_reweighing_wants_classes(target, biases, what):
    with pytest.raises(InputError, match=f"^reweigh counts cells of classes, and {what} here holds numbers"):
        of_task("reweigh", target, biases, torch.randn(4, 3), torch.arange(4) % 2, torch.zeros(4, 2))


# Project


def people():
    """Rows in which column 2 is the bias, column 0 the target, column 1 tells of both."""
    generator = torch.Generator().manual_seed(0)
    b = torch.randint(0, 2, (120, 1), generator=generator)
    x = torch.randn(120, 4, generator=generator)
    y = (x[:, 0] + 0.5 * b[:, 0] > 0).long()
    x[:, 2] = b[:, 0]
    x[:, 1] += b[:, 0] + y
    return x, y, b


def test_what_is_predicted_does_not_change_by_a_bit_when_the_sensitive_column_does(heard):
    x, y, b = people()
    short = {"train.target_epochs": 5, "train.epochs": 5, "train.batch_size": 40}
    dataset, method = of_task("project", TWO, (TWO,), x, y, b, **short)
    fit(method, dataset, heard, Way(torch.device("cpu")), seed=0)
    predicted = method.predict(x)
    for value in (0.0, 1.0, -3.3):
        moved = x.clone()
        moved[:, 2] = value
        assert torch.equal(method.predict(moved), predicted)
        assert torch.equal(method.features(moved)["h"], method.features(x)["h"])
    # Along the reader's direction it changes by rounding alone, and along any other column it does change.
    along = x + 5 * method.directions[1]
    assert torch.allclose(method.predict(along), predicted, atol=1e-4)
    other = x.clone()
    other[:, 0] += 1
    assert (method.predict(other) - predicted).abs().max() > 0.1


def test_project_is_vanilla_on_what_is_left_of_x(heard):
    x, y, b = people()
    short = {"train.target_epochs": 2, "train.epochs": 2, "train.batch_size": 40}
    dataset, method = of_task("project", TWO, (TWO,), x, y, b, **short)
    left = method.hidden(x)
    plain_data, plain = of_task("vanilla", TWO, (TWO,), left, y, b, **short)
    assert not method.schedule()[0].common
    for made, data in ((method, dataset), (plain, plain_data)):
        fit(made, data, heard, Way(torch.device("cpu")), seed=0)
    for name, value in plain.state_dict().items():
        assert torch.equal(method.state_dict()[name], value), name
    assert torch.equal(method.predict(x), plain.predict(left))
