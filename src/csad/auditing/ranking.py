"""How well probabilities put the rows of a class before all others, and rows whose truth is known in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.auditing.metrics import Labels

Probabilities = NDArray[np.floating]


class Ranking(NamedTuple):
    """``auc``: area under the curve of true against false positive rate; ``ap``: average precision."""

    auc: float
    ap: float


def rank(score: Probabilities, positive: NDArray[np.bool_]) -> Ranking | None:
    """AUC = P(a positive's score is above a negative's), ties half; AP = Σ Δrecall · precision over the thresholds.

    Rows of one score come in together, as one threshold. None where there are no positives or only positives.
    """
    order = np.argsort(-score)
    falling = score[order]
    last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(score) - 1)  # the last row of each score
    true = np.cumsum(positive[order])[last]
    false = last + 1 - true
    if not true[-1] or not false[-1]:
        return None
    gained = np.diff(true, prepend=0)
    ahead = false[-1] - false + np.diff(false, prepend=0) / 2  # negatives below, and half of those at the same score
    auc = np.sum(gained * ahead) / (true[-1] * false[-1])
    return Ranking(float(auc), float(np.sum(gained * (true / (last + 1))) / true[-1]))


def ranking(probabilities: Probabilities, y: Labels) -> Ranking | None:
    """AUC and AP of class 1 where there are two classes, else the mean over classes, each against the rest.

    Only classes that some rows are of, and not all, count; None where there are none.
    """
    columns = np.ascontiguousarray(probabilities.T)
    found = [one for c in _ranked_classes(probabilities) if (one := rank(columns[c], y == c))]
    return Ranking(*(float(np.mean(values)) for values in zip(*found, strict=True))) if found else None


def auc_within(probabilities: Probabilities, y: Labels, group: Labels) -> float | None:
    """The AUC among rows of one group, all groups joined as within.py does: what is told of y where b tells nothing.

    The mean over the same classes as in ``ranking``, of those which in some group some rows are of, and not all; None
    where there are none. ``group`` has numbers from 0.
    """
    found = [_auc_in(probabilities[:, c], y == c, group) for c in _ranked_classes(probabilities)]
    told = [auc for auc in found if auc is not None]
    return float(np.mean(told)) if told else None


def _auc_in(score: Probabilities, positive: NDArray[np.bool_], group: Labels) -> float | None:
    """One class's: for all groups at once, since there may be many, by ranks, ties having their mean."""
    order = np.argsort(score)
    small = group.astype(np.uint16) if group.max() < 2**16 else group  # is sorted by counting
    order = order[np.argsort(small[order], kind="stable")]
    score, positive, group = score[order], positive[order], group[order]
    rows, yes = np.bincount(group), np.bincount(group, weights=positive)
    pairs = np.sum(yes * (rows - yes) / (rows + 1))
    if not pairs:
        return None
    begins = np.append(True, (score[1:] != score[:-1]) | (group[1:] != group[:-1]))  # of rows with one score
    first = np.flatnonzero(begins)
    after = np.append(first[1:], len(score))
    place = ((first + after + 1) / 2)[np.cumsum(begins) - 1]  # among all rows, from 1
    before = (np.cumsum(rows) - rows)[group]
    ranks = np.bincount(group, weights=(place - before) * positive)
    return float(np.sum((ranks - yes * (yes + 1) / 2) / (rows + 1)) / pairs)


def in_true_order(score: NDArray[np.floating], truth: NDArray[np.floating]) -> float | None:
    """The share of pairs of rows that a score puts in their true order; those of one score count half.

    Pairs that are level in truth do not count; None where all are.
    """
    from scipy.stats import kendalltau

    apart, told_apart = _pairs_apart(truth), _pairs_apart(score)
    if not apart or not told_apart:
        return 0.5 if apart else None
    tau = kendalltau(score, truth).statistic  # (agreeing − disagreeing pairs) / √(apart · told_apart)
    return float(0.5 + tau * np.sqrt(told_apart / apart) / 2)


def _pairs_apart(values: NDArray[np.floating]) -> int:
    """How many pairs of rows have unlike values."""
    counts = np.unique(values, return_counts=True)[1]
    return int(len(values) ** 2 - np.sum(counts**2)) // 2


def _ranked_classes(probabilities: Probabilities) -> Sequence[int]:
    return (1,) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
