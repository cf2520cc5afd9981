"""The predicted class of a row: the most probable one or, of two, the second if it is above the threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

HALF = 0.5  # with this threshold the more probable of two classes is predicted


def decided(probabilities: NDArray[Any], threshold: float) -> NDArray[Any]:
    """Class numbers (n,) of probabilities (n, classes): of two classes the second if it is above the threshold."""
    if threshold == HALF or probabilities.shape[1] != 2:
        return np.asarray(probabilities.argmax(1))
    # In float64: between two neighbours in float32 a threshold would be rounded to one of them.
    return (probabilities[:, 1].astype(np.float64) > threshold).astype(np.int64)


def checked_threshold(threshold: Any, classes: int) -> float:
    """The threshold as a float; raise InputError unless it suits the number of classes, 0 for a number."""
    number = isinstance(threshold, int | float | np.floating) and not isinstance(threshold, bool)
    if not number or not 0 < threshold < 1:
        raise InputError("threshold-out-of-range", threshold=threshold)
    if classes != 2:
        what = f"one of {classes} classes, and the most probable class is predicted" if classes else "a number"
        raise InputError("threshold-needs-two-classes", kind=what)
    return float(threshold)
