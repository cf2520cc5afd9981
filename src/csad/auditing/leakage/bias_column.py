"""A bias column as probes meet it: its rows and tasks, the blocks into which the rows are dealt, the AUC within blocks.

Each block but the first is read by a probe that learned from the blocks before it (progressive validation; Blum, Kalai,
Langford, COLT 1999). In the usual cross-validation each row is learned from and scored on, so the blocks' scores depend
on one another: under chance their mean varies twice as much as its rows say, and only learning again from shuffled
labels would show it. Here, if the features tell nothing, the labels of a block are in random order whatever the probe
learned before: shuffled against the scores as they are, they give the distribution under chance, and a bootstrap of
rows gives the interval, for any kind of probe.

Scores of different blocks come from different probes and are never compared. The joined AUC is Σ_c w_c AUC_c / Σ_c w_c
over cells c with w_c = yes_c · no_c / (rows_c + 1), the weights that van Elteren (1960) found most powerful.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError
from csad.messages import message

BLOCKS = 5  # of rows; a class must have as many units, or some block would lack it
FIFTHS = 5  # a number is scored on whether a row is above the cuts between its fifths
Integers = NDArray[np.integer]


@dataclass(frozen=True)
class BiasColumn:
    """The labels of the rows that probes see; a task is one question with two answers, scored by an AUC."""

    rows: Integers  # their places among all rows
    targets: NDArray[np.floating]  # (rows, scores): what a probe learns to predict
    codes: Integers  # (rows,): the class, or the fifth
    positives: NDArray[np.bool_]  # (codes, tasks): whether the answer is yes
    reads: Integers  # (tasks,): which score answers it
    notes: tuple[str, ...] = ()


def numbered(labels: NDArray[Any] | None, rows: int, name: str) -> Integers:
    """Class numbers from 0, −1 if the label is unknown; one class for all rows without labels."""
    if labels is None:
        return np.zeros(rows, np.int64)
    values = np.asarray(labels)
    if values.shape != (rows,):
        raise InputError("label-count-mismatch", labels=name, rows=rows, shape=values.shape)
    if values.dtype.kind == "f":
        raise InputError("real-number-labels", labels=name)
    codes: Integers = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return np.where(values < 0, -1, codes) if values.dtype.kind == "i" else codes


def select_bias_rows(
    labels: NDArray[Any], units: Integers, usable: NDArray[np.bool_], most_rows: int, generator: np.random.Generator
) -> BiasColumn | str:
    """The column of the rows whose label is known and not rare, ``most_rows`` of them at most; or why there is none.

    Real numbers are a number (NaN is unknown), all else is classes (−1 is unknown). Of too many rows whole units are
    drawn at random.
    """
    number = labels.dtype.kind == "f"
    known = np.isfinite(labels) if number else numbered(labels, len(labels), "A bias") >= 0
    rows = np.flatnonzero(known & usable)
    notes: list[str] = []
    if len(rows) < len(labels):
        notes.append(message("rows-without-label-dropped", rows=len(labels) - len(rows)))
    if len(rows) > most_rows:
        notes.append(message("bias-rows-sampled", most=most_rows, rows=len(rows)))
        rows = rows[draw_units(units[rows], most_rows, generator)]
    if number:
        return _number(rows, labels[rows], units[rows], notes)
    return _classes(rows, labels[rows], units[rows], notes)


def _classes(rows: Integers, labels: NDArray[Any], units: Integers, notes: list[str]) -> BiasColumn | str:
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) == 1:
        return "all rows with a known label have the same label"
    common = np.array([len(np.unique(units[codes == c])) >= BLOCKS for c in range(len(values))], bool)
    if not common.all():
        lost, rare = int(np.sum(~common[codes])), int(np.sum(~common))
        notes.append(message("rare-labels-dropped", rows=lost, labels=rare))
    if common.sum() < 2:
        return f"fewer than two of its labels occur in {BLOCKS} or more rows or persons"
    is_common = common[codes]
    codes = np.unique(codes[is_common], return_inverse=True)[1]
    every = np.eye(int(common.sum()), dtype=bool)
    positives = every[:, 1:] if len(every) == 2 else every
    return BiasColumn(
        rows[is_common],
        positives[codes].astype(np.float64),
        codes,
        positives,
        np.arange(positives.shape[1]),
        tuple(notes),
    )


def _number(rows: Integers, values: NDArray[Any], units: Integers, notes: list[str]) -> BiasColumn | str:
    """A number's target is its rank, so that no outlier leads; cuts that leave few units on a side are left out."""
    cuts = np.unique(np.quantile(values, np.arange(1, FIFTHS) / FIFTHS)) if len(values) else values
    above = values[:, None] > cuts
    sides = [[len(np.unique(units[side])) for side in (up, ~up)] for up in above.T]
    cuts = cuts[[min(side) >= BLOCKS for side in sides]] if sides else cuts
    if not len(cuts):
        return f"no cut of its values leaves {BLOCKS} or more rows or persons on each side"
    codes = (values[:, None] > cuts).sum(1)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[place] / len(values)
    positives = np.arange(len(cuts) + 1)[:, None] > np.arange(len(cuts))
    return BiasColumn(rows, ranks[:, None], codes, positives, np.zeros(len(cuts), np.int64), tuple(notes))


