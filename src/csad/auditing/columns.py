"""A bias column as fresh readers meet it: which rows they see, what they learn, and on what they are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

BLOCKS = 5  # parts into which the rows are dealt; a class must have as many units, or some part would lack it
PARTS = 5  # a number is scored on whether a row is above the cuts between its fifths
Numbers = NDArray[np.integer]


@dataclass(frozen=True)
class Column:
    """The labels of the rows that readers see; a task is one question with two answers, scored by an AUC."""

    rows: Numbers  # where among all rows they are
    targets: NDArray[np.floating]  # (rows, scores): what a reader learns to say
    codes: Numbers  # (rows,): the class, or the fifth
    positives: NDArray[np.bool_]  # (codes, tasks): whether the answer is yes
    reads: Numbers  # (tasks,): which score answers it
    notes: tuple[str, ...] = ()


def numbered(labels: NDArray[Any] | None, rows: int, name: str) -> Numbers:
    """Class numbers from 0, −1 where the label is unknown; all of one class where none are given."""
    if labels is None:
        return np.zeros(rows, np.int64)
    values = np.asarray(labels)
    if values.shape != (rows,):
        raise InputError(f"{name} must have one label for each of the {rows} rows, not the shape {values.shape}.")
    if values.dtype.kind == "f":
        raise InputError(f"{name} must hold classes (whole numbers or words), not real numbers.")
    found: Numbers = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return np.where(values < 0, -1, found) if values.dtype.kind == "i" else found


def sight(
    labels: NDArray[Any], units: Numbers, usable: NDArray[np.bool_], most_rows: int, generator: np.random.Generator
) -> Column | str:
    """The column of the rows whose label is known and not rare, ``most_rows`` of them at most; or why there is none.

    Real numbers are a number (NaN is unknown), all else is classes (−1 is unknown). Of too many rows whole units are
    drawn at random.
    """
    number = labels.dtype.kind == "f"
    known = np.isfinite(labels) if number else numbered(labels, len(labels), "A bias") >= 0
    rows, notes = np.flatnonzero(known & usable), []
    if len(rows) < len(labels):
        notes.append(f"{_rows(len(labels) - len(rows))} without a label left out.")
    if len(rows) > most_rows:
        notes.append(f"Read on {_rows(most_rows)} at most, drawn from {len(rows):,}.")
        rows = rows[drawn(units[rows], most_rows, generator)]
    if number:
        return _number(rows, labels[rows], units[rows], notes)
    return _classes(rows, labels[rows], units[rows], notes)


def _classes(rows: Numbers, labels: NDArray[Any], units: Numbers, notes: list[str]) -> Column | str:
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) == 1:
        return "all rows whose label is known have the same one"
    common = np.array([len(np.unique(units[codes == c])) >= BLOCKS for c in range(len(values))], bool)
    if not common.all():
        notes.append(f"{_rows(int(np.sum(~common[codes])))} of {np.sum(~common)} rare labels left out.")
    if common.sum() < 2:
        return f"fewer than two of its labels are known of {BLOCKS} rows or persons"
    kept = common[codes]
    codes = np.unique(codes[kept], return_inverse=True)[1]
    every = np.eye(int(common.sum()), dtype=bool)
    asked = every[:, 1:] if len(every) == 2 else every
    return Column(rows[kept], asked[codes].astype(np.float64), codes, asked, np.arange(asked.shape[1]), tuple(notes))


def _number(rows: Numbers, values: NDArray[Any], units: Numbers, notes: list[str]) -> Column | str:
    """A number's target is its rank, so that no outlier leads; cuts that leave few units on a side are not asked."""
    cuts = np.unique(np.quantile(values, np.arange(1, PARTS) / PARTS)) if len(values) else values
    above = values[:, None] > cuts
    sides = [[len(np.unique(units[side])) for side in (up, ~up)] for up in above.T]
    cuts = cuts[[min(side) >= BLOCKS for side in sides]] if sides else cuts
    if not len(cuts):
        return f"fewer than two of its values are known of {BLOCKS} rows or persons"
    codes = (values[:, None] > cuts).sum(1)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[place] / len(values)
    positives = np.arange(len(cuts) + 1)[:, None] > np.arange(len(cuts))
    return Column(rows, ranks[:, None], codes, positives, np.zeros(len(cuts), np.int64), tuple(notes))


def drawn(units: Numbers, most: int, generator: np.random.Generator) -> Numbers:
    """The rows of units in random order, as many whole units as fit; in the order of the rows."""
    place = np.unique(units, return_inverse=True)[1]
    order = generator.permutation(place.max() + 1)
    fits = np.cumsum(np.bincount(place)[order]) <= most
    return np.flatnonzero(np.isin(place, order[fits]))


def _rows(count: int) -> str:
    return f"{count:,} row" + "s" * (count != 1)
