"""Which columns say a label over again: they vary with it and with nothing else, whatever they are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    first = np.zeros(int(codes.max()) + 1, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of each label, the row in which it first comes
    found: NDArray[np.bool_] = (rows == rows[first[codes]]).all(0) & (rows != rows[0]).any(0)
    return found


def is_copy_of_numbers(x: NDArray[Any], numbers: NDArray[Any]) -> bool:
    """Whether x (n,) is the same as the numbers (n,) but for its unit and rounding, where both are known (not NaN)."""
    known = ~np.isnan(x) & ~np.isnan(numbers)
    if not known.any() or len(np.unique(x[known])) < 3:
        return False  # any two values lie on a line
    one, other = (values[known].astype(np.float64) - values[known].mean() for values in (x, numbers))
    sizes = np.linalg.norm(one) * np.linalg.norm(other)
    return bool(sizes > 0 and abs(one @ other) >= SAME * sizes)
