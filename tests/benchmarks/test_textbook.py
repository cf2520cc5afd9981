"""The benchmark's textbook computes what csad computes: the two are timed on the same work."""

from dataclasses import replace

import pytest
import torch

from csad.methods.method import Encoded
from csad.registry import DATASETS
from csad.runs.build import build
from csad.runs.settings import experiment, resolve
from csad.training.iterate import iterate
from csad.training.optimizers import Optimizers
from csad.training.stacking import Alone
from tests.support.scripts import script

ROWS, PARTS = 24, ("F", "D_y", "P_y", "D_b", "P_b", "M")
pytestmark = pytest.mark.usefixtures("double")


@pytest.fixture
def both(double):
    """The textbook and csad's method with the same weights, neither with weight decay, and a mini-batch."""
    torch.manual_seed(0)
    textbook = script("benchmarks/textbook.py")
    theirs = textbook.Textbook("cpu")
    for adam in theirs.adam.values():
        # The scales are weights themselves there, which decay to 0; csad's decay to their start.
        adam.param_groups[0]["weight_decay"] = 0.0
    task = replace(DATASETS["digits"]().task, shape=(3, 28, 28))
    plan = resolve("csad", None, {**experiment("colored-mnist"), "data": {}}, {"debias_weight": 1.0, "sharpness": 10})
    ours = build(task, "csad", plan, 0)
    with torch.no_grad():
        for part in PARTS:
            pairs = zip(weights(ours, part), weights(theirs, part), strict=True)
            for mine, other in pairs:
                mine.copy_(other)
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(ROWS, 3, 28, 28, generator=generator) * 2 - 1
    y = torch.randint(10, (ROWS,), generator=generator)
    b = torch.randint(3, (ROWS, 3), generator=generator)
    return ours, theirs, textbook.near, (x, y, b)


def weights(model, part):
    """The weights of a part but for the scales, which csad writes in another way."""
    return [weight for weight in model.get_submodule(part).parameters() if weight.ndim]


def test_both_see_the_same_information_and_send_the_same_gradient_to_F(both):
    ours, theirs, near, (x, y, b) = both
    assert torch.equal(near(b), ours.related(b) > 0)
    assert 0 < near(b).float().mean() < 1
    mine = ours.shared_information(Encoded(ours.F(x), y, b, torch.arange(ROWS)))
    h = theirs.F(x)
    other = -theirs.M(theirs.D_y(h), theirs.D_b(h), near(b))
    torch.testing.assert_close(mine, other, rtol=1e-10, atol=0)
    gradients = [torch.autograd.grad(value, weights(m, "F")) for value, m in ((mine, ours), (other, theirs))]
    for one, same in zip(*gradients, strict=True):
        torch.testing.assert_close(one, same, rtol=1e-9, atol=1e-12)


def test_two_iterations_lead_to_the_same_weights(both):
    ours, theirs, _, (x, y, b) = both
    target, bias, estimator, debias = ours.schedule()[-1].updates
    runs = Alone(ours)
    optimizers = Optimizers(runs.weights, "adam", 0.0)
    rate = torch.tensor(5e-5)
    for _ in range(2):
        # The textbook's bias branch learns, as the authors', from h before the target step; csad's from h after it.
        lines = (bias, target, estimator, debias)
        found = iterate(runs, lines, lambda g: Encoded(ours.F(x), y, b, None), None, optimizers, rate)
        losses = dict(zip(("target", "bias", "estimator", "debias"), theirs.iteration(x, y, b), strict=True))
        for name, loss in losses.items():
            torch.testing.assert_close(found[name], loss, rtol=1e-8, atol=1e-10, msg=name)
    for part in PARTS:
        for mine, other in zip(weights(ours, part), weights(theirs, part), strict=True):
            torch.testing.assert_close(mine, other, rtol=0, atol=1e-9, msg=part)
