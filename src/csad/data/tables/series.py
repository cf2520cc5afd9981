"""How series that a table names become x: kept with the run, so that other series become x in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from csad.data.images import TOLERATED, most_broken
from csad.data.tables.columns import Table, shown
from csad.data.tables.file_columns import FileRows, broken_notices, file_names
from csad.data.tables.preparation import VERSION, Unit, read_back
from csad.data.tables.series_files import Read, Series, read_series
from csad.errors import InputError

MARK = "nothing measured"  # what the channel that marks is called


@dataclass(frozen=True)
class SeriesPreparation:
    """The ``column`` that names series, their channels with the unit of each, and the ``length`` they are made.

    ``marked``: one more channel is 1 where a series has ended or lacks a value, and the channels' mean stands there.
    ``target`` is the unit of a target that is a number.
    """

    what: ClassVar[str] = "series"
    column: str
    length: int
    channels: tuple[str, ...]
    units: tuple[Unit, ...]
    marked: bool = False
    target: Unit = field(default_factory=Unit)

    @property
    def shape(self) -> tuple[int, int]:
        """Of one x: (channels, steps)."""
        return len(self.channels) + self.marked, self.length

    def told(self) -> str:
        """What x is, in words."""
        return series_words(self.length, self.channels, self.marked)

    def names(self, table: Table) -> list[str]:
        """The path of each row's series, empty where none is named."""
        return file_names(table, self.column)

    def read(
        self, place: Path, parts: Mapping[str, Sequence[str]], tolerated: float = TOLERATED
    ) -> tuple[dict[str, FileRows], list[str]]:
        """The series of several lists of paths inside a folder or archive, and sentences on broken and lacking ones."""
        files = read_series(place, [name for part in parts.values() for name in part])
        return self.made(place, parts, files, tolerated)

    def made(
        self,
        place: Path,
        parts: Mapping[str, Sequence[str]],
        files: Mapping[str, Read],
        tolerated: float = TOLERATED,
    ) -> tuple[dict[str, FileRows], list[str]]:
        """The same of files that were read; more broken series than ``tolerated`` are an error."""
        fitting = {name: fitted(one, self.channels) for name, one in files.items()}
        wrong = {name: one for name, one in fitting.items() if isinstance(one, str)}
        if len(wrong) > most_broken(tolerated, len(files)):
            name, why = next(iter(wrong.items()))
            limit = f"at most {tolerated:.0%} may be so, so " if tolerated < 1 else ""
            raise InputError(
                f"{len(wrong):,} of {len(files):,} series in {place} cannot be used, the first is '{name}': {why}; "
                f"{limit}mend them or leave them out."
            )
        rows, lost = {}, []
        for part, names in parts.items():
            kept = [(k, one) for k, name in enumerate(names) if isinstance(one := fitting[name], Series)]
            broken = tuple(name for name in names if name in wrong)
            rows[part] = FileRows(self._x([one for _, one in kept]), np.array([k for k, _ in kept], np.int64), broken)
            lost += list(broken)
        why = f" ({next(iter(wrong.values()))})" if wrong else ""
        return rows, [*broken_notices(tuple(lost), "series", "series", why), *self._lacking_words(fitting.values())]

    def _lacking_words(self, series: Iterable[Read]) -> list[str]:
        """A sentence on series that lack values, if any."""
        lacking = sum(isinstance(one, Series) and bool(np.isnan(one.values[: self.length]).any()) for one in series)
        lack = "lacks" if lacking == 1 else "lack"
        return [f"{lacking:,} series {lack} values: the channel's mean stands there."] if lacking else []

    def _x(self, series: Sequence[Series]) -> NDArray[np.float32]:
        x = np.zeros((len(series), *self.shape), np.float32)
        middle, size = (np.array([getattr(unit, name) for unit in self.units]) for name in ("middle", "size"))
        for row, one in zip(x, series, strict=True):
            values = one.values[: self.length]
            missing = np.isnan(values)
            row[: len(self.units), : len(values)] = np.where(missing, 0, (values - middle) / size).T
            if self.marked:
                row[-1] = 1
                row[-1, : len(values)] = missing.any(1)
        return x

    def curves(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """By channel, one x as it would stand in a file; the mark last, where there is one."""
        found = {
            name: unit.restored(x[c]) for c, (name, unit) in enumerate(zip(self.channels, self.units, strict=True))
        }
        return found | ({MARK: x[-1]} if self.marked else {})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return {"version": VERSION, "series": asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SeriesPreparation:
        """The preparation that ``to_dict`` gave, from JSON or as it is."""
        with read_back(values, "series"):
            told = dict(values["series"])
            units, target = tuple(Unit(**unit) for unit in told["units"]), Unit(**told["target"])
            channels = tuple(told["channels"])
            if len(channels) != len(units):
                raise ValueError("its channels and their units are not as many")
            made = cls(told["column"], int(told["length"]), channels, units, bool(told["marked"]), target)
        return made


def fitted(series: Read, channels: tuple[str, ...]) -> Read:
    """The series with its channels in this order, or why it has others."""
    if isinstance(series, str):
        return series
    if series.channels and sorted(series.channels) == sorted(channels):
        return Series(series.values[:, [series.channels.index(name) for name in channels]], channels)
    if series.values.shape[1] != len(channels):
        return f"it has {series.values.shape[1]} channels where others have {len(channels)}"
    if series.channels and channels != unnamed(len(channels)):
        return f"its channels are {shown(series.channels, 4)} where others have {shown(channels, 4)}"
    return series


def unnamed(count: int) -> tuple[str, ...]:
    """What channels are called where no header says it."""
    return tuple(f"channel {k + 1}" for k in range(count))


def series_words(length: int, channels: tuple[str, ...], marked: bool) -> str:
    """What x is, in words."""
    count = f"{len(channels)} channel{'s' * (len(channels) > 1)}"
    mark = ", and one that is 1 where nothing was measured" if marked else ""
    return f"series of {length:,} steps, {count} ({shown(channels, 4)}){mark}"


def unit_of(values: NDArray[np.float64]) -> Unit:
    """The unit of a channel: its mean and spread, of values that are known; one that never changes keeps its size."""
    known = values[~np.isnan(values)]
    spread = float(known.std()) if known.size else 0.0
    return Unit(float(known.mean()) if known.size else 0.0, spread if spread > 0 else 1.0)
