"""How well probabilities put the rows of a class before all others: areas under two curves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.auditing.metrics import Labels

Probabilities = NDArray[np.floating]


class Ranking(NamedTuple):
    """``auc``: area under the curve of true against false positive rate; ``ap``: average precision."""

    auc: float
    ap: float


def rank(score: Probabilities, positive: NDArray[np.bool_]) -> Ranking | None:
    """AUC = P(a positive's score is above a negative's), ties half; AP = Σ Δrecall · precision over the thresholds.

    Rows of one score come in together, as one threshold. None where there are no positives or only positives.
    """
    order = np.argsort(-score)
    falling = score[order]
    last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(score) - 1)  # the last row of each score
    true = np.cumsum(positive[order])[last]
    false = last + 1 - true
    if not true[-1] or not false[-1]:
        return None
    gained = np.diff(true, prepend=0)
    ahead = false[-1] - false + np.diff(false, prepend=0) / 2  # negatives below, and half of those at the same score
    auc = np.sum(gained * ahead) / (true[-1] * false[-1])
    return Ranking(float(auc), float(np.sum(gained * (true / (last + 1))) / true[-1]))


def ranking(probabilities: Probabilities, y: Labels) -> Ranking | None:
    """AUC and AP of class 1 where there are two classes, else the mean over classes, each against the rest.

    Only classes that some rows are of, and not all, count; None where there are none.
    """
    columns = np.ascontiguousarray(probabilities.T)
    classes = (1,) if len(columns) == 2 else range(len(columns))
    found = [one for c in classes if (one := rank(columns[c], y == c))]
    return Ranking(*(float(np.mean(values)) for values in zip(*found, strict=True))) if found else None
