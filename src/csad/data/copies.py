"""Which columns say a label over again: they vary with it and with nothing else, whatever they are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SAME_RANKS = 0.99  # lower, since rounding makes many values alike
SAME = 0.999  # a correlation from here on is that of one number in two units, rounded or not: age and year of birth


def copies_of_classes(x: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which columns of x (n, columns) vary, yet never among rows of one label (n,); labels below 0 are unknown.

    Of a label that hardly comes twice nothing is said: any column would do.
    """
    known = labels >= 0
    rows, codes = x[known], labels[known]
    present = np.count_nonzero(np.bincount(codes, minlength=1))
    if present < 2 or present * 2 > len(codes):
        return np.zeros(x.shape[1], bool)
    one = np.zeros(int(codes.max()) + 1, np.int64)
    one[codes] = np.arange(len(codes))  # of each label, a row that has it
    found: NDArray[np.bool_] = (rows == rows[one[codes]]).all(0) & (rows != rows[0]).any(0)
    return found


def is_copy_of_numbers(x: NDArray[Any], numbers: NDArray[Any]) -> bool:
    """Whether x (n,) is the same as the numbers (n,), none of them NaN, but for its unit and rounding.

    Ranks must agree as well: a few values far out, as -9999 for what is missing, make any two columns correlate.
    """
    if len(np.unique(x)) < 3:
        return False  # any two values lie on a line
    return _correlation(x, numbers) >= SAME and _correlation(_ranks(x), _ranks(numbers)) >= SAME_RANKS


def _correlation(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Without its sign; 0 where one of the two does not vary."""
    a, b = (values.astype(np.float64) - values.mean(dtype=np.float64) for values in (one, other))
    sizes = float(np.linalg.norm(a) * np.linalg.norm(b))
    return abs(float(a @ b)) / sizes if sizes > 0 else 0.0


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """The place of each value in their order, the mean of places where several are alike."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[place.reshape(-1)]
