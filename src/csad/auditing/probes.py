"""Probes: how well a fresh reader can tell the bias from features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FOLDS = 5


def linear_probe(
    features: NDArray[np.floating], label: NDArray[np.integer], same: NDArray[np.integer]
) -> tuple[float, float] | None:
    """(accuracy of a fresh linear reader of the label, chance); None where there are not two labels to tell apart.

    Linear discriminant analysis, its covariance shrunk, cross-validated; rows that are alike in ``same`` (views of one
    sample) are never on both sides. Chance is the share of the commonest label: what a reader who sees nothing says.
    Give several times more rows than features, or a reader that could read looks blind; and rows in which target and
    bias are independent, or knowing the target is enough. Rows whose label is unknown (−1) or very rare are left out.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values, counts = np.unique(label[label >= 0], return_counts=True)
    kept = np.isin(label, values[counts >= FOLDS])  # a rarer label would be missing from whole folds
    features, label, same = features[kept], label[kept], same[kept]
    counts = counts[counts >= FOLDS]
    if len(counts) < 2 or len(np.unique(same)) < FOLDS:
        return None
    reader = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    scores = cross_val_score(reader, features, label, cv=folds, groups=same)
    return float(scores.mean()), float(counts.max() / len(label))
