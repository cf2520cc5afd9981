"""Which class is said of a row: the most probable one or, of two, the second where it is probable enough."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

HALF = 0.5  # with this threshold the more probable of two classes is said


def decided(probabilities: NDArray[Any], threshold: float) -> NDArray[Any]:
    """Class numbers (n,) of probabilities (n, classes): of two classes the second where it is above the threshold."""
    if threshold == HALF or probabilities.shape[1] != 2:
        return np.asarray(probabilities.argmax(1))
    # In float64: between two neighbours in float32 a threshold would be rounded to one of them.
    return (probabilities[:, 1].astype(np.float64) > threshold).astype(np.int64)


def checked_threshold(threshold: Any, classes: int) -> float:
    """A threshold that can be, for so many classes; 0 classes: a number is predicted."""
    number = isinstance(threshold, int | float | np.floating) and not isinstance(threshold, bool)
    if not number or not 0 < threshold < 1:
        raise InputError(f"The threshold must be a probability, above 0 and below 1, not {threshold!r}.")
    if classes != 2:
        what = f"{classes} classes, of which the most probable is said" if classes else "a number"
        raise InputError(f"A threshold decides between two classes, but this target is {what}: leave it out.")
    return float(threshold)
