"""Metrics that compare groups of rows: by one attribute, by cell of all attributes, and where the bias misleads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.auditing.metrics.classification import Labels, Probabilities, auc_within
from csad.auditing.metrics.metric import METRICS

ROOM = 4  # numbers per row up to which counting them all is quicker than sorting the rows


def without_gaps(labels: Labels) -> Labels:
    """The labels, all 0 or more, numbered anew from 0 without gaps, in their order."""
    labels = labels.astype(np.int64, copy=False)
    most = int(labels.max(initial=0)) + 1
    if most > ROOM * len(labels) + ROOM:
        return np.unique(labels, return_inverse=True)[1]
    present = np.bincount(labels, minlength=most) > 0
    numbers: Labels = (np.cumsum(present) - 1)[labels]
    return numbers


def cell_numbers(columns: Sequence[Labels]) -> Labels:
    """The number of each row's combination of labels, all 0 or more: from 0 without gaps, in their order."""
    cell = without_gaps(columns[0])
    for labels in columns[1:]:
        codes = without_gaps(labels)
        # Numbered anew each time: cells that hold a row are few, however many columns there are.
        cell = without_gaps(cell * (int(codes.max(initial=0)) + 1) + codes)
    return cell


def splitting(biases: Sequence[Labels]) -> list[Labels]:
    """The biases of which two groups or more are known."""
    columns = []
    for group in biases:
        known = group[group >= 0]
        if len(known) and known.min() < known.max():
            columns.append(group)
    return columns


@METRICS.share("conflicting")
def conflicting_cells(y: Labels, biases: Mapping[str, Labels]) -> Labels:
    """The number of each row's cell target × all attributes where that is against the bias, −1 elsewhere.

    Such a cell has fewer rows than if target and attributes were independent: on CelebA blond men and women who are
    not blond, as in Nam et al., NeurIPS 2020. Attributes of which fewer than two groups are known do not count, nor do
    rows in which one of the others is unknown.
    """
    cells = np.full(len(y), -1, np.int64)
    attributes = splitting(list(biases.values()))
    known = np.all([group >= 0 for group in attributes], axis=0) if attributes else np.zeros(len(y), bool)
    if not known.any():
        return cells
    target, group = without_gaps(y[known]), cell_numbers([attribute[known] for attribute in attributes])
    shape = int(target.max()) + 1, int(group.max()) + 1
    cell = target * shape[1] + group
    rows = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    independent = rows.sum(1, keepdims=True) * rows.sum(0)  # times all rows: whole numbers, so that equal is equal
    against = (rows * rows.sum() < independent).reshape(-1)
    cells[known] = np.where(against[cell], cell, -1)
    return cells


Counts = NDArray[np.integer]
Shares = NDArray[np.floating]


class Tally(NamedTuple):
    """Rows counted by group and class, each (groups, classes); all metrics of a bias follow from these."""

    rows: Counts  # that are of the class
    right: Counts  # of these, those that are predicted as the class
    predicted: Counts  # that are predicted as the class, whatever they are


@METRICS.share("counts")
def tally(predicted: Labels, y: Labels, bias: Labels, classes: int) -> Tally | None:
    """The counts of the rows whose group is known (not −1); None where fewer than two groups are."""
    known = bias >= 0
    if not known.all():
        predicted, y, bias = predicted[known], y[known], bias[known]
    code = without_gaps(bias)
    names = int(code.max(initial=-1)) + 1
    if names < 2:
        return None

    def count(chosen: Labels) -> Counts:
        return np.bincount(chosen, minlength=names * classes).reshape(names, classes)

    cell = code * classes + y
    return Tally(count(cell), count(cell[predicted == y]), count(code * classes + predicted))


@METRICS.share("gaps")
def recall_gaps(counts: Tally) -> Shares:
    """For each class, the range over groups of its recall P(predicted = c | y = c, group).

    Only groups with rows of the class count, and only classes of which two groups have rows: there may be none.
    """
    return _ranges(counts.right, counts.rows)


@METRICS.register("gap_{bias}_rms", label="typical recall gap, {bias}", better="lower", group="bias")
def gap_rms(gaps: Shares) -> float | None:
    """The root mean square of the recall gaps; None without any."""
    return float(np.sqrt(np.mean(gaps**2))) if len(gaps) else None


@METRICS.register("gap_{bias}_max", label="greatest recall gap, {bias}", better="lower", group="bias")
def gap_max(gaps: Shares) -> float | None:
    """The greatest recall gap; None without any."""
    return float(gaps.max()) if len(gaps) else None


@METRICS.register("demographic_parity_{bias}", label="demographic parity gap, {bias}", better="lower", group="bias")
def demographic_parity(counts: Tally) -> float:
    """The greatest range over groups of P(predicted = c | group), of all classes c."""
    return float(_ranges(counts.predicted, counts.rows.sum(1, keepdims=True)).max())


