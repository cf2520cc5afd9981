"""Who meets on Adult: a method of ours and fairlearn's AdversarialFairnessClassifier, trained as alike as can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from search import Aloud
from torch import nn

import csad
from csad.data import Dataset, Samples
from csad.registry import DATASETS, METHODS
from csad.runs.settings import experiment, own_settings, resolve
from csad.training.batches import batches_per_epoch
from csad.training.device import repeatable

VALIDATION = 0.2  # the share of the training rows on which a weight is chosen
# fairlearn's; without hidden units, or with the three of its own example, it did worse on split 0's validation rows.
ADVERSARY = [32, "relu"]
Predict = Callable[[NDArray[Any]], NDArray[Any]]


class Contestant(Protocol):
    """Somebody who learns Adult under a weight that says how much fairness counts."""

    name: str
    weights: Sequence[float]  # to choose from; none: there is nothing to choose

    def try_all(self, split: int, held_out: Dataset) -> Mapping[float, Predict]:
        """What predicts after training without the validation rows, for each weight that came to its end."""

    def train(self, split: int, whole: Dataset, weight: float | None) -> Predict:
        """What predicts after training on all training rows."""


class Ours:
    """A method of csad with the settings of adult.toml; all weights are tried as one program."""

    def __init__(self, method: str, weights: Sequence[float], data_root: Path | None, device: str) -> None:
        self.name, self.method, self.device = f"csad: {method}", method, device
        self.weights = weights if "debias_weight" in own_settings("settings", METHODS[method]) else ()
        self.data_root = data_root

    def try_all(self, split: int, held_out: Dataset) -> Mapping[float, Predict]:
        """One sweep; the data set is read again by its name."""
        settings = {"debias_weight": list(self.weights), "data.split": split, "data.validation": VALIDATION}
        with TemporaryDirectory() as out:
            made = csad.sweep(
                "adult", self.method, settings=settings, out=out, keep_weights=True, device=self.device,
                data_root=self.data_root, listener=Aloud(),
            )  # fmt: skip
            return {
                weight: csad.load(made.out / run["name"], device=self.device).predict
                for weight, run in zip(self.weights, made.runs, strict=True)
                if run["result"]
            }

    def train(self, split: int, whole: Dataset, weight: float | None) -> Predict:
        """One run; the data set is read again by its name."""
        own = {} if weight is None else {"debias_weight": weight}
        run = csad.train(
            "adult", self.method, settings={"data.split": split, **own}, device=self.device, data_root=self.data_root,
            listener=Aloud(),
        )  # fmt: skip
        return run.predict


class Theirs:
    """fairlearn's adversarial classifier on torch, with the net and the length of training of a method of ours."""

    name = "fairlearn"

    def __init__(self, weights: Sequence[float], method: str, device: torch.device) -> None:
        plan = resolve(method, DATASETS["adult"], experiment("adult"), {})
        self.weights, self.device, self.course = weights, device, plan.course()
        widths = [*plan.net["hidden"], plan.net["branch"]]
        self.hidden = [layer for width in widths for layer in (width, "relu")]  # it adds one output and a sigmoid

    def try_all(self, split: int, held_out: Dataset) -> Mapping[float, Predict]:
        """One fit after the other; one whose losses were no numbers any more is left out."""
        found = {}
        for weight in self.weights:
            try:
                found[weight] = self.fit(held_out.train, weight)
            except RuntimeError as error:
                print(f"fairlearn, alpha {weight:g}: {str(error).splitlines()[0]}", flush=True)
        return found

    def train(self, split: int, whole: Dataset, weight: float | None) -> Predict:
        """One fit."""
        assert weight is not None
        return self.fit(whole.train, weight)

    def fit(self, train: Samples, alpha: float) -> Predict:
        """What predicts after a fit; its weights and order come from seed 0, whatever its random_state is."""
        from fairlearn.adversarial import AdversarialFairnessClassifier

        rows = balanced_rows(train.y.numpy())
        x, y, groups = train.x.numpy()[rows], train.y.numpy()[rows], one_column(train.b.numpy())[rows]
        model = AdversarialFairnessClassifier(
            backend="torch",
            predictor_model=self.hidden,
            adversary_model=ADVERSARY,
            predictor_optimizer=self.adam,
            constraints="equalized_odds",
            learning_rate=self.course.pretrain_rate,
            alpha=alpha,
            epochs=self.epochs(train, len(rows)),
            batch_size=self.course.batch_size,
            shuffle=True,
            cuda=str(self.device) if self.device.type == "cuda" else None,
            random_state=0,
        )
        with repeatable(self.device, deterministic=False):  # it seeds torch for all
            model.fit(x, y, sensitive_features=groups)
        predict: Predict = model.predict
        return predict

    def adam(self, net: nn.Module) -> torch.optim.Optimizer:
        """Adam as ours has it; fairlearn's own has no weight decay and did worse on split 0's validation rows."""
        return torch.optim.Adam(net.parameters(), self.course.pretrain_rate, weight_decay=self.course.weight_decay)

    def epochs(self, train: Samples, rows: int) -> int:
        """How often it goes through its rows, to take at least as many steps as our target branch does."""
        steps = (self.course.target_epochs + self.course.epochs) * batches_per_epoch(train.y, self.course)
        return math.ceil(steps / math.ceil(rows / self.course.batch_size))


def balanced_rows(y: NDArray[np.integer]) -> NDArray[np.integer]:
    """Row numbers in which all classes come equally often: rows of a rarer class again, in their order."""
    groups = [np.flatnonzero(y == label) for label in np.unique(y)]
    most = max(map(len, groups))
    return np.concatenate([np.resize(rows, most) for rows in groups])


def one_column(b: NDArray[np.integer]) -> NDArray[np.integer]:
    """Gender and race as one class of four."""
    return 2 * b[:, 0] + b[:, 1]
