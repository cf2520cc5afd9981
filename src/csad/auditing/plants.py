"""Leaks of known size, planted in the features: a reader that would not find these proves nothing by finding none."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from csad.auditing.blocks import Deal
from csad.auditing.columns import Column, Numbers
from csad.auditing.readers import Array, linear, read, standardised
from csad.auditing.within import paired_auc

PLANTS = 100  # in random directions; their readings are averaged


def planted_auc(
    features: Array, column: Column, dealt: Deal, auc: float, generator: np.random.Generator
) -> float | None:
    """The AUC at which the linear reader reads a label that a direction of the features tells with ``auc``.

    It is the less the fewer rows there are for each feature. None where no feature varies, so that none could tell.
    """
    every = np.arange(len(features))
    values, _ = standardised(features, every, every[:0], dealt.stratum)
    if not values.shape[1]:
        return None
    unit = dealt.unit if dealt.whole else every
    size, first = np.bincount(unit), np.unique(unit, return_index=True)[1]
    along = values @ generator.standard_normal((values.shape[1], PLANTS))
    mean = np.stack([np.bincount(unit, weights=one) for one in along.T], axis=1) / size[:, None]
    codes = plant(mean, dealt.stratum[first], typical_share(column), auc, generator)[unit]
    scores = read(linear, features, codes.astype(np.float64), dealt)
    return float(paired_auc(scores, codes == 1, dealt.cells()).mean())


def plant(along: Array, strata: Numbers, share: float, auc: float, generator: np.random.Generator) -> Numbers:
    """0 or 1 for each row and column of ``along``, 1 for ``share`` of each stratum; the column tells it with ``auc``.

    1 is where r · column + √(1 − r²) · noise is above a threshold t. Then the two means of the column are
    r φ(t) / (share (1 − share)) apart, in units of its spread, and AUC = Φ(that / √2).
    """
    normal = NormalDist()
    apart = 2**0.5 * normal.inv_cdf(auc)
    r = min(1.0, apart * share * (1 - share) / normal.pdf(normal.inv_cdf(share)))
    spread = along.std(0)
    mixed = r * (along - along.mean(0)) / np.where(spread > 0, spread, 1.0)
    mixed += (1 - r**2) ** 0.5 * generator.standard_normal(along.shape)
    codes = np.zeros(along.shape, np.int64)
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        codes[members] = mixed[members] > np.quantile(mixed[members], 1 - share, axis=0)
    return codes


def typical_share(column: Column) -> float:
    """The share p of a label that is as hard to learn as the column's are on average: p (1 − p) is their mean."""
    shares = column.positives[column.codes].mean(0)
    return float((1 - np.sqrt(1 - 4 * np.mean(shares * (1 - shares)))) / 2)
