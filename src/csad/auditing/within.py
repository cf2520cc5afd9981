"""AUCs within blocks and strata, joined into one: of the rows as they are, of shuffled labels, of rows drawn anew.

Scores of different blocks come from different readers and are never compared. The joined AUC is Σ_c w_c AUC_c / Σ_c w_c
over cells c with w_c = yes_c · no_c / (rows_c + 1), the weights that van Elteren (1960) found most powerful.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csad.auditing.columns import Column, Numbers

Scores = NDArray[np.floating]
Cells = Sequence[Numbers]


def tasks_told(column: Column, cells: Cells) -> Numbers:
    """The tasks of which some cell has both answers: those that can be scored."""
    yes = np.array([column.positives[column.codes[rows]].sum(0) for rows in cells])
    no = np.array([len(rows) for rows in cells])[:, None] - yes
    return np.flatnonzero((yes * no).any(0))


def joined_auc(scores: Scores, codes: Numbers, column: Column, cells: Cells) -> NDArray[np.float64]:
    """(draws,): the mean over the tasks of the joined AUC, for scores (rows, columns) and labels (draws, rows).

    A task that a draw leaves without both answers in any cell counts as .5.
    """
    from scipy.stats import rankdata

    tasks = tasks_told(column, cells)
    ahead, pairs = np.zeros((2, len(codes), len(tasks)))
    for rows in cells:
        ranks = rankdata(scores[rows], axis=0)
        drawn = codes[:, rows]
        for k, task in enumerate(tasks):
            yes = column.positives[:, task].astype(np.float64)[drawn]
            won, of = _in_order(yes @ ranks[:, column.reads[task]], yes.sum(1), len(rows))
            ahead[:, k] += won
            pairs[:, k] += of
    found: NDArray[np.float64] = _share(ahead, pairs).mean(1)
    return found


def paired_auc(scores: Scores, yes: NDArray[np.bool_], cells: Cells) -> Scores:
    """(columns,): the joined AUC of each column of scores for the same column of answers, both (rows, columns)."""
    from scipy.stats import rankdata

    ahead, pairs = np.zeros((2, scores.shape[1]))
    for rows in cells:
        ranks = rankdata(scores[rows], axis=0)
        won, of = _in_order((ranks * yes[rows]).sum(0), yes[rows].sum(0), len(rows))
        ahead, pairs = ahead + won, pairs + of
    return _share(ahead, pairs)


def _in_order(ranks: Scores, yes: Scores, rows: int) -> tuple[Scores, Scores]:
    """(pairs of a yes and a no in the right order, all such pairs), over rows + 1, from the sum of the yes's ranks."""
    return (ranks - yes * (yes + 1) / 2) / (rows + 1), yes * (rows - yes) / (rows + 1)


def weighted_auc(scores: Scores, weights: Scores, column: Column, cells: Cells) -> NDArray[np.float64]:
    """(draws,): the same for the labels as they are, where row i counts weights[draw, i] times."""
    tasks = tasks_told(column, cells)
    ahead, pairs = np.zeros((2, len(weights), len(tasks)))
    for rows in cells:
        for k, task in enumerate(tasks):
            yes = column.positives[column.codes[rows], task]
            won, of = _won(scores[rows, column.reads[task]], yes, weights[:, rows])
            ahead[:, k] += won / (len(rows) + 1)
            pairs[:, k] += of / (len(rows) + 1)
    found: NDArray[np.float64] = _share(ahead, pairs).mean(1)
    return found


def _won(score: Scores, yes: NDArray[np.bool_], weights: Scores) -> tuple[Scores, Scores]:
    """(weight of the pairs that are in the right order, ties half; weight of all pairs), each (draws,)."""
    order = np.argsort(score, kind="stable")
    rising, weights, yes = score[order], weights[:, order], yes[order]
    below = np.zeros((len(weights), len(score) + 1))
    np.cumsum(weights * ~yes, axis=1, out=below[:, 1:])
    first, after = (np.searchsorted(rising, rising[yes], side) for side in ("left", "right"))
    own = weights[:, yes]
    return (own * (below[:, first] + below[:, after])).sum(1) / 2, own.sum(1) * below[:, -1]


def _share(part: Scores, whole: Scores) -> Scores:
    return np.divide(part, whole, out=np.full_like(part, 0.5), where=whole > 0)
