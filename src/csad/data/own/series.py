"""How series become x, from files that a table names or from columns of the table; fitted on training rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import TOLERATED, most_broken
from csad.data.own.linked_files import broken_notices, file_names
from csad.data.own.preprocessor import (
    VERSION,
    FilePreprocessor,
    FileRows,
    NumberEncoder,
    Preprocessor,
    Unit,
    X,
    read_back,
)
from csad.data.own.read_series import Read, Series, read_series
from csad.data.tables.table import ColumnTable, NumberColumn, Whole, named_few
from csad.errors import InputError
from csad.messages import message

MARK = "nothing measured"  # the name of the channel that marks missing values


@dataclass(frozen=True)
class SeriesPreprocessor(FilePreprocessor):
    """The ``column`` that names series, their channels with the unit of each, and the ``length`` they are brought to.

    With ``marked``, one more channel is 1 at steps after the end of a series or without a value; the other channels
    then have their mean. ``target`` is the unit of a target that is a number.
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
        """The shape of one x: (channels, steps)."""
        return len(self.channels) + self.marked, self.length

    def describe(self) -> str:
        """What x is, in words."""
        return series_words(self.length, self.channels, self.marked)

    def names(self, table: ColumnTable) -> list[str]:
        """The path of each row's series, empty if the row names none."""
        return file_names(table, self.column)

    def read(
        self, place: Path, parts: Mapping[str, Sequence[str]], tolerated: float = TOLERATED
    ) -> tuple[dict[str, FileRows], list[str]]:
        """The series of several lists of paths inside a folder or archive, and sentences on incomplete ones."""
        files = read_series(place, [name for part in parts.values() for name in part])
        return self.rows_of(place, parts, files, tolerated)

    def rows_of(
        self,
        place: Path,
        parts: Mapping[str, Sequence[str]],
        files: Mapping[str, Read],
        tolerated: float = TOLERATED,
    ) -> tuple[dict[str, FileRows], list[str]]:
        """The same for files that were read; more than the share ``tolerated`` of broken series is an error."""
        fitting = {name: in_order(series, self.channels) for name, series in files.items()}
        wrong = {name: series for name, series in fitting.items() if isinstance(series, str)}
        if len(wrong) > most_broken(tolerated, len(files)):
            name, why = next(iter(wrong.items()))
            limit = f"at most {tolerated:.0%} may be unusable, so " if tolerated < 1 else ""
            raise InputError(
                "too-many-broken-series",
                count=len(wrong),
                total=len(files),
                place=place,
                name=name,
                reason=why,
                limit=limit,
            )
        rows, lost = {}, []
        for part, names in parts.items():
            usable = [(k, series) for k, name in enumerate(names) if isinstance(series := fitting[name], Series)]
            broken = tuple(name for name in names if name in wrong)
            rows[part] = FileRows(
                self._x([series for _, series in usable]), np.array([k for k, _ in usable], np.int64), broken
            )
            lost += list(broken)
        why = f" ({next(iter(wrong.values()))})" if wrong else ""
        return rows, [*broken_notices(tuple(lost), "series", "series", why), *self._missing_notices(fitting.values())]

    def _missing_notices(self, series: Iterable[Read]) -> list[str]:
        """A sentence on series that lack values, if any."""
        lacking = sum(isinstance(each, Series) and bool(np.isnan(each.values[: self.length]).any()) for each in series)
        return [message("series-with-missing-values", series=lacking)] if lacking else []

    def _x(self, series: Sequence[Series]) -> NDArray[np.float32]:
        x = np.zeros((len(series), *self.shape), np.float32)
        middle, size = (np.array([getattr(unit, name) for unit in self.units]) for name in ("middle", "size"))
        for row, each in zip(x, series, strict=True):
            values = each.values[: self.length]
            missing = np.isnan(values)
            row[: len(self.units), : len(values)] = np.where(missing, 0, (values - middle) / size).T
            if self.marked:
                row[-1] = 1
                row[-1, : len(values)] = missing.any(1)
        return x

    def curves(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """One x by channel, in the units of its file; the mark comes last, if there is one."""
        curves = {
            name: unit.restored(x[c]) for c, (name, unit) in enumerate(zip(self.channels, self.units, strict=True))
        }
        return curves | ({MARK: x[-1]} if self.marked else {})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return {"version": VERSION, "series": asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SeriesPreprocessor:
        """The preprocessor of the values that ``to_dict`` gave."""
        with read_back(values, "series"):
            fields = dict(values["series"])
            units, target = tuple(Unit(**unit) for unit in fields["units"]), Unit(**fields["target"])
            channels = tuple(fields["channels"])
            if len(channels) != len(units):
                raise ValueError("its channels and its units differ in number")
            preprocessor = cls(fields["column"], int(fields["length"]), channels, units, bool(fields["marked"]), target)
        return preprocessor


def in_order(series: Read, channels: tuple[str, ...]) -> Read:
    """The series with its channels in this order, or why it has others."""
    if isinstance(series, str):
        return series
    if series.channels and sorted(series.channels) == sorted(channels):
        return Series(series.values[:, [series.channels.index(name) for name in channels]], channels)
    if series.values.shape[1] != len(channels):
        return f"its number of channels is {series.values.shape[1]}, but {len(channels)} in other series"
    if series.channels and channels != default_channels(len(channels)):
        return f"its channels are {named_few(series.channels, 4)}, but {named_few(channels, 4)} in other series"
    return series


def default_channels(count: int) -> tuple[str, ...]:
    """The names of channels that no header names."""
    return tuple(f"channel {k + 1}" for k in range(count))


def series_words(length: int, channels: tuple[str, ...], marked: bool) -> str:
    """What x is, in words."""
    count = f"{len(channels)} channel{'s' * (len(channels) > 1)}"
    mark = ", and one extra channel that is 1 where values are missing" if marked else ""
    return f"series of {length:,} steps, {count} ({named_few(channels, 4)}){mark}"


def unit_of(values: NDArray[np.float64]) -> Unit:
    """The unit of a channel: mean and spread of its known values; a constant channel keeps its size."""
    known = values[~np.isnan(values)]
    spread = float(known.std()) if known.size else 0.0
    return Unit(float(known.mean()) if known.size else 0.0, spread if spread > 0 else 1.0)


LONGEST = 1_000_000  # steps
USUAL = 0.9  # without a length, this share of the training series stays whole


def fit_series(
    column: str, length: int, target: Unit, place: Path, paths: Mapping[str, Sequence[str]]
) -> tuple[SeriesPreprocessor, dict[str, FileRows], list[str]]:
    """The preprocessor of the series that a column names, their x, and sentences on what the user may not expect.

    It is learned from the split "train" of ``paths``. With a ``length`` of 0, nine in ten of its series stay whole.
    """
    files = read_series(place, [name for part in paths.values() for name in part])
    trained = [files[name] for name in paths["train"]]
    preprocessor = _fit(column, length, target, trained)
    rows, notices = preprocessor.rows_of(place, paths, files)
    return preprocessor, rows, [*_length_notices(preprocessor, trained), *notices]


def _fit(column: str, length: int, target: Unit, trained: Sequence[Read]) -> SeriesPreprocessor:
    whole = [series for series in trained if isinstance(series, Series)]
    if not whole:
        why = f" (first: {trained[0]})" if trained else ", because the rows name none"
        raise InputError("no-readable-series", column=column, reason=why)
    count = Counter(series.values.shape[1] for series in whole).most_common(1)[0][0]
    named = Counter(series.channels for series in whole if len(series.channels) == count).most_common(1)
    channels = named[0][0] if named else default_channels(count)
    alike = [ordered for series in whole if isinstance(ordered := in_order(series, channels), Series)]
    steps = np.array([len(series.values) for series in alike])
    length = length or int(np.quantile(steps, USUAL, method="inverted_cdf"))
    values = np.concatenate([series.values[:length] for series in alike]).astype(np.float64)
    marked = bool((steps < length).any() or np.isnan(values).any())
    return SeriesPreprocessor(column, length, channels, tuple(map(unit_of, values.T)), marked, target)


def _length_notices(preprocessor: SeriesPreprocessor, trained: Sequence[Read]) -> list[str]:
    """Sentences on the lengths of series, on longer and shorter ones, and on files that seem to be turned around."""
    steps = np.array([len(series.values) for series in trained if isinstance(series, Series)])
    length, channels = preprocessor.length, len(preprocessor.channels)
    notices: list[str] = []
    if steps.min() < steps.max() or steps.max() != length:
        cut, short = int((steps > length).sum()), int((steps < length).sum())
        notices.append(
            message(
                "series-lengths-adjusted",
                shortest=int(steps.min()),
                longest=int(steps.max()),
                length=length,
                cut=cut,
                total=len(steps),
                padded=short,
            )
        )
    if channels > max(8, float(np.median(steps))):
        notices.append(message("series-may-be-transposed", channels=channels, steps=np.median(steps)))
    return notices


@dataclass(frozen=True)
class WideSeries(Preprocessor):
    """Series in columns such as t0 … t199: one row each, channel after channel; a channel has one unit.

    With ``marked``, one more channel is 1 at steps without a value; the channel then has its mean.
    """

    is_series: ClassVar[bool] = True
    channels: tuple[str, ...] = ()
    marked: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of one x: (channels, steps)."""
        return len(self.channels) + self.marked, len(self.columns) // len(self.channels)

    def names(self) -> tuple[str, ...]:
        """The numbers of x, in their order."""
        marks = tuple(f"step {step + 1} missing" for step in range(self.shape[1])) if self.marked else ()
        return (*super().names(), *marks)

    def describe(self) -> str:
        """What x is, in words."""
        return series_words(self.shape[1], self.channels, self.marked)

    def apply(self, table: ColumnTable, rows: Whole | None = None) -> X:
        """x (n, channels, steps) of the table, or of these of its rows."""
        count, steps = table.rows if rows is None else len(rows), self.shape[1]
        x = np.zeros((count, *self.shape), np.float32)
        for place, column in enumerate(self.columns):
            values = table[column.column] if rows is None else table[column.column].take(rows)
            channel, step = divmod(place, steps)
            column.write(values, table, x[:, channel, step : step + 1])
            if self.marked:
                x[values.missing(), -1, step] = 1
        return x

    def curves(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """One x by channel, in the units of the table; the mark comes last, if there is one."""
        units = [self.columns[channel * self.shape[1]] for channel in range(len(self.channels))]
        scaled = [(unit.spread, unit.mean) if isinstance(unit, NumberEncoder) else (1.0, 0.0) for unit in units]
        curves = {name: x[c] * scaled[c][0] + scaled[c][1] for c, name in enumerate(self.channels)}
        return curves | ({MARK: x[-1]} if self.marked else {})

    def notices(self, table: ColumnTable, rows: Whole | None = None) -> list[str]:
        """A sentence on the rows of a table, or of these of its rows, that lack values, if any."""
        missing = np.any([table[column.column].missing() for column in self.columns], axis=0)
        lacking = int(missing.sum() if rows is None else missing[rows].sum())
        return [message("rows-with-missing-steps", rows=lacking)] if lacking else []

    def fills(self) -> dict[str, float]:
        """Empty: a missing step has the mean of its channel, as the mark shows."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return super().to_dict() | {"wide": {"channels": list(self.channels), "marked": self.marked}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The preprocessor of the values that ``to_dict`` gave."""
        plain = Preprocessor.from_dict(values)
        with read_back(values, "series"):
            channels, marked = tuple(map(str, values["wide"]["channels"])), bool(values["wide"]["marked"])
            if not channels or not plain.columns or len(plain.columns) % len(channels):
                raise ValueError("its columns cannot be divided evenly into channels")
        return cls(plain.columns, plain.target, channels, marked)


def wide_columns(table: ColumnTable, channels: Sequence[str], reserved: Sequence[str]) -> dict[str, list[str]]:
    """By channel, its columns in the order of their numbers; ``reserved`` columns have another role.

    All channels must have the same numbers, because one place of x is one time.
    """
    by_channel = {channel: _steps(table, channel, reserved) for channel in channels}
    if len({len(steps) for steps in by_channel.values()}) > 1:
        counts = ", ".join(f"{channel} {len(steps)}" for channel, steps in by_channel.items())
        raise InputError("channel-lengths-differ", counts=counts)
    first = channels[0]
    for steps in by_channel.values():
        if odd := [name for number, name in steps.items() if number not in by_channel[first]]:
            raise InputError("channel-steps-differ", column=odd[0], channel=first)
    return {channel: list(steps.values()) for channel, steps in by_channel.items()}


def _steps(table: ColumnTable, channel: str, reserved: Sequence[str]) -> dict[int, str]:
    """The columns whose names are the channel and a number, by that number, in its order."""
    form = re.compile(re.escape(channel) + r"([ _.:-]?)(\d+)")
    named = {name: match for name in table.columns if (match := form.fullmatch(name))}
    if len(named) < 2:
        raise InputError("too-few-series-columns", channel=channel, file=table.path, count=len(named))
    if both := [name for name in named if name in reserved]:
        raise InputError("series-column-role-conflict", column=both[0])
    steps = {int(match[2]): name for name, match in named.items()}
    # The sign of t-1 beside t0 may be a minus; t1 and t01 have the same number.
    if len({match[1] for match in named.values()}) > 1 or len(steps) < len(named):
        advice = f"name them {channel}0, {channel}1, …, starting at 0 or 1"
        raise InputError("series-order-ambiguous", columns=named_few(tuple(named), 4), advice=advice)
    return dict(sorted(steps.items()))


def fit_wide_series(table: ColumnTable, channels: Mapping[str, Sequence[str]], rows: Whole, target: Unit) -> WideSeries:
    """The preprocessor of the columns of these channels, learned from the training ``rows``."""
    encoders, marked = [], False
    for names in channels.values():
        values = np.stack([_numbers(table, name).values[rows].astype(np.float64) for name in names])
        marked |= bool(np.isnan(values).any())
        unit = unit_of(values)
        encoders += [NumberEncoder(name, unit.middle, unit.size, unit.middle) for name in names]
    return WideSeries(tuple(encoders), target, tuple(channels), marked)


def _numbers(table: ColumnTable, name: str) -> NumberColumn:
    column = table[name]
    if isinstance(column, NumberColumn):
        return column
    raise InputError("series-step-not-numeric", column=name, file=table.path)
