"""Series that lie in columns of a table, such as t0 … t199: one row each, one channel for each beginning of a name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.columns import Numbers, Table, Whole, shown
from csad.data.tables.preparation import Preparation, Unit, read_back
from csad.data.tables.prepared import Scaled, X
from csad.data.tables.series import MARK, series_words, unit_of
from csad.errors import InputError


@dataclass(frozen=True)
class WideSeries(Preparation):
    """Columns as steps, channel after channel; all of a channel have one unit.

    ``marked``: one more channel is 1 where a step lacks a value, and the channel's mean stands there.
    """

    channels: tuple[str, ...] = ()
    marked: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Of one x: (channels, steps)."""
        return len(self.channels) + self.marked, len(self.columns) // len(self.channels)

    def names(self) -> tuple[str, ...]:
        """The numbers of x, in their order."""
        marks = tuple(f"step {step + 1} missing" for step in range(self.shape[1])) if self.marked else ()
        return (*super().names(), *marks)

    def told(self) -> str:
        """What x is, in words."""
        return series_words(self.shape[1], self.channels, self.marked)

    def apply(self, table: Table, rows: Whole | None = None) -> X:
        """x (n, channels, steps) of the table, or of these rows of it."""
        count, steps = table.rows if rows is None else len(rows), self.shape[1]
        x = np.zeros((count, *self.shape), np.float32)
        for place, column in enumerate(self.columns):
            values = table[column.column] if rows is None else table[column.column].take(rows)
            channel, step = divmod(place, steps)
            column.put(values, table, x[:, channel, step : step + 1])
            if self.marked:
                x[values.missing(), -1, step] = 1
        return x

    def curves(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """By channel, one x as it would stand in the table; the mark last, where there is one."""
        units = [self.columns[channel * self.shape[1]] for channel in range(len(self.channels))]
        scaled = [(unit.spread, unit.mean) if isinstance(unit, Scaled) else (1.0, 0.0) for unit in units]
        found = {name: x[c] * scaled[c][0] + scaled[c][1] for c, name in enumerate(self.channels)}
        return found | ({MARK: x[-1]} if self.marked else {})

    def notices(self, table: Table, rows: Whole | None = None) -> list[str]:
        """A sentence on the rows of a table, or those of these rows, that lack values, if any."""
        missing = np.any([table[column.column].missing() for column in self.columns], axis=0)
        lacking = int(missing.sum() if rows is None else missing[rows].sum())
        many = f"{lacking:,} row{'s lack' if lacking > 1 else ' lacks'}"
        return [f"{many} values of the series: the channel's mean stands there."] if lacking else []

    def fills(self) -> dict[str, float]:
        """None: what stands for a missing step is the mean of its channel, as the mark says."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return super().to_dict() | {"wide": {"channels": list(self.channels), "marked": self.marked}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The preparation that ``to_dict`` gave, from JSON or as it is."""
        plain = Preparation.from_dict(values)
        with read_back(values, "series"):
            channels, marked = tuple(map(str, values["wide"]["channels"])), bool(values["wide"]["marked"])
            if not channels or not plain.columns or len(plain.columns) % len(channels):
                raise ValueError("its columns cannot be parted into channels")
        return cls(plain.columns, plain.target, channels, marked)


def wide_columns(table: Table, channels: Sequence[str], taken: Sequence[str]) -> dict[str, list[str]]:
    """By channel, its columns in the order of their numbers; columns that are ``taken`` have another part.

    All channels have the same numbers, so that what stands at one place of x was measured at one time.
    """
    found = {channel: _steps(table, channel, taken) for channel in channels}
    if len({len(steps) for steps in found.values()}) > 1:
        counts = ", ".join(f"{channel} {len(steps)}" for channel, steps in found.items())
        raise InputError(f"All channels of a series must have as many columns, but they have: {counts}.")
    first = channels[0]
    for steps in found.values():
        if odd := [name for number, name in steps.items() if number not in found[first]]:
            raise InputError(f"Column '{odd[0]}' is a step that channel {first} does not have: number them alike.")
    return {channel: list(steps.values()) for channel, steps in found.items()}


def _steps(table: Table, channel: str, taken: Sequence[str]) -> dict[int, str]:
    """The columns that begin so and end in a number, by that number, in its order."""
    form = re.compile(re.escape(channel) + r"([ _.:-]?)(\d+)")
    named = {name: match for name in table.columns if (match := form.fullmatch(name))}
    if len(named) < 2:
        raise InputError(
            f"A series needs two columns or more that begin with '{channel}' and end in a number, as {channel}0, "
            f"{channel}1, …; {table.path} has {len(named)}."
        )
    if both := [name for name in named if name in taken]:
        what = "so it is not the target, a bias, group or split"
        raise InputError(f"Column '{both[0]}' is a step of the series, {what}.")
    steps = {int(match[2]): name for name, match in named.items()}
    # t-1 beside t0 may be a minus; t1 and t01 have the same place.
    if len({match[1] for match in named.values()}) > 1 or len(steps) < len(named):
        advice = f"name all as {channel}0, {channel}1, …, from 0 or 1 on"
        raise InputError(f"The order of the columns {shown(tuple(named), 4)} cannot be told: {advice}.")
    return dict(sorted(steps.items()))


def prepared_columns(table: Table, channels: Mapping[str, Sequence[str]], rows: Whole, target: Unit) -> WideSeries:
    """The preparation that the training ``rows`` tell."""
    made, marked = [], False
    for names in channels.values():
        values = np.stack([_numbers(table, name).values[rows].astype(np.float64) for name in names])
        marked |= bool(np.isnan(values).any())
        unit = unit_of(values)
        made += [Scaled(name, unit.middle, unit.size, unit.middle) for name in names]
    return WideSeries(tuple(made), target, tuple(channels), marked)


def _numbers(table: Table, name: str) -> Numbers:
    column = table[name]
    if isinstance(column, Numbers):
        return column
    raise InputError(f"Column '{name}' of {table.path} is a step of the series, so it must hold numbers.")
