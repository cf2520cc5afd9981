"""Columns of words for tests."""

from __future__ import annotations

import numpy as np

from csad.data.tables.table import CategoryColumn


def words(*cells: str) -> CategoryColumn:
    """A column that holds these words; an empty one is missing."""
    kinds = list(dict.fromkeys(cell for cell in cells if cell))
    return CategoryColumn(np.array([kinds.index(cell) if cell else -1 for cell in cells], np.int32), tuple(kinds))
