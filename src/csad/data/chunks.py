"""How many rows go through a net at a time if no gradient is needed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_ROWS = 1000
MOST_NUMBERS = 2**23  # in x: fifty photographs of 224 × 224 pixels; their maps take less memory than a step of training


def rows_at_a_time(shape: Sequence[int], runs: int = 1) -> int:
    """The number of rows of that shape, divided by the number of runs that compute at once."""
    return max(1, min(MOST_ROWS, MOST_NUMBERS // max(1, prod(shape))) // runs)
