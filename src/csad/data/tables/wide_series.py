"""Series that lie in columns of a table, such as t0 … t199: one row each, one channel for each beginning of a name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.columns import Numbers, Table, Whole
from csad.data.tables.preparation import Preparation, Unit
from csad.data.tables.prepared import Scaled, X
from csad.data.tables.series import MARK, series_words
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
                x[:, -1, step] += values.missing()
        return x if not self.marked else np.concatenate([x[:, :-1], x[:, -1:] > 0], axis=1, dtype=np.float32)

    def curves(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """By channel, one x as it would stand in the table; the mark last, where there is one."""
        units = [self.columns[channel * self.shape[1]] for channel in range(len(self.channels))]
        scaled = [(unit.spread, unit.mean) if isinstance(unit, Scaled) else (1.0, 0.0) for unit in units]
        found = {name: x[c] * scaled[c][0] + scaled[c][1] for c, name in enumerate(self.channels)}
        return found | ({MARK: x[-1]} if self.marked else {})

    def lacking(self, table: Table) -> int:
        """How many rows of a table lack a value."""
        return int(np.any([table[column.column].missing() for column in self.columns], axis=0).sum())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return super().to_dict() | {"wide": {"channels": list(self.channels), "marked": self.marked}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The preparation that ``to_dict`` gave, from JSON or as it is."""
        plain = Preparation.from_dict(values)
        try:
            channels, marked = tuple(map(str, values["wide"]["channels"])), bool(values["wide"]["marked"])
            if not channels or not plain.columns or len(plain.columns) % len(channels):
                raise ValueError("its columns cannot be parted into channels")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"The preparation of the series is not whole ({error}): train the run again.") from error
        return cls(plain.columns, plain.target, channels, marked)


def wide_columns(table: Table, channels: Sequence[str], taken: Sequence[str]) -> dict[str, list[str]]:
    """By channel, the columns that begin so and end in a number, in the order of that; ``taken`` have another part."""
    found = {}
    for channel in channels:
        form = re.compile(re.escape(channel) + r"[ _.:-]?(\d+)")
        steps = {name: int(match[1]) for name in table.columns if (match := form.fullmatch(name))}
        if len(steps) < 2:
            raise InputError(
                f"A series needs two columns or more that begin with '{channel}' and end in a number, as {channel}0, "
                f"{channel}1, …; {table.path} has {len(steps)}."
            )
        if both := [name for name in steps if name in taken]:
            what = "so it is not the target, a bias, group or split"
            raise InputError(f"Column '{both[0]}' is a step of the series, {what}.")
        found[channel] = sorted(steps, key=steps.__getitem__)
    if len({len(steps) for steps in found.values()}) > 1:
        counts = ", ".join(f"{channel} {len(steps)}" for channel, steps in found.items())
        raise InputError(f"All channels of a series must have as many columns, but they have: {counts}.")
    return found


def prepared_columns(table: Table, channels: Mapping[str, Sequence[str]], rows: Whole, target: Unit) -> WideSeries:
    """The preparation that the training ``rows`` tell."""
    made, marked = [], False
    for names in channels.values():
        values = np.stack([_numbers(table, name).values[rows].astype(np.float64) for name in names])
        known = values[~np.isnan(values)]
        marked |= known.size < values.size
        spread = float(known.std()) if known.size else 0.0
        mean = float(known.mean()) if known.size else 0.0
        made += [Scaled(name, mean, spread if spread > 0 else 1.0, mean) for name in names]
    return WideSeries(tuple(made), target, tuple(channels), marked)


def _numbers(table: Table, name: str) -> Numbers:
    column = table[name]
    if isinstance(column, Numbers):
        return column
    raise InputError(f"Column '{name}' of {table.path} is a step of the series, so it must hold numbers.")
