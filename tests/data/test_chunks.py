"""Rows go through a net as many at a time as memory bears, however many there are and whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import csad
from csad.data import chunks
from csad.data.chunks import rows_at_a_time
from csad.methods.vanilla import Vanilla
from csad.report.explain import integrated_gradients

RNG = np.random.default_rng(0)
X, Y, B = RNG.normal(size=(200, 6)).astype(np.float32), np.arange(200) % 2, np.arange(200) // 2 % 2
QUICK = {f"train.{name}": 1 for name in ("target_epochs", "bias_epochs", "estimator_epochs", "epochs")}


@pytest.mark.parametrize(
    ("shape", "runs", "rows"),
    [
        ((41,), 1, 1000),
        ((3, 28, 28), 1, 1000),
        ((3, 64, 64), 1, 682),
        ((3, 224, 224), 1, 55),
        ((3, 224, 224), 5, 11),
        ((3, 4096, 4096), 1, 1),
        ((41,), 84, 11),
        ((41,), 5000, 1),
        ((), 1, 1000),
    ],
)
def test_fewer_rows_are_taken_where_each_is_large(shape: tuple[int, ...], runs: int, rows: int) -> None:
    assert rows_at_a_time(shape, runs) == rows


class Counting(nn.Module):
    """Notes how many rows it is given at a time where no gradient is wanted."""

    seen: ClassVar[list[int]] = []  # of all copies

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 8)

    def forward(self, x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            self.seen.append(len(x))
        return torch.relu(self.layer(x))


def trained() -> csad.Run:
    return csad.train(csad.from_arrays(X, Y, B), backbone=Counting(), settings=QUICK, device="cpu", batch_size=16)


def looked() -> Any:
    run = trained()
    Counting.seen.clear()
    return integrated_gradients(run, torch.from_numpy(X[:40]), torch.zeros(6))


def audited(module: nn.Module) -> Any:
    return csad.audit(nn.Sequential(module, nn.Linear(8, 2)), X, Y, B)


@pytest.mark.parametrize(
    "ask",
    [
        trained,
        lambda: trained().predict(X),
        lambda: audited(Counting()),
        looked,
    ],
    ids=["train", "predict", "audit", "look"],
)
def test_no_more_rows_go_through_a_net_at_once(ask: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_NUMBERS", 7 * 6 + 3)
    Counting.seen.clear()
    ask()
    assert max(Counting.seen) == (1 if ask is looked else 7)  # which makes 16 of each row


def test_a_fitted_estimator_takes_no_more_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = csad.DebiasedClassifier("vanilla", epochs=1, random_state=0).fit(X, Y, bias=B)
    expected, seen = model.predict_proba(X), []
    monkeypatch.setattr(chunks, "MOST_ROWS", 7)
    predict = Vanilla.predict
    monkeypatch.setattr(Vanilla, "predict", lambda self, x: seen.append(len(x)) or predict(self, x))
    assert np.allclose(model.predict_proba(X), expected, atol=1e-6)
    assert max(seen) == 7
