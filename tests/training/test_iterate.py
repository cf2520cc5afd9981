"""What an iteration computes follows from what its updates move; CSAD's is Algorithm 1, step by step."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from csad.data.samples import Batch
from csad.information import cs
from csad.methods.method import Assign, Encoded, Method, Update
from csad.training.batches import OwnBatches
from csad.training.iterate import iterate
from csad.training.optimizers import Optimizers
from csad.training.stacking import Alone
from csad.training.steps import encode

CPU = torch.device("cpu")


def step(model, lines, own, fresh=None, *, kind="adam", rate=1e-3, optimizers=None):
    """One iteration of one run."""
    runs = Alone(model)
    numbers = torch.tensor(rate, dtype=torch.float64)
    return iterate(runs, lines, own, fresh, optimizers or Optimizers(runs.weights, kind, 0.0), numbers)


class Counted:
    """A source of one mini-batch that counts how often it is encoded, and with gradient or without."""

    def __init__(self, method, batches, rows):
        self.method, self.batches, self.rows, self.asked = method, batches, rows, []

    def __call__(self, gradient):
        self.asked.append(gradient)
        return encode(Alone(self.method), self.batches, self.rows, gradient)


def prepared(make, **settings):
    dataset, method = make("toy-table", "csad", **settings)
    method.double()
    batches = OwnBatches(replace(dataset, view=lambda x: x.double()), method.course, 0, CPU)
    return method, batches, Counted(method, batches, batches.order(0, 0)[0])


def test_a_csad_iteration_encodes_twice_and_not_22_times(make):
    method, _, source = prepared(make)
    step(method, method.schedule()[-1].updates, source)
    assert source.asked == [True, True]


def test_updates_that_leave_the_encoder_alone_encode_once_without_gradient(make):
    method, _, source = prepared(make)
    bias = method.schedule()[1].updates[0]
    step(method, (bias, bias, replace(bias, repeat=5)), source)
    assert source.asked == [False]


def test_a_repeated_update_of_the_encoder_encodes_each_time(make):
    method, _, source = prepared(make)
    target = method.schedule()[0].updates[0]
    step(method, (replace(target, repeat=3),), source)
    assert source.asked == [True] * 3


def test_the_encoder_is_in_train_mode_only_where_a_gradient_moves_it(make):
    method, _, source = prepared(make)
    modes = []
    method.F.register_forward_hook(lambda module, *_: modes.append(module.training))
    bias, target = method.schedule()[1].updates[0], method.schedule()[0].updates[0]
    step(method, (bias,), source)
    step(method, (target,), source)
    assert modes == [False, True]


def textbook(method, batches, rows, K, weight, rate, steps, weight_decay):
    """Algorithm 1 of the supplement with torch.optim.Adam, one per part, written out."""
    parts = {name: getattr(method, name) for name in ("F", "D_y", "P_y", "D_b", "P_b", "M")}
    adam = {name: torch.optim.Adam(p.parameters(), rate, weight_decay=weight_decay) for name, p in parts.items()}
    t = batches.train
    batch = Batch(batches.view(t.x[rows]), t.y[rows], t.b[rows], rows)
    F, D_y, P_y, D_b, P_b, M = parts.values()

    def descend(loss, *names):
        for part in parts.values():
            part.zero_grad()
        loss.backward()
        for name in names:
            adam[name].step()

    def information(h):
        related = (batch.b[:, None] == batch.b[None, :]).all(-1)
        return cs(M(D_y(h), D_b(h)), related, pairs="sum", scale=M.scale())

    for _ in range(steps):
        descend(nn.functional.cross_entropy(P_y(D_y(F(batch.x))), batch.y), "F", "D_y", "P_y")
        h = F(batch.x).detach()
        for _ in range(K):
            losses = [nn.functional.cross_entropy(out, batch.b[:, k]) for k, out in enumerate(P_b(D_b(h)))]
            descend(sum(losses) / len(losses), "D_b", "P_b")
        for _ in range(K):
            descend(-information(h), "M")
        descend(weight * information(F(batch.x)), "F")


@pytest.mark.parametrize("weight_decay", [0.0, 5e-4])
def test_a_csad_iteration_is_algorithm_1_written_out(make, weight_decay):
    K, weight, rate, steps = 4, 0.7, 1e-3, 5
    method, batches, source = prepared(make, inner_steps=K, debias_weight=weight)
    other, _, _ = prepared(make, inner_steps=K, debias_weight=weight)
    textbook(other, batches, source.rows, K, method.debias_weight.item(), rate, steps, weight_decay)
    optimizers = Optimizers(Alone(method).weights, "adam", weight_decay)
    for _ in range(steps):
        step(method, method.schedule()[-1].updates, source, optimizers=optimizers, rate=rate)
    for (name, own), (_, reference) in zip(method.named_parameters(), other.named_parameters(), strict=True):
        torch.testing.assert_close(own, reference, rtol=1e-9, atol=1e-11, msg=name)


class Toy(nn.Module):
    """Two numbers that move: w in the encoder, v after it."""

    encoder = ("W",)
    named_tensors, moves_encoder = Method.named_tensors, Method.moves_encoder

    def __init__(self):
        super().__init__()
        self.W, self.V = nn.Module(), nn.Module()
        self.W.w = nn.Parameter(torch.tensor(1.0, dtype=torch.double))
        self.V.v = nn.Parameter(torch.tensor(2.0, dtype=torch.double))
        self.register_buffer("average", torch.tensor(0.0, dtype=torch.double))

    def source(self, x):
        x = torch.tensor(float(x), dtype=torch.double)
        return lambda gradient: Encoded(self.W.w * x if gradient else (self.W.w * x).detach(), x, x, x)


def test_several_gradients_are_joined_as_the_update_says():
    toy = Toy()
    # h = w·3; the gradients of h and of h² are 3 and 2·h·3 = 18 at w = 1: their difference is 15.
    update = Update("two", ("W",), lambda e: (e.h, e.h**2), join=lambda first, second: second - first)
    losses = step(toy, (update,), toy.source(3), kind="sgd", rate=0.1)
    assert toy.W.w.item() == pytest.approx(1 - 0.1 * 15)
    assert losses["two"].item() == pytest.approx(3 + 9)


def test_several_gradients_are_added_by_default():
    toy = Toy()
    update = Update("two", ("W",), lambda e: (e.h, e.h**2))
    step(toy, (update,), toy.source(3), kind="sgd", rate=0.1)
    assert toy.W.w.item() == pytest.approx(1 - 0.1 * 21)


def test_a_fresh_update_sees_other_batches_and_leaves_the_own_one_encoded():
    toy = Toy()
    seen = []

    def watch(e):
        seen.append(e.y.item())
        return toy.V.v * e.h.detach()

    own, fresh = Update("own", ("V",), watch), Update("fresh", ("V",), watch, repeat=2, batch="fresh")
    others = iter([5.0, 7.0])
    step(toy, (own, fresh, own), toy.source(3), lambda g: toy.source(next(others))(g), kind="sgd", rate=0.0)
    assert seen == [3.0, 5.0, 7.0, 3.0]


def test_an_assignment_sets_a_buffer_in_place_and_moves_nothing():
    toy = Toy()
    buffer = toy.average
    line = Assign("average", lambda e: {"average": 0.5 * toy.average + 0.5 * e.h})
    step(toy, (line, line), toy.source(3), kind="sgd", rate=0.1)
    assert toy.average is buffer
    assert toy.average.item() == pytest.approx(0.5 * 1.5 + 1.5)
    assert toy.W.w.item() == 1.0


def test_a_second_optimizer_has_a_memory_of_its_own():
    shared, apart = Toy(), Toy()
    up = Update("up", ("W",), lambda e: e.h)
    down = Update("down", ("W",), lambda e: -0.001 * e.h)
    for toy, second in ((shared, down), (apart, replace(down, optimizer="second"))):
        optimizers = Optimizers(Alone(toy).weights, "adam", 0.0)
        for _ in range(5):
            step(toy, (up, second), toy.source(1), optimizers=optimizers, rate=0.1)
    # One Adam weighs the small gradient against the large; two of them make equal steps, which cancel.
    assert apart.W.w.item() == pytest.approx(1.0, abs=1e-5)
    assert shared.W.w.item() < 0.6
