"""Our Adam and SGD are torch's, and their state survives a trip through a file."""

import pytest
import torch
from torch import nn

from csad.methods.method import Method
from csad.training.optimizers import Adam, Optimizers, Sgd
from csad.training.stacking import Alone


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()


def loss_of(model, step):
    x = torch.randn(11, 5, dtype=torch.double, generator=torch.Generator().manual_seed(step))
    return model(x).pow(3).mean() + model(x).abs().sum()


@pytest.mark.parametrize("weight_decay", [0.0, 0.03])
@pytest.mark.parametrize(
    "ours, theirs",
    [
        (Adam, lambda w, d: torch.optim.Adam(w, lr=1.0, weight_decay=d)),
        (Sgd, lambda w, d: torch.optim.SGD(w, lr=1.0, momentum=0.9, weight_decay=d)),
    ],
)
def test_a_hundred_steps_equal_those_of_torch(ours, theirs, weight_decay):
    mine, reference = net(), net()
    optimizer = ours(dict(mine.named_parameters()), weight_decay)
    standard = theirs(reference.parameters(), weight_decay)
    for step in range(100):
        rate = 1e-3 * 0.97**step
        gradients = torch.autograd.grad(loss_of(mine, step), list(mine.parameters()))
        optimizer.step(gradients, torch.tensor(rate, dtype=torch.double))
        standard.param_groups[0]["lr"] = rate
        standard.zero_grad()
        loss_of(reference, step).backward()
        standard.step()
    for own, other in zip(mine.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [Adam, Sgd])
@pytest.mark.parametrize("decays", [0.03, (0.0, 0.03, 0.5)])
@pytest.mark.parametrize("rates", [1e-2, (1e-4, 1e-2, 0.1)])
def test_runs_with_a_rate_and_a_weight_decay_each_move_as_with_an_optimizer_each(kind, decays, rates):
    runs = 3
    shapes = {"matrix": (4, 5), "row": (7,), "number": ()}
    generator = torch.Generator().manual_seed(2)

    def drawn():
        return {n: torch.randn(runs, *s, generator=generator, dtype=torch.double) for n, s in shapes.items()}

    start, given = drawn(), [drawn() for _ in range(20)]
    weights = {name: value.clone() for name, value in start.items()}
    together = kind(weights, torch.tensor(decays, dtype=torch.double) if isinstance(decays, tuple) else decays)
    rate = torch.tensor(rates, dtype=torch.double)
    for step, gradients in enumerate(given):
        together.step(tuple(gradients.values()), rate * 0.9**step)
    for k in range(runs):
        own = {name: value[k].clone() for name, value in start.items()}
        alone = kind(own, decays[k] if isinstance(decays, tuple) else decays)
        for step, gradients in enumerate(given):
            alone.step([value[k] for value in gradients.values()], (rate[k] if rate.ndim else rate) * 0.9**step)
        for name, value in own.items():
            torch.testing.assert_close(weights[name][k], value, rtol=0, atol=1e-12, msg=name)
            assert (value - start[name][k]).abs().max() > 1e-6
        for name, value in alone.state.items():
            same = together.state[name] if name == "steps" else together.state[name][k]
            torch.testing.assert_close(same, value, rtol=0, atol=1e-12, msg=name)


def test_a_step_moves_the_weights_in_place_and_takes_gradients_of_any_layout():
    weight = nn.Parameter(torch.ones(3, 4, dtype=torch.double))
    other = nn.Parameter(torch.ones(3, 4, dtype=torch.double))
    gradient, rate = torch.arange(12, dtype=torch.double).reshape(4, 3).T, torch.tensor(0.1, dtype=torch.double)
    place = weight.data_ptr()
    for _ in range(3):
        first, second = Adam({"w": weight}, 0.01), Adam({"w": other}, 0.01)
        first.step([gradient], rate)
        second.step([gradient.contiguous()], rate)
    assert weight.data_ptr() == place
    assert torch.equal(weight, other)


@pytest.mark.parametrize("kind", [Adam, Sgd])
def test_a_weight_of_another_layout_is_moved_like_any_other(kind):
    usual = nn.Conv2d(3, 4, 3).double()
    other = nn.Conv2d(3, 4, 3).double().to(memory_format=torch.channels_last)
    other.load_state_dict(usual.state_dict())
    assert not other.weight.is_contiguous()
    movers = [kind(dict(layer.named_parameters()), 0.01) for layer in (usual, other)]
    for step in range(3):
        generator = torch.Generator().manual_seed(step)
        gradients = [torch.randn(w.shape, generator=generator, dtype=torch.double) for w in usual.parameters()]
        for mover in movers:
            mover.step(gradients, torch.tensor(0.1, dtype=torch.double))
    torch.testing.assert_close(usual.weight, other.weight, rtol=0, atol=1e-12)


def test_adams_first_step_by_hand():
    weight = nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.double))
    # The first step of Adam is the rate, against the sign of the gradient, but for epsilon.
    Adam({"w": weight}, 0.0).step(
        [torch.tensor([4.0, -0.5], dtype=torch.double)], torch.tensor(0.1, dtype=torch.double)
    )
    torch.testing.assert_close(weight.detach(), torch.tensor([0.9, -1.9], dtype=torch.double), rtol=0, atol=1e-8)


class TwoParts(nn.Module):
    named_tensors = Method.named_tensors

    def __init__(self):
        super().__init__()
        self.A, self.B = nn.Linear(2, 2), nn.Linear(2, 2)


def test_a_part_keeps_one_optimizer_and_a_named_one_is_another():
    optimizers = Optimizers(Alone(TwoParts()).weights, "adam", 0.0)
    assert optimizers.of("A") is optimizers.of("A")
    assert optimizers.of("A") is not optimizers.of("B")
    assert optimizers.of("A", "second") is not optimizers.of("A")


def test_renewing_forgets_one_part_and_not_the_other():
    model = TwoParts()
    optimizers = Optimizers(Alone(model).weights, "adam", 0.0)
    for part in ("A", "B"):
        optimizers.of(part).step([torch.ones_like(w) for w in optimizers.of(part).weights], torch.tensor(0.1))
    optimizers.renew(("A",))
    assert optimizers.of("A").state["steps"] == 0
    assert optimizers.of("B").state["steps"] == 1


def test_state_goes_into_another_and_both_go_on_alike():
    one, other = TwoParts(), TwoParts()
    other.load_state_dict(one.state_dict())
    first, second = Optimizers(Alone(one).weights, "adam", 0.01), Optimizers(Alone(other).weights, "adam", 0.01)

    def step(optimizers, k):
        for part, name in (("A", ""), ("B", ""), ("B", "second")):
            mover = optimizers.of(part, name)
            mover.step([torch.full_like(w, 0.1 * k - 0.3) for w in mover.weights], torch.tensor(0.05))

    step(first, 1)
    step(first, 2)
    other.load_state_dict(one.state_dict())
    second.load({key: value.clone() for key, value in first.state().items()})
    step(first, 3)
    step(second, 3)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True))


def test_a_frozen_weight_is_left_out():
    model = TwoParts()
    model.A.bias.requires_grad_(False)
    assert len(Optimizers(Alone(model).weights, "sgd", 0.1).of("A").weights) == 1
