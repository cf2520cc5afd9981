"""Probes: models that learn to predict a label from features and score rows that they did not learn from.

Every probe is a regression on the targets (an indicator for each class, or a number's rank), so that classes and
numbers are treated alike: only the order of the scores counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.leakage.bias_column import Folds, Integers

Features = NDArray[np.floating]
Probe = Callable[
    [Features, Features, Features], Features
]  # (features to learn from, their targets, features to score) → scores
MOST_FEATURES = 1024  # wider rows are folded into as many: time grows with their square
MOST_DEVIATIONS = 10.0  # standard deviations from the mean at most, or one strange row would lead a probe


def linear_scores(train: Features, targets: Features, test: Features) -> Features:
    """Scores of the linear probe: discriminant analysis with Ledoit and Wolf's shrunk covariance."""
    from sklearn.covariance import ledoit_wolf

    covariance, _ = ledoit_wolf(train)
    # A little more, since columns that repeat one another are at times not shrunk at all; their variances are 1.
    covariance += 1e-4 * np.eye(train.shape[1])
    scores: Features = test @ np.linalg.solve(covariance, train.T @ targets / len(train))
    return scores


def mlp_scores(train: Features, targets: Features, test: Features) -> Features:
    """Scores of a net with one hidden layer of 32, which also has the length of each row as an input.

    A net that learns, since fixed kernels lose a leak in two of many features; the length, since that is hard to learn
    and easily leaks. Decay is strong and epochs are few: leaks worth finding are weak, and rows are scarce.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    size = min(len(train), max(16, min(200, len(train) // 20)))
    lengths = [np.square(part).mean(1, keepdims=True) for part in (train, test)]
    mean, spread = lengths[0].mean(), lengths[0].std() or 1.0
    train, test = (np.hstack([p, (q - mean) / spread]) for p, q in zip((train, test), lengths, strict=True))
    # The decay is divided by the size of a mini-batch; training never stops before the last epoch.
    net = MLPRegressor(
        hidden_layer_sizes=(32,),
        alpha=0.04 * size,
        batch_size=size,
        learning_rate_init=3e-3,
        max_iter=40,
        n_iter_no_change=40,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the epochs are a choice, not a failure
        net.fit(train, targets if targets.shape[1] > 1 else targets[:, 0])
    scores: Features = net.predict(test).reshape(len(test), -1)
    return scores


def neighbor_scores(train: Features, targets: Features, test: Features) -> Features:
    """Scores of nearest neighbors: the mean target of the √n nearest."""
    from sklearn.neighbors import KNeighborsRegressor

    nearest = KNeighborsRegressor(n_neighbors=isqrt(len(train)) or 1, algorithm="brute").fit(train, targets)
    scores: Features = nearest.predict(test)
    return scores


PROBES: Mapping[str, Probe] = {"linear": linear_scores, "mlp": mlp_scores, "neighbors": neighbor_scores}


def probe_scores(probe: Probe, features: Features, targets: Features, folds: Folds) -> Features:
    """(rows, scores): what a probe predicts for each block after learning from those before; 0 in the first block."""
    scores = np.zeros(targets.shape)
    for train, test in folds.turns():
        train_features, test_features = standardized(features, train, test, folds.stratum)
        if train_features.shape[1]:
            center = centers(targets, train, folds.stratum)
            residual = targets[train] - center[folds.stratum[train]]
            scores[test] = probe(train_features, residual / (residual.std(0) + 1e-12), test_features)
    return scores


def standardized(features: Features, train: Integers, test: Integers, strata: Integers) -> tuple[Features, Features]:
    """Features of the rows to learn from and to score, less the mean of their stratum, over the spread.

    Both are taken from the rows to learn from. Less the mean, what the stratum tells is no news. Features that are
    constant in these rows are left out.
    """
    center = centers(features, train, strata)
    train_part, test_part = (features[rows] - center[strata[rows]] for rows in (train, test))
    spread = train_part.std(0)
    varying = spread > 1e-6 * np.abs(features[train]).max(0)
    train_part, test_part = (
        np.clip(part[:, varying] / spread[varying], -MOST_DEVIATIONS, MOST_DEVIATIONS)
        for part in (train_part, test_part)
    )
    return train_part, test_part


def centers(values: Features, train: Integers, strata: Integers) -> Features:
    """(strata, columns): the means of the rows to learn from; of all of them for a stratum without any."""
    members = np.zeros((strata.max() + 1, len(train)))
    members[strata[train], np.arange(len(train))] = 1
    count = members.sum(1, keepdims=True)
    means: Features = np.where(count > 0, members @ values[train] / np.maximum(count, 1), values[train].mean(0))
    return means


def as_features(layer: NDArray[Any], generator: np.random.Generator) -> Features:
    """(rows, columns) of float64; one column of whole numbers becomes a column for each, wide rows are folded."""
    if layer.ndim == 1 and layer.dtype.kind in "iub" and len(values := np.unique(layer)) <= MOST_FEATURES:
        layer = layer[:, None] == values
    layer = layer.reshape(len(layer), -1)
    return folded(layer, generator) if layer.shape[1] > MOST_FEATURES else layer.astype(np.float64)


def folded(layer: NDArray[Any], generator: np.random.Generator) -> Features:
    """(rows, MOST_FEATURES): each feature, standardized, is added with a random sign to one column drawn at random."""
    features = np.zeros((len(layer), MOST_FEATURES))
    for start in range(0, layer.shape[1], MOST_FEATURES):
        part = layer[:, start : start + MOST_FEATURES].astype(np.float64)
        spread = part.std(0)
        sign = generator.choice([-1.0, 1.0], part.shape[1]) / np.where(spread > 0, spread, np.inf)
        features[:, generator.permutation(MOST_FEATURES)[: part.shape[1]]] += sign * (part - part.mean(0))
    return features
