"""Reweighing: the weights of small tables by hand, and the loss that they make."""

import math

import numpy as np
import pytest
import torch

from csad.data.samples import Classes, Number
from csad.methods.method import Encoded
from tests.support.messages import refused
from tests.support.steps_by_hand import NAN, PARTS, TWO, of_task, reading_logits


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
    assert method.weighted_loss(Encoded(h, y, b, y)).item() == pytest.approx(by_hand)


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
    with refused("method-needs-classes", method="reweigh"):
        of_task("reweigh", target, biases, torch.randn(4, 3), torch.arange(4) % 2, torch.zeros(4, 2))
