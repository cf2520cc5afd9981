"""Figures that compare groups of people or things: the classes of one attribute, or the cells of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.auditing.cells import cells_of, dense, splitting
from csad.auditing.metrics import Labels

Counts = NDArray[np.integer]
Shares = NDArray[np.floating]


class Tally(NamedTuple):
    """Rows counted by group and class, each (groups, classes); all figures of an attribute follow from these."""

    rows: Counts  # that are of the class
    right: Counts  # of these, those that are predicted as the class
    said: Counts  # that are predicted as the class, whatever they are


def tally(predicted: Labels, y: Labels, group: Labels, classes: int) -> Tally | None:
    """The counts of the rows whose group is known (not −1); None where fewer than two groups are."""
    known = group >= 0
    if not known.all():
        predicted, y, group = predicted[known], y[known], group[known]
    code = dense(group)
    names = int(code.max(initial=-1)) + 1
    if names < 2:
        return None

    def count(chosen: Labels) -> Counts:
        return np.bincount(chosen, minlength=names * classes).reshape(names, classes)

    cell = code * classes + y
    return Tally(count(cell), count(cell[predicted == y]), count(code * classes + predicted))


def recall_gaps(counts: Tally) -> Shares:
    """For each class, the range over groups of its recall P(predicted = c | y = c, group).

    Only groups with rows of the class count, and only classes of which two groups have rows: there may be none.
    """
    return _ranges(counts.right, counts.rows)


def demographic_parity(counts: Tally) -> float:
    """The greatest range over groups of P(predicted = c | group), of all classes c."""
    return float(_ranges(counts.said, counts.rows.sum(1, keepdims=True)).max())


def equal_opportunity(counts: Tally) -> float | None:
    """The recall gap of class 1 where there are two classes, the mean of the classes' recall gaps where there are more.

    None where no two groups have rows of class 1, or of any class.
    """
    gaps = _ranges(counts.right[:, 1:2], counts.rows[:, 1:2]) if counts.rows.shape[1] == 2 else recall_gaps(counts)
    return float(gaps.mean()) if len(gaps) else None


def equalised_odds(counts: Tally) -> float | None:
    """The greatest range over groups of a true or a false positive rate, each class taken against the rest.

    None where no rate is known in two groups.
    """
    false, others = counts.said - counts.right, counts.rows.sum(1, keepdims=True) - counts.rows
    ranges = np.concatenate([recall_gaps(counts), _ranges(false, others)])
    return float(ranges.max()) if len(ranges) else None


def _ranges(part: Counts, whole: Counts) -> Shares:
    """The range over groups of part / whole, for each class of which it is known in two groups."""
    known = np.broadcast_to(whole > 0, part.shape)
    share = part / np.maximum(whole, 1)
    ranges = np.where(known, share, 0.0).max(0) - np.where(known, share, 1.0).min(0)
    comparable: Shares = ranges[known.sum(0) > 1]
    return comparable


def attribute_figures(name: str, predicted: Labels, y: Labels, group: Labels, classes: int) -> dict[str, float]:
    """The figures of one attribute by name; nothing where fewer than two of its groups are known."""
    if (counts := tally(predicted, y, group, classes)) is None:
        return {}
    gaps = recall_gaps(counts)
    found = {
        f"gap_{name}_rms": float(np.sqrt(np.mean(gaps**2))) if len(gaps) else None,
        f"gap_{name}_max": float(gaps.max()) if len(gaps) else None,
        f"demographic_parity_{name}": demographic_parity(counts),
        f"equal_opportunity_{name}": equal_opportunity(counts),
        f"equalised_odds_{name}": equalised_odds(counts),
    }
    return {figure: value for figure, value in found.items() if value is not None}


class Known(NamedTuple):
    """The rows of which all attributes are known, and the number of each one's combination of them."""

    rows: NDArray[np.bool_]
    group: Labels


def groups_known(biases: Mapping[str, Labels]) -> Known | None:
    """The groups that all attributes together make; those of which fewer than two groups are known do not count.

    None where no attribute or no row is left.
    """
    attributes = splitting(list(biases.values()))
    if not attributes:
        return None
    known = np.all([group >= 0 for group in attributes], axis=0)
    return Known(known, cells_of([group[known] for group in attributes])) if known.any() else None


def cell_figures(predicted: Labels, y: Labels, biases: Mapping[str, Labels]) -> dict[str, float]:
    """``worst_group`` and ``unbiased``: the least and the plain mean accuracy of the cells target × all attributes.

    Cells without rows do not count, nor do attributes of which fewer than two groups are known, nor rows in which one
    of the others is unknown. Nothing where no attribute or no row is left.
    """
    if (known := groups_known(biases)) is None:
        return {}
    cell, right = cells_of([y[known.rows], known.group]), (predicted == y)[known.rows]
    shares = np.bincount(cell, weights=right) / np.bincount(cell)
    return {"worst_group": float(shares.min()), "unbiased": float(shares.mean())}
