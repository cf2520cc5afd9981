"""How series become x, as the training rows tell: which channels they have, how long they are made, their units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from csad.data.tables.preparation import Unit
from csad.data.tables.series import SeriesPreparation, fitted, unit_of, unnamed
from csad.data.tables.series_files import Read, Series
from csad.errors import InputError

LONGEST = 1_000_000  # steps
USUAL = 0.9  # the share of training series that are whole where no length is given


def prepared_by(column: str, length: int, target: Unit, trained: Iterable[Read]) -> SeriesPreparation:
    """The preparation that the series of the training rows tell; a ``length`` of 0 is the usual one."""
    every = list(trained)
    whole = [one for one in every if isinstance(one, Series)]
    if not whole:
        why = f", of the first: {every[0]}" if every else ": they name none"
        raise InputError(f"No series of the training rows (column '{column}') can be read{why}.")
    count = Counter(one.values.shape[1] for one in whole).most_common(1)[0][0]
    named = Counter(one.channels for one in whole if len(one.channels) == count).most_common(1)
    channels = named[0][0] if named else unnamed(count)
    alike = [one for series in whole if isinstance(one := fitted(series, channels), Series)]
    steps = np.array([len(one.values) for one in alike])
    length = length or int(np.quantile(steps, USUAL, method="inverted_cdf"))
    values = np.concatenate([one.values[:length] for one in alike]).astype(np.float64)
    marked = bool((steps < length).any() or np.isnan(values).any())
    return SeriesPreparation(column, length, channels, tuple(map(unit_of, values.T)), marked, target)
