"""Our Adam and SGD are torch's, and their state survives a trip through a file."""

import pytest
import torch
from torch import nn

from csad.training.descent import Adam, Optimisers, Sgd


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
    optimiser = ours(dict(mine.named_parameters()), weight_decay)
    standard = theirs(reference.parameters(), weight_decay)
    for step in range(100):
        rate = 1e-3 * 0.97**step
        gradients = torch.autograd.grad(loss_of(mine, step), list(mine.parameters()))
        optimiser.step(gradients, rate)
        standard.param_groups[0]["lr"] = rate
        standard.zero_grad()
        loss_of(reference, step).backward()
        standard.step()
    for own, other in zip(mine.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-10, atol=1e-12)


def test_adams_first_step_by_hand():
    weight = nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.double))
    # The first step of Adam is the rate, against the sign of the gradient, but for epsilon.
    Adam({"w": weight}, 0.0).step([torch.tensor([4.0, -0.5], dtype=torch.double)], 0.1)
    torch.testing.assert_close(weight.detach(), torch.tensor([0.9, -1.9], dtype=torch.double), rtol=0, atol=1e-8)


class TwoParts(nn.Module):
    def __init__(self):
        super().__init__()
        self.A, self.B = nn.Linear(2, 2), nn.Linear(2, 2)


def test_a_part_keeps_one_optimiser_and_a_named_one_is_another():
    optimisers = Optimisers(TwoParts(), "adam", 0.0)
    assert optimisers.of("A") is optimisers.of("A")
    assert optimisers.of("A") is not optimisers.of("B")
    assert optimisers.of("A", "second") is not optimisers.of("A")


def test_renewing_forgets_one_part_and_not_the_other():
    model = TwoParts()
    optimisers = Optimisers(model, "adam", 0.0)
    for part in ("A", "B"):
        optimisers.of(part).step([torch.ones_like(w) for w in optimisers.of(part).weights], 0.1)
    optimisers.renew(("A",))
    assert optimisers.of("A").state["steps"] == 0
    assert optimisers.of("B").state["steps"] == 1


def test_state_goes_into_another_and_both_go_on_alike():
    one, other = TwoParts(), TwoParts()
    other.load_state_dict(one.state_dict())
    first, second = Optimisers(one, "adam", 0.01), Optimisers(other, "adam", 0.01)

    def step(optimisers, k):
        for part, name in (("A", ""), ("B", ""), ("B", "second")):
            mover = optimisers.of(part, name)
            mover.step([torch.full_like(w, 0.1 * k - 0.3) for w in mover.weights], 0.05)

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
    assert len(Optimisers(model, "sgd", 0.1).of("A").weights) == 1
