"""Probes: how well a fresh reader can tell the bias from features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def linear_probe(features: NDArray[np.floating], label: NDArray[np.integer], seed: int = 0) -> tuple[float, float]:
    """(accuracy of a fresh linear reader of the label, chance), both over the rows whose label is known.

    Logistic regression on standardised features, five-fold cross-validated; chance is the share of the commonest
    label. The rows must come from data where target and bias are independent: elsewhere, knowing the target is enough.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kept = label >= 0
    features, label = features[kept], label[kept]
    values, counts = np.unique(label, return_counts=True)
    # A label too rare to be in every fold cannot be cross-validated.
    common = np.isin(label, values[counts >= 5])
    features, label = features[common], label[common]
    if len(np.unique(label)) < 2:
        return 1.0, 1.0
    chance = float(np.unique(label, return_counts=True)[1].max() / len(label))
    reader = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return float(cross_val_score(reader, features, label, cv=folds).mean()), chance
