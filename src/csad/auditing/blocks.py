"""How rows are dealt so that no reader is scored on what it learnt from, and shuffled to see what chance would do.

The rows are dealt into blocks, and each block but the first is read by a reader that learnt from the blocks before it
(progressive validation; Blum, Kalai, Langford, COLT 1999). In the usual cross-validation each row is learnt from and
scored on, so the blocks' scores depend on one another: under chance their mean varies twice as much as its rows say,
and only learning again from shuffled labels would show it. Here, if the features tell nothing, the labels of a block
are in random order whatever the reader learnt before: shuffled against the scores as they are, they give the
distribution under chance, and a bootstrap of rows gives the interval, for any kind of reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csad.auditing.columns import BLOCKS, Numbers


@dataclass(frozen=True)
class Deal:
    """Where each row is: its block, its unit (a person, or the row itself) and its class of what is given."""

    block: Numbers
    unit: Numbers
    stratum: Numbers
    whole: bool  # whether the rows of each unit all have one label

    def cells(self) -> list[Numbers]:
        """The rows that are compared with one another: those of one block, not the first, and one stratum."""
        later = np.flatnonzero(self.block > 0)
        return _parts(later, self.block[later] * (self.stratum.max() + 1) + self.stratum[later])

    def turns(self) -> Iterator[tuple[Numbers, Numbers]]:
        """(rows to learn from, rows to read), block after block."""
        for block in range(1, BLOCKS):
            yield np.flatnonzero(self.block < block), np.flatnonzero(self.block == block)


def deal(codes: Numbers, units: Numbers, strata: Numbers, generator: np.random.Generator) -> Deal:
    """The rows in blocks; all rows of a unit are in one, and each label and stratum is spread evenly over them."""
    unit = np.unique(units, return_inverse=True)[1]
    first = np.unique(unit, return_index=True)[1]
    whole = bool((codes == codes[first][unit]).all())
    # Labels that vary within a unit are no property of it by which it could be dealt.
    kind = strata[first] * (codes.max() + 1) + (codes[first] if whole else 0)
    order = np.lexsort((generator.random(len(first)), kind))
    block = np.empty(len(first), np.int64)
    block[order] = np.arange(len(first)) % BLOCKS
    return Deal(block[unit], unit, strata, whole)


def shuffled(codes: Numbers, dealt: Deal, count: int, generator: np.random.Generator) -> NDArray[np.int16]:
    """(count, rows): each unit with the labels of another of its block and stratum; those of block 0 as they are.

    So labels that belong together stay together. A unit of more rows than the other gets its labels over again; where
    units have one label each, or all have as many rows, the labels are but put in another order. The stratum of a unit
    is that of its first row.
    """
    labels = codes.astype(np.int16)
    drawn = np.tile(labels, (count, 1))
    first = np.unique(dealt.unit, return_index=True)[1][dealt.unit]
    for rows in replace(dealt, stratum=dealt.stratum[first]).cells():
        rows = rows[np.argsort(dealt.unit[rows], kind="stable")]
        _, start, unit, size = np.unique(dealt.unit[rows], return_index=True, return_inverse=True, return_counts=True)
        other = generator.permuted(np.tile(np.arange(len(size), dtype=np.int32), (count, 1)), axis=1)[:, unit]
        step = np.arange(len(rows)) - start[unit]
        drawn[:, rows] = labels[rows][start[other] + step % size[other]]
    return drawn


def _parts(rows: Numbers, key: Numbers) -> list[Numbers]:
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order])) + 1
    return np.split(rows[order], starts)
