"""Whether probabilities mean what they say."""

from __future__ import annotations

import numpy as np

from csad.auditing.metrics import Labels
from csad.auditing.ranking import Probabilities

BINS = 15


def expected_calibration_error(probabilities: Probabilities, y: Labels, bins: int = BINS) -> float:
    """Σ_bins (rows in the bin / all rows) · |accuracy − mean top probability|; 0 is best.

    A row is in the bin of its top probability; bins are equally wide, each with its upper edge and without its lower.
    """
    best = probabilities.argmax(1)
    top = probabilities[np.arange(len(best)), best].astype(np.float64)
    place = np.clip(np.ceil(top * bins).astype(np.int64) - 1, 0, bins - 1)
    excess = np.bincount(place, weights=(best == y) - top, minlength=bins)
    return float(np.abs(excess).sum() / len(top))
