"""How many rows are taken through a net at a time where no gradient is needed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_ROWS = 1000
MOST_NUMBERS = 2**23  # of x: fifty photographs of 224 × 224 pixels, whose maps are then less than those of a training


def rows_at_a_time(shape: Sequence[int], runs: int = 1) -> int:
    """The number of rows of that shape, which many runs that compute at once share between them."""
    return max(1, min(MOST_ROWS, MOST_NUMBERS // max(1, prod(shape))) // runs)
