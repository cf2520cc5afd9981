"""What people should know of figures that are of the cells of target and all bias columns at once."""

from __future__ import annotations

import numpy as np

from csad.auditing.audited import Facts
from csad.auditing.cells import cells_of, splitting
from csad.auditing.measured import grouped

FEW_ROWS = 5  # of a cell: its accuracy tells hardly more than a coin


def small_cells(facts: Facts) -> tuple[str, ...]:
    """A sentence where there are several bias columns, and cells of all of them at once have hardly a row."""
    columns = splitting([bias.values for bias in grouped(facts)])
    if facts.target.number or len(columns) < 2:
        return ()
    known = np.all([column >= 0 for column in columns], axis=0)
    if not known.any():
        return ()
    rows = np.bincount(cells_of([facts.target.values[known], *(column[known] for column in columns)]))
    if rows.min() >= FEW_ROWS:
        return ()
    few = int((rows < FEW_ROWS).sum())
    return (
        f"The worst cell and the means of cells (worst_group, unbiased, bias_conflicting) are of {len(rows):,} cells "
        f"of the target and all biases at once, of which {few:,} have fewer than {FEW_ROWS} rows, so that they say "
        "little: the tables by target and one bias say more.",
    )
