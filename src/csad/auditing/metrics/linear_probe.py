"""How well a cross-validated linear probe reads the bias from a layer: the metrics of the paper's table of leakage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from csad.auditing.metrics.metric import METRICS

FOLDS = 5
LAYERS = ("h", "h_y")


@dataclass(frozen=True)
class LayerProbe:
    """How well a fresh linear probe reads one bias column from the features of a layer."""

    features: str
    column: str
    score: float
    chance: float


def linear_probe(
    features: NDArray[np.floating], label: NDArray[np.integer], same: NDArray[np.integer]
) -> tuple[float, float] | None:
    """(accuracy of a fresh linear probe of the label, chance); None if there are not two labels.

    Linear discriminant analysis, its covariance shrunk, cross-validated; rows that are alike in ``same`` (views of one
    sample) are never on both sides. Chance is the share of the commonest label: what a probe without features predicts.
    Give several times more rows than features, or a probe that could read the label looks blind; and rows in which
    target and bias are independent, or knowing the target is enough. Rows whose label is unknown (−1) or very rare are
    left out.

    The probes of an audit (``leakage.probes``) are others: they learn from fewer folds and are scored by AUC. This one
    stays as it is because committed results were made with it.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values, counts = np.unique(label[label >= 0], return_counts=True)
    common = np.isin(label, values[counts >= FOLDS])  # a rarer label would be missing from whole folds
    features, label, same = features[common], label[common], same[common]
    counts = counts[counts >= FOLDS]
    if len(counts) < 2 or len(np.unique(same)) < FOLDS:
        return None
    probe = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    scores = cross_val_score(probe, features, label, cv=folds, groups=same)
    return float(scores.mean()), float(counts.max() / len(label))


@METRICS.register("bias_from_h", label="bias from h", better="lower", group="probes", target="any", selects=False)
def bias_from_h(probes: Sequence[LayerProbe]) -> float:
    """The mean accuracy over the bias columns of probes of h, the encoder's features."""
    return fmean(probe.score for probe in probes if probe.features == "h")


@METRICS.register(
    "bias_from_h_y",
    label="bias from h_y",
    short="bias from h_y",
    better="lower",
    group="probes",
    target="any",
    selects=False,
)
def bias_from_h_y(probes: Sequence[LayerProbe]) -> float:
    """The mean accuracy over the bias columns of probes of h_y, the features of the target branch."""
    return fmean(probe.score for probe in probes if probe.features == "h_y")


@METRICS.register(
    "bias_chance",
    label="bias by chance",
    short="bias by chance",
    better="lower",
    group="probes",
    target="any",
    selects=False,
)
def bias_chance(probes: Sequence[LayerProbe]) -> float:
    """The mean over the bias columns of what a probe without features would have."""
    return fmean(probe.chance for probe in probes)