@METRICS.register("equal_opportunity_{bias}", label="equal opportunity gap, {bias}", better="lower", group="bias")
def equal_opportunity(counts: Tally) -> float | None:
    """The recall gap of class 1 where there are two classes, the mean of the classes' recall gaps where there are more.

    None where no two groups have rows of class 1, or of any class.
    """
    gaps = _ranges(counts.right[:, 1:2], counts.rows[:, 1:2]) if counts.rows.shape[1] == 2 else recall_gaps(counts)
    return float(gaps.mean()) if len(gaps) else None


@METRICS.register(
    "equalized_odds_{bias}",
    label="equalized odds gap, {bias}",
    better="lower",
    group="bias",
    summary=True,
    aliases=("equalised_odds_{bias}",),
)
def equalized_odds(counts: Tally) -> float | None:
    """The greatest range over groups of a true or a false positive rate, each class taken against the rest.

    None where no rate is known in two groups.
    """
    false, others = counts.predicted - counts.right, counts.rows.sum(1, keepdims=True) - counts.rows
    ranges = np.concatenate([recall_gaps(counts), _ranges(false, others)])
    return float(ranges.max()) if len(ranges) else None


def _ranges(part: Counts, whole: Counts) -> Shares:
    """The range over groups of part / whole, for each class of which it is known in two groups."""
    known = np.broadcast_to(whole > 0, part.shape)
    share = part / np.maximum(whole, 1)
    ranges = np.where(known, share, 0.0).max(0) - np.where(known, share, 1.0).min(0)
    comparable: Shares = ranges[known.sum(0) > 1]
    return comparable


class Known(NamedTuple):
    """The rows of which all attributes are known, and the number of each one's combination of them."""

    rows: NDArray[np.bool_]
    group: Labels


@METRICS.share("known")
def groups_known(biases: Mapping[str, Labels]) -> Known | None:
    """The groups that all attributes together make; those of which fewer than two groups are known do not count.

    None where no attribute or no row is left.
    """
    attributes = splitting(list(biases.values()))
    if not attributes:
        return None
    known = np.all([group >= 0 for group in attributes], axis=0)
    return Known(known, cell_numbers([group[known] for group in attributes])) if known.any() else None


@METRICS.share("shares")
def cell_shares(predicted: Labels, y: Labels, known: Known) -> Shares:
    """The accuracy of each cell target × all biases.

    Cells without rows do not count, nor do biases of which fewer than two groups are known, nor rows in which one of
    the others is unknown.
    """
    cell, right = cell_numbers([y[known.rows], known.group]), (predicted == y)[known.rows]
    shares: Shares = np.bincount(cell, weights=right) / np.bincount(cell)
    return shares


@METRICS.register("worst_group", label="accuracy in the worst cell", better="higher", group="cells")
def worst_group(shares: Shares) -> float:
    """The least accuracy of the cells target × all biases."""
    return float(shares.min())


@METRICS.register("unbiased", label="mean accuracy of cells", better="higher", group="cells")
def unbiased(shares: Shares) -> float:
    """The plain mean accuracy of the cells target × all biases."""
    return float(shares.mean())


@METRICS.register(
    "bias_conflicting",
    label="mean accuracy of cells that conflict with the bias",
    better="higher",
    group="cells",
    summary=True,
)
def bias_conflicting(predicted: Labels, y: Labels, conflicting: Labels) -> float | None:
    """The plain mean accuracy of the cells that are against the bias; None without such cells.

    Which cells are is a fact of a split, not of a draw of its rows: for a draw, ``conflicting`` are the cells of its
    rows as ``conflicting_cells`` numbered them for the split. A cell of which the draw has no row does not count.
    """
    held = conflicting >= 0
    if not held.any():
        return None
    numbers = without_gaps(conflicting[held])
    shares = np.bincount(numbers, weights=(predicted == y)[held]) / np.bincount(numbers)
    return float(shares.mean())


@METRICS.share("by_side")
def accuracy_by_side(predicted: Labels, y: Labels, side: Labels) -> tuple[float, float] | None:
    """The accuracy on the rows that go with the bias, and on those against it; None if one of the two has no row."""
    if not (side == 1).any() or not (side == -1).any():
        return None
    right = predicted == y
    return float(right[side == 1].mean()), float(right[side == -1].mean())


@METRICS.register("aligned_{bias}", label="accuracy on rows aligned with {bias}", better="higher", group="alignment")
def aligned(by_side: tuple[float, float]) -> float:
    """The accuracy on the rows that go with the bias as in training."""
    return by_side[0]


@METRICS.register(
    "conflicting_{bias}", label="accuracy on rows that conflict with {bias}", better="higher", group="alignment"
)
def conflicting(by_side: tuple[float, float]) -> float:
    """The accuracy on the rows that go against the bias."""
    return by_side[1]


@METRICS.register("auc_within", label="AUC of the target within groups", better="higher", group="ranking")
def auc_within_groups(probabilities: Probabilities, y: Labels, known: Known) -> float | None:
    """The AUC within the groups that all biases together make, for rows whose biases are all known."""
    return auc_within(probabilities[known.rows], y[known.rows], known.group)
