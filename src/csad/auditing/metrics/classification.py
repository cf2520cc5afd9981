"""Metrics of predictions and probabilities against labels; all but the squared error are fractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.auditing.metrics.metric import METRICS
from csad.errors import InputError

Labels = NDArray[np.integer]


@METRICS.register(
    "mean_squared_error",
    label="mean squared error",
    better="lower",
    group="accuracy",
    target="number",
    by_group=True,
)
def mean_squared_error(predicted: NDArray[Any], y: NDArray[Any]) -> float:
    """The mean of (predicted − y)² of a target that is a number."""
    return float(np.mean((predicted - y) ** 2))


@METRICS.register("accuracy", label="accuracy", better="higher", group="accuracy", by_group=True)
def accuracy(predicted: Labels, y: Labels) -> float:
    """The share of rows that are right."""
    return float(np.mean(predicted == y))


class ClassCounts(NamedTuple):
    """Rows counted by class, each (classes,)."""

    rows: NDArray[np.integer]  # that are of the class
    right: NDArray[np.integer]  # of these, those that are predicted as the class


@METRICS.share("by_class")
def class_counts(predicted: Labels, y: Labels) -> ClassCounts:
    """The rows of each class in y, and how many of them are right."""
    rows = np.bincount(y)
    return ClassCounts(rows, np.bincount(y[predicted == y], minlength=len(rows)))


def balanced_accuracy(predicted: Labels, y: Labels) -> float:
    """The mean over the classes present of the share that is right in each."""
    return mean_recall(class_counts(predicted, y))


@METRICS.register("balanced_accuracy", label="balanced accuracy", better="higher", group="accuracy")
def mean_recall(by_class: ClassCounts) -> float:
    """The mean over the classes present of the share that is right in each."""
    present = by_class.rows > 0
    return float(np.mean(by_class.right[present] / by_class.rows[present]))


@METRICS.register("recall_{class}", label="recall of {class}", better="higher", group="accuracy")
def recalls(by_class: ClassCounts) -> dict[str, float]:
    """``recall_0``, ``recall_1``, …: the share that is right of the rows of each class in y."""
    rows, right = by_class
    return {f"recall_{k}": float(right[k] / rows[k]) for k in np.flatnonzero(rows).tolist()}


@METRICS.register("f1", label="F1", better="higher")
def f1(predicted: Labels, y: Labels, classes: int) -> float | None:
    """2 right / (rows + predicted): of class 1 where there are two classes, else the mean over the classes.

    The mean is over classes that are in y or predicted. None where two classes are told apart and y lacks class 1.
    """
    rows, predictions = (np.bincount(labels, minlength=max(2, classes)) for labels in (y, predicted))
    both = np.bincount(y[predicted == y], minlength=len(rows))
    if classes <= 2:
        return float(2 * both[1] / (rows[1] + predictions[1])) if rows[1] else None
    present = rows + predictions > 0
    return float(np.mean(2 * both[present] / (rows + predictions)[present]))


def consistency(predictions: Sequence[Labels]) -> float:
    """The share of rows that are predicted alike in all copies, each given as its predictions row by row."""
    if not len(predictions) or len({len(copy) for copy in predictions}) > 1 or not len(predictions[0]):
        raise InputError("copies-unequal-length")
    return float(np.mean(np.all(np.stack(predictions) == predictions[0], axis=0)))


def cell_accuracy(
    predicted: Labels, y: Labels, group: Labels, groups: int, classes: int
) -> Sequence[Sequence[float | None]]:
    """Accuracy in each cell of group (rows) against class (columns); None where a cell holds no row."""
    right = predicted == y
    cells = [[right[(group == g) & (y == c)] for c in range(classes)] for g in range(groups)]
    return [[float(cell.mean()) if len(cell) else None for cell in row] for row in cells]


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


@METRICS.share("ranks")
def ranking(probabilities: Probabilities, y: Labels) -> Ranking | None:
    """AUC and AP of class 1 where there are two classes, else the mean over classes, each against the rest.

    Only classes that some rows are of, and not all, count; None if there are none.
    """
    columns = np.ascontiguousarray(probabilities.T)
    ranked = [ranks for c in _ranked_classes(probabilities) if (ranks := rank(columns[c], y == c))]
    return Ranking(*(float(np.mean(values)) for values in zip(*ranked, strict=True))) if ranked else None


@METRICS.register("auc", label="AUC of the target", better="higher", group="ranking")
def auc(ranks: Ranking) -> float:
    """The area under the curve of true against false positive rate."""
    return ranks.auc


@METRICS.register("ap", label="average precision", better="higher", group="ranking")
def average_precision(ranks: Ranking) -> float:
    """The sum over thresholds of the recall gained times the precision there."""
    return ranks.ap


def auc_within(probabilities: Probabilities, y: Labels, group: Labels) -> float | None:
    """The AUC among rows of one group: how well y is ranked where b is equal; groups are joined as block_auc.py does.

    The mean over the same classes as in ``ranking``, of those which in some group some rows are of, and not all; None
    where there are none. ``group`` has numbers from 0.
    """
    areas = [_auc_in(probabilities[:, c], y == c, group) for c in _ranked_classes(probabilities)]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else None


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


@METRICS.register(
    "in_true_order",
    label="pairs of rows in their true order",
    better="higher",
    group="order",
    short="in true order",
    selects=False,
)
def in_true_order(score: NDArray[np.floating], evidence: NDArray[np.floating]) -> float | None:
    """The share of pairs of rows that a score puts in their true order; those of one score count half.

    Pairs of equal evidence do not count; None where all are.
    """
    from scipy.stats import kendalltau

    apart, told_apart = _pairs_apart(evidence), _pairs_apart(score)
    if not apart or not told_apart:
        return 0.5 if apart else None
    tau = kendalltau(score, evidence).statistic  # (agreeing − disagreeing pairs) / √(apart · told_apart)
    return float(0.5 + tau * np.sqrt(told_apart / apart) / 2)


def _pairs_apart(values: NDArray[np.floating]) -> int:
    """How many pairs of rows have unlike values."""
    counts = np.unique(values, return_counts=True)[1]
    return int(len(values) ** 2 - np.sum(counts**2)) // 2


def _ranked_classes(probabilities: Probabilities) -> Sequence[int]:
    return (1,) if probabilities.shape[1] == 2 else range(probabilities.shape[1])


BINS = 15


# A model that predicts the shares of the classes for every row is calibrated: no epoch is chosen by it.
@METRICS.register("ece", label="calibration error", better="lower", group="calibration", selects=False, by_group=True)
def expected_calibration_error(probabilities: Probabilities, y: Labels, bins: int = BINS) -> float:
    """Σ_bins (rows in the bin / all rows) · |accuracy − mean top probability|; 0 is best.

    A row is in the bin of its top probability; bins are equally wide, each with its upper edge and without its lower.
    """
    best = probabilities.argmax(1)
    top = probabilities[np.arange(len(best)), best].astype(np.float64)
    place = np.clip(np.ceil(top * bins).astype(np.int64) - 1, 0, bins - 1)
    excess = np.bincount(place, weights=(best == y) - top, minlength=bins)
    return float(np.abs(excess).sum() / len(top))
