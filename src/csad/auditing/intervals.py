"""How far a figure might have come out otherwise with other rows from the same source: bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

Interval = tuple[float, float]
Table = NDArray[Any]
One = Callable[..., float]
Several = Callable[..., Mapping[str, float]]


@overload
def bootstrap(
    figure: One, *arrays: Table, repeats: int = ..., level: float = ..., seed: int = ..., same: Table | None = ...
) -> Interval: ...
@overload
def bootstrap(
    figure: Several, *arrays: Table, repeats: int = ..., level: float = ..., seed: int = ..., same: Table | None = ...
) -> dict[str, Interval]: ...
def bootstrap(
    figure: One | Several,
    *arrays: Table,
    repeats: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    same: Table | None = None,
) -> Interval | dict[str, Interval]:
    """(low, high) for ``figure(*arrays)``: percentiles of it over rows drawn with replacement; or one pair per name.

    All arrays are drawn alike. Draws that do not give a figure, since they lack a class, do not count for it: its name
    is missing there, or it is NaN. A name that no draw gives is left out. Rows alike in ``same`` (one person) are drawn
    together.
    """
    if repeats < 1 or not 0 < level < 1:
        raise InputError(f"An interval needs 1 repeat or more and a level between 0 and 1, not {repeats} and {level}.")
    rows, generator = _common_length(arrays), np.random.default_rng(seed)
    units = None if same is None else np.unique(same, return_inverse=True)[1]
    chosen = (drawn_rows(rows, units, generator) for _ in range(repeats))
    draws = [figure(*(array[index] for array in arrays)) for index in chosen]
    by_name = [draw if isinstance(draw, Mapping) else {"": draw} for draw in draws]
    names = dict.fromkeys(name for draw in by_name for name in draw)
    spread = {name: percentiles([draw[name] for draw in by_name if name in draw], level) for name in names}
    found = {name: interval for name, interval in spread.items() if interval is not None}
    if isinstance(draws[0], Mapping):
        return found
    if not found:
        raise InputError(f"The figure is a number in none of {repeats} draws of {rows} rows.")
    return found[""]


@overload
def bootstrap_difference(
    figure: One,
    first: Table,
    second: Table,
    *arrays: Table,
    repeats: int = ...,
    level: float = ...,
    seed: int = ...,
    same: Table | None = ...,
) -> Interval: ...
@overload
def bootstrap_difference(
    figure: Several,
    first: Table,
    second: Table,
    *arrays: Table,
    repeats: int = ...,
    level: float = ...,
    seed: int = ...,
    same: Table | None = ...,
) -> dict[str, Interval]: ...
def bootstrap_difference(
    figure: One | Several,
    first: Table,
    second: Table,
    *arrays: Table,
    repeats: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    same: Table | None = None,
) -> Interval | dict[str, Interval]:
    """(low, high) for ``figure(first, *arrays) − figure(second, *arrays)``, both on the same rows in each draw.

    Two predictions of the same rows are mostly right and wrong together: this is far narrower than two intervals.
    """

    def difference(one: Table, other: Table, *rest: Table) -> Any:
        a: Any = figure(one, *rest)
        b: Any = figure(other, *rest)
        return {name: a[name] - b[name] for name in a if name in b} if isinstance(a, Mapping) else a - b

    found: Interval | dict[str, Interval] = bootstrap(
        difference, first, second, *arrays, repeats=repeats, level=level, seed=seed, same=same
    )
    return found


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


def _common_length(arrays: Sequence[Table]) -> int:
    lengths = {len(array) for array in arrays}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError("The arrays of a figure must all have the same rows, at least one.")
    return lengths.pop()