def draw_units(units: Integers, most: int, generator: np.random.Generator) -> Integers:
    """The rows of units in random order, as many whole units as fit; in the order of the rows."""
    place = np.unique(units, return_inverse=True)[1]
    order = generator.permutation(place.max() + 1)
    fits = np.cumsum(np.bincount(place)[order]) <= most
    return np.flatnonzero(np.isin(place, order[fits]))


@dataclass(frozen=True)
class Folds:
    """The block of each row, its unit (a person, or the row itself) and its stratum: rows are compared within one."""

    block: Integers
    unit: Integers
    stratum: Integers
    whole: bool  # whether the rows of each unit all have one label

    def cells(self) -> list[Integers]:
        """The rows that are compared with one another: those of one block, not the first, and one stratum."""
        later = np.flatnonzero(self.block > 0)
        return _parts(later, self.block[later] * (self.stratum.max() + 1) + self.stratum[later])

    def turns(self) -> Iterator[tuple[Integers, Integers]]:
        """(rows to learn from, rows to score), block after block."""
        for block in range(1, BLOCKS):
            yield np.flatnonzero(self.block < block), np.flatnonzero(self.block == block)


def assign_folds(codes: Integers, units: Integers, strata: Integers, generator: np.random.Generator) -> Folds:
    """The rows in blocks; all rows of a unit are in one, and each label and stratum is spread evenly over them."""
    unit = np.unique(units, return_inverse=True)[1]
    first = np.unique(unit, return_index=True)[1]
    whole = bool((codes == codes[first][unit]).all())
    # Labels that vary within a unit are no property of the unit: they cannot be spread evenly over blocks.
    kind = strata[first] * (codes.max() + 1) + (codes[first] if whole else 0)
    order = np.lexsort((generator.random(len(first)), kind))
    block = np.empty(len(first), np.int64)
    block[order] = np.arange(len(first)) % BLOCKS
    return Folds(block[unit], unit, strata, whole)


def shuffled(codes: Integers, folds: Folds, count: int, generator: np.random.Generator) -> NDArray[np.int16]:
    """(count, rows): each unit with the labels of another of its block and stratum; those of block 0 as they are.

    So labels that belong together stay together. A unit of more rows than the other repeats its labels; if each unit
    has one label, or all have as many rows, the labels are merely reordered. The stratum of a unit is that of its
    first row.
    """
    labels = codes.astype(np.int16)
    drawn = np.tile(labels, (count, 1))
    first = np.unique(folds.unit, return_index=True)[1][folds.unit]
    for rows in replace(folds, stratum=folds.stratum[first]).cells():
        rows = rows[np.argsort(folds.unit[rows], kind="stable")]
        _, start, unit, size = np.unique(folds.unit[rows], return_index=True, return_inverse=True, return_counts=True)
        other = generator.permuted(np.tile(np.arange(len(size), dtype=np.int32), (count, 1)), axis=1)[:, unit]
        step = np.arange(len(rows)) - start[unit]
        drawn[:, rows] = labels[rows][start[other] + step % size[other]]
    return drawn


