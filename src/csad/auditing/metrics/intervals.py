"""Statistics of metrics: bootstrap intervals over rows, corrected p-values, Student's t."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

Interval = tuple[float, float]
AnyArray = NDArray[Any]
One = Callable[..., float]
Several = Callable[..., Mapping[str, float]]


@overload
def bootstrap(
    figure: One, *arrays: AnyArray, repeats: int = ..., level: float = ..., seed: int = ..., same: AnyArray | None = ...
) -> Interval: ...
@overload
def bootstrap(
    figure: Several,
    *arrays: AnyArray,
    repeats: int = ...,
    level: float = ...,
    seed: int = ...,
    same: AnyArray | None = ...,
) -> dict[str, Interval]: ...
def bootstrap(
    figure: One | Several,
    *arrays: AnyArray,
    repeats: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    same: AnyArray | None = None,
) -> Interval | dict[str, Interval]:
    """The interval of ``figure(*arrays)``: percentiles of it over rows drawn with replacement.

    Draws that do not give a figure, since they lack a class, do not count for it: its name is missing there, or it is
    NaN. A name that no draw gives is left out.

    Args:
        figure: a function of the arrays that returns a number, or numbers by name.
        arrays: arrays with rows first, all drawn alike.
        repeats: how many draws.
        level: the share of the draws within the interval.
        seed: the seed of the draws.
        same: rows alike in it (one person) are drawn together.

    Returns:
        (low, high), or one such pair for each name.
    """
    if repeats < 1 or not 0 < level < 1:
        raise InputError("interval-settings-out-of-range", repeats=repeats, level=level)
    rows, generator = _common_length(arrays), np.random.default_rng(seed)
    units = None if same is None else np.unique(same, return_inverse=True)[1]
    chosen = (drawn_rows(rows, units, generator) for _ in range(repeats))
    draws = [figure(*(array[index] for array in arrays)) for index in chosen]
    by_name = [draw if isinstance(draw, Mapping) else {"": draw} for draw in draws]
    names = dict.fromkeys(name for draw in by_name for name in draw)
    spread = {name: percentiles([draw[name] for draw in by_name if name in draw], level) for name in names}
    intervals = {name: interval for name, interval in spread.items() if interval is not None}
    if isinstance(draws[0], Mapping):
        return intervals
    if not intervals:
        raise InputError("metric-never-defined", repeats=repeats, rows=rows)
    return intervals[""]


@overload
def bootstrap_difference(
    figure: One,
    first: AnyArray,
    second: AnyArray,
    *arrays: AnyArray,
    repeats: int = ...,
    level: float = ...,
    seed: int = ...,
    same: AnyArray | None = ...,
) -> Interval: ...
@overload
def bootstrap_difference(
    figure: Several,
    first: AnyArray,
    second: AnyArray,
    *arrays: AnyArray,
    repeats: int = ...,
    level: float = ...,
    seed: int = ...,
    same: AnyArray | None = ...,
) -> dict[str, Interval]: ...
def bootstrap_difference(
    figure: One | Several,
    first: AnyArray,
    second: AnyArray,
    *arrays: AnyArray,
    repeats: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    same: AnyArray | None = None,
) -> Interval | dict[str, Interval]:
    """The interval of ``figure(first, *arrays) − figure(second, *arrays)``, both on the same rows in each draw.

    Two predictions of the same rows are mostly right and wrong together: this is far narrower than two intervals.

    Args:
        figure: a function of predictions and arrays that returns a number, or numbers by name.
        first: the predictions of one model, rows first.
        second: those of the other.
        arrays: further arrays with rows first, all drawn alike.
        repeats: how many draws.
        level: the share of the draws within the interval.
        seed: the seed of the draws.
        same: rows alike in it (one person) are drawn together.

    Returns:
        (low, high), or one such pair for each name.
    """

    def difference(first: AnyArray, second: AnyArray, *rest: AnyArray) -> Any:
        a: Any = figure(first, *rest)
        b: Any = figure(second, *rest)
        return {name: a[name] - b[name] for name in a if name in b} if isinstance(a, Mapping) else a - b

    intervals: Interval | dict[str, Interval] = bootstrap(
        difference, first, second, *arrays, repeats=repeats, level=level, seed=seed, same=same
    )
    return intervals


def drawn_rows(rows: int, units: NDArray[np.integer] | None, generator: np.random.Generator) -> NDArray[np.integer]:
    """As many rows as there are, or as many units (numbers from 0 on) with all their rows, drawn with replacement."""
    if units is None:
        return generator.integers(rows, size=rows)
    return np.repeat(np.arange(rows), drawn_times(int(units.max()) + 1, generator)[units])


def drawn_times(units: int, generator: np.random.Generator) -> NDArray[np.integer]:
    """How often each of the units comes where as many as there are, are drawn with replacement."""
    return np.bincount(generator.integers(units, size=units), minlength=units)


def percentiles(values: Sequence[float], level: float) -> Interval | None:
    """(low, high) between which a share ``level`` of the values lies; NaN do not count, and None if all are."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for how many there are (Holm, 1979).

    The k-th smallest is multiplied by the number of those not smaller; the corrected values never fall.
    """
    corrected, largest = [0.0] * len(p), 0.0
    for k, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = corrected[place] = max(largest, min(1.0, (len(p) - k) * p[place]))
    return corrected


def student(n: int, level: float = 0.95) -> float:
    """How many standard errors the interval of the mean of n values reaches to either side, by Student's t."""
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, n - 1))


def _common_length(arrays: Sequence[AnyArray]) -> int:
    lengths = {len(array) for array in arrays}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError("metric-arrays-unequal")
    return lengths.pop()
