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
    if min(len(np.unique(x)), len(np.unique(numbers))) < 3:
        return False  # any two values lie on a line
    if abs(np.corrcoef(x, numbers)[0, 1]) < SAME:
        return False
    from scipy.stats import rankdata

    return bool(abs(np.corrcoef(rankdata(x), rankdata(numbers))[0, 1]) >= SAME_RANKS)
