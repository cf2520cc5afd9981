"""Fresh readers: each learns from features what to say of a label, and scores rows that it has not seen.

Every reader is a regression on the targets (an indicator for each class, or a number's rank), so that classes and
numbers are read alike: only the order of the scores counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.blocks import Deal
from csad.auditing.columns import Numbers

Array = NDArray[np.floating]
Reader = Callable[[Array, Array, Array], Array]
MOST_FEATURES = 1024  # wider rows are folded into as many: time grows with their square
FARTHEST = 10.0  # standard deviations from the mean at most, or one strange row would lead a reader


def linear(seen: Array, targets: Array, rows: Array) -> Array:
    """Scores of the linear reader: discriminant analysis with Ledoit and Wolf's shrunk covariance."""
    from sklearn.covariance import ledoit_wolf

    covariance, _ = ledoit_wolf(seen)
    # A little more, since columns that repeat one another are at times not shrunk at all; their variances are 1.
    covariance += 1e-4 * np.eye(seen.shape[1])
    scores: Array = rows @ np.linalg.solve(covariance, seen.T @ targets / len(seen))
    return scores


def mlp(seen: Array, targets: Array, rows: Array) -> Array:
    """Scores of a net with one hidden layer of 32, which is also shown how long each row is.

    Learnt, since a leak that sits in two of many features is lost on fixed kernels; the length, since that is hard to
    learn and easily leaks. Decay is strong and epochs few: leaks worth finding are weak, and rows scarce.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    size = min(len(seen), max(16, min(200, len(seen) // 20)))
    lengths = [np.square(part).mean(1, keepdims=True) for part in (seen, rows)]
    mean, spread = lengths[0].mean(), lengths[0].std() or 1.0
    seen, rows = (np.hstack([p, (q - mean) / spread]) for p, q in zip((seen, rows), lengths, strict=True))
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
        net.fit(seen, targets if targets.shape[1] > 1 else targets[:, 0])
    scores: Array = net.predict(rows).reshape(len(rows), -1)
    return scores


def neighbours(seen: Array, targets: Array, rows: Array) -> Array:
    """Scores of nearest neighbours: the mean target of the √n nearest."""
    from sklearn.neighbors import KNeighborsRegressor

    nearest = KNeighborsRegressor(n_neighbors=isqrt(len(seen)) or 1, algorithm="brute").fit(seen, targets)
    scores: Array = nearest.predict(rows)
    return scores


READERS: Mapping[str, Reader] = {"linear": linear, "mlp": mlp, "neighbours": neighbours}


def read(reader: Reader, features: Array, targets: Array, dealt: Deal) -> Array:
    """(rows, scores): what a reader says of each block, having learnt from those before; 0 in the first block."""
    scores = np.zeros(targets.shape)
    for seen, rows in dealt.turns():
        shown, asked = standardised(features, seen, rows, dealt.stratum)
        if shown.shape[1]:
            centre = centres(targets, seen, dealt.stratum)
            wanted = targets[seen] - centre[dealt.stratum[seen]]
            scores[rows] = reader(shown, wanted / (wanted.std(0) + 1e-12), asked)
    return scores


def standardised(features: Array, seen: Numbers, rows: Numbers, strata: Numbers) -> tuple[Array, Array]:
    """Features of the rows seen and asked, less the mean of their stratum, over the spread; both of the rows seen.

    Less the mean, what is given with the stratum is no news. Features that are constant in the rows seen are left out.
    """
    centre = centres(features, seen, strata)
    shown, asked = (features[part] - centre[strata[part]] for part in (seen, rows))
    spread = shown.std(0)
    moving = spread > 1e-6 * np.abs(features[seen]).max(0)
    shown, asked = (np.clip(part[:, moving] / spread[moving], -FARTHEST, FARTHEST) for part in (shown, asked))
    return shown, asked


def centres(values: Array, seen: Numbers, strata: Numbers) -> Array:
    """(strata, columns): the means of the rows seen; of all of them for a stratum of which none was seen."""
    members = np.zeros((strata.max() + 1, len(seen)))
    members[strata[seen], np.arange(len(seen))] = 1
    count = members.sum(1, keepdims=True)
    means: Array = np.where(count > 0, members @ values[seen] / np.maximum(count, 1), values[seen].mean(0))
    return means


def as_features(layer: NDArray[Any], generator: np.random.Generator) -> Array:
    """(rows, columns) of float64; one column of whole numbers becomes a column for each, wide rows are folded."""
    if layer.ndim == 1 and layer.dtype.kind in "iub" and len(values := np.unique(layer)) <= MOST_FEATURES:
        layer = layer[:, None] == values
    layer = layer.reshape(len(layer), -1)
    return folded(layer, generator) if layer.shape[1] > MOST_FEATURES else layer.astype(np.float64)


def folded(layer: NDArray[Any], generator: np.random.Generator) -> Array:
    """(rows, MOST_FEATURES): each feature, standardised, is added with a random sign to one column drawn at random."""
    features = np.zeros((len(layer), MOST_FEATURES))
    for start in range(0, layer.shape[1], MOST_FEATURES):
        part = layer[:, start : start + MOST_FEATURES].astype(np.float64)
        spread = part.std(0)
        sign = generator.choice([-1.0, 1.0], part.shape[1]) / np.where(spread > 0, spread, np.inf)
        features[:, generator.permutation(MOST_FEATURES)[: part.shape[1]]] += sign * (part - part.mean(0))
    return features