def _parts(rows: Integers, key: Integers) -> list[Integers]:
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order])) + 1
    return np.split(rows[order], starts)


Floats = NDArray[np.floating]
CellRows = Sequence[Integers]


def scorable_tasks(column: BiasColumn, cells: CellRows) -> Integers:
    """The tasks that can be scored: some cell has both answers."""
    yes = np.array([column.positives[column.codes[rows]].sum(0) for rows in cells])
    no = np.array([len(rows) for rows in cells])[:, None] - yes
    return np.flatnonzero((yes * no).any(0))


def joined_auc(scores: Floats, codes: Integers, column: BiasColumn, cells: CellRows) -> NDArray[np.float64]:
    """(draws,): the mean over the tasks of the joined AUC, for scores (rows, columns) and labels (draws, rows).

    A task that a draw leaves without both answers in any cell counts as .5.
    """
    from scipy.stats import rankdata

    tasks = scorable_tasks(column, cells)
    ahead, pairs = np.zeros((2, len(codes), len(tasks)))
    for rows in cells:
        ranks = rankdata(scores[rows], axis=0)
        drawn = codes[:, rows]
        for k, task in enumerate(tasks):
            yes = column.positives[:, task].astype(np.float64)[drawn]
            won, of = _in_order(yes @ ranks[:, column.reads[task]], yes.sum(1), len(rows))
            ahead[:, k] += won
            pairs[:, k] += of
    areas: NDArray[np.float64] = _share(ahead, pairs).mean(1)
    return areas


def paired_auc(scores: Floats, yes: NDArray[np.bool_], cells: CellRows) -> Floats:
    """(columns,): the joined AUC of each column of scores for the same column of answers, both (rows, columns)."""
    from scipy.stats import rankdata

    ahead, pairs = np.zeros((2, scores.shape[1]))
    for rows in cells:
        ranks = rankdata(scores[rows], axis=0)
        won, of = _in_order((ranks * yes[rows]).sum(0), yes[rows].sum(0), len(rows))
        ahead, pairs = ahead + won, pairs + of
    return _share(ahead, pairs)


def _in_order(ranks: Floats, yes: Floats, rows: int) -> tuple[Floats, Floats]:
    """(pairs of a yes and a no in the right order, all such pairs), over rows + 1, from the sum of the yes's ranks."""
    return (ranks - yes * (yes + 1) / 2) / (rows + 1), yes * (rows - yes) / (rows + 1)


def weighted_auc(scores: Floats, weights: Floats, column: BiasColumn, cells: CellRows) -> NDArray[np.float64]:
    """(draws,): the same for the labels as they are; row i counts weights[draw, i] times."""
    tasks = scorable_tasks(column, cells)
    ahead, pairs = np.zeros((2, len(weights), len(tasks)))
    for rows in cells:
        for k, task in enumerate(tasks):
            yes = column.positives[column.codes[rows], task]
            won, of = _won(scores[rows, column.reads[task]], yes, weights[:, rows])
            ahead[:, k] += won / (len(rows) + 1)
            pairs[:, k] += of / (len(rows) + 1)
    areas: NDArray[np.float64] = _share(ahead, pairs).mean(1)
    return areas


def _won(score: Floats, yes: NDArray[np.bool_], weights: Floats) -> tuple[Floats, Floats]:
    """(weight of the pairs that are in the right order, ties half; weight of all pairs), each (draws,)."""
    order = np.argsort(score, kind="stable")
    rising, weights, yes = score[order], weights[:, order], yes[order]
    below = np.zeros((len(weights), len(score) + 1))
    np.cumsum(weights * ~yes, axis=1, out=below[:, 1:])
    first, after = (np.searchsorted(rising, rising[yes], side) for side in ("left", "right"))
    positive = weights[:, yes]
    return (positive * (below[:, first] + below[:, after])).sum(1) / 2, positive.sum(1) * below[:, -1]


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, 0.5), where=whole > 0)
