"""CSAD within classes: what h_y tells of h_b where y is the same."""

import pytest
import torch

from csad.data.samples import Classes, Number, Task
from csad.errors import InputError
from csad.experiments.build import build
from csad.experiments.plan import resolve
from csad.methods.method import Encoded

SMALL = {"net.backbone": "mlp", "net.hidden": (5,), "net.branch": 3, "net.head": (), "net.estimator": (3, 3)}


TWO = Classes(2)


def made(target=TWO, **settings):
    task = Task("made", (4,), target, (TWO,), ("b",))
    return build(task, "csad", resolve("csad", None, {}, SMALL | {"pairs": "mean"} | settings), seed=0)


def rows(y, b):
    h = torch.randn(len(y), 5, generator=torch.Generator().manual_seed(1))
    return Encoded(h, torch.tensor(y), torch.tensor(b)[:, None], torch.arange(len(y)))


def test_a_mini_batch_of_one_class_is_measured_as_ever():
    e = rows([1] * 6, [0, 1, 0, 1, 1, 0])
    plain, within = (made(within_classes=chosen).shared_information(e) for chosen in (False, True))
    assert torch.equal(plain, within)


def test_only_pairs_of_one_class_are_counted():
    y, b = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0]
    method = made(within_classes=True)
    e = rows(y, b)
    scores = method.M.scale()[0] * method.M(method.D_y(e.h), method.D_b(e.h))
    pairs = [(i, j) for i in range(6) for j in range(6) if y[i] == y[j]]
    alike = torch.stack([scores[i, j] for i, j in pairs if b[i] == b[j]])
    others = torch.stack([scores[i, j] for i, j in pairs if b[i] != b[j]])
    by_hand = -torch.log1p(torch.exp(-alike).mean()) - torch.log1p(torch.exp(others).mean())
    torch.testing.assert_close(method.shared_information(e), by_hand)
    assert not torch.isclose(made().shared_information(e), by_hand)


def test_where_y_gives_b_away_there_is_nothing_to_tell_apart():
    method = made(within_classes=True)
    value = method.shared_information(rows([0, 0, 1, 1], [0, 0, 1, 1]))
    assert not any(
        slope.any() for slope in torch.autograd.grad(value, list(method.M.parameters()), materialize_grads=True)
    )


def test_a_target_of_numbers_has_no_classes():
    with pytest.raises(InputError, match="within_classes wants a target of classes"):
        made(Number(), within_classes=True)
