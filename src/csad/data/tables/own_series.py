"""Series of one's own as a data set: a table names a file for each, or holds them in its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from csad.data.tables.by_settings import by_settings
from csad.data.tables.file_columns import looked_for
from csad.data.tables.inputs import Fate, kind_of
from csad.data.tables.labelled import Labelled, read_labelled
from csad.data.tables.made import Made, by_columns, owned
from csad.data.tables.named_files import named_parts, splits_of
from csad.data.tables.owned import OwnTable
from csad.data.tables.roles import Roles, names_of
from csad.data.tables.series import SeriesPreparation
from csad.data.tables.series_files import Read, Series, read_series
from csad.data.tables.series_fit import LONGEST, prepared_by
from csad.data.tables.wide_series import prepared_columns, wide_columns
from csad.errors import InputError


def from_series(
    path: str | Path,
    *,
    target: str,
    bias: str | Sequence[str],
    series: str = "",
    series_in: str | Path = "",
    series_columns: str | Sequence[str] = (),
    length: int = 0,
    group: str = "",
    split: str = "",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    bins: Mapping[str, Sequence[float]] | None = None,
    widths: Mapping[str, float] | None = None,
    target_kind: str = "",
) -> OwnTable:
    """The data set of series that the column ``series`` of a table names, or that its columns hold; x is nothing else.

    Names are paths inside ``series_in``, a folder, .zip, .tar or .tar.gz, or the table's folder: .csv or .npy files, a
    row for each step, a column for each channel. ``series_columns`` are instead how the columns of each channel begin,
    "t" for t0, t1, … All series are cut or filled up to ``length`` steps; where it is 0, nine in ten of the training
    rows' are whole. All else is as in ``from_table``.
    """
    roles, channels = Roles(target, names_of(bias), (), group, split), names_of(series_columns)
    _check(roles, series, channels, length)
    found = read_labelled(
        path, roles, fractions=fractions, seed=seed, bins=bins, widths=widths, target_kind=target_kind
    )
    made = _in_columns(found, channels) if channels else _in_files(found, series, series_in, length)
    return owned(found, made, rest="not used: x is the series")


series_from_settings = by_settings(from_series)


def _check(roles: Roles, series: str, channels: tuple[str, ...], length: int) -> None:
    """Nothing, or an error on what is wrong before the file is read."""
    if series and channels:
        raise InputError("--series names a column of files, --series-columns columns of steps: give one of the two.")
    if not channels:
        roles.check_files(series, "series", "--series")
    elif len(set(channels)) < len(channels):
        raise InputError("--series-columns names a channel twice; name it once.")
    if channels and length:
        raise InputError("data.length is for series in files: those in columns have as many steps as columns.")
    if not 0 <= length <= LONGEST:
        raise InputError(f"length must be a number of steps, from 1 to {LONGEST:,}, or 0 for the usual, not {length}.")


def _in_files(found: Labelled, series: str, series_in: str | Path, length: int) -> Made:
    named = named_parts(found, series, "series")
    with looked_for(found.table.path.parent, series_in, "series") as place:
        files = read_series(place, [name for part in named.paths.values() for name in part])
    trained = [files[name] for name in named.paths["train"]]
    preparation = prepared_by(series, length, found.target_unit(), trained)
    read, notices = preparation.made(place, named.paths, files)
    lacking = f"series (column '{series}')"
    splits, task = splits_of(found, named.parts, read, preparation.shape, preparation.target, lacking)
    fates = {series: Fate(kind_of(found.table[series]), f"input: {preparation.told()}")}
    notices = [*named.notices, *_fitted_words(preparation, trained), *notices]
    return Made(preparation, splits, task, fates, notices)


def _in_columns(found: Labelled, channels: tuple[str, ...]) -> Made:
    roles, table = found.roles, found.table
    taken = (roles.target, roles.group, roles.split, *roles.bias)
    steps = wide_columns(table, channels, taken)
    preparation = prepared_columns(table, steps, found.rows[found.parts["train"]], found.target_unit())
    splits, task = by_columns(found, preparation, preparation.shape)
    fates = {
        name: Fate(kind_of(table[name]), f"input: a step of the series, channel {channel}")
        for channel, names in steps.items()
        for name in names
    }
    return Made(preparation, splits, task, fates, preparation.notices(table, found.rows))


def _fitted_words(preparation: SeriesPreparation, trained: Sequence[Read]) -> list[str]:
    """Sentences on how long series are, what becomes of longer and shorter ones, and what looks turned around."""
    steps = np.array([len(one.values) for one in trained if isinstance(one, Series)])
    length, channels = preparation.length, len(preparation.channels)
    found = []
    if steps.min() < steps.max() or steps.max() != length:
        cut, short = int((steps > length).sum()), int((steps < length).sum())
        found.append(
            f"Series of the training rows have {steps.min():,} to {steps.max():,} steps; all are made {length:,} long "
            f"(--set data.length=…): {cut:,} of {len(steps):,} are cut at their end, {short:,} filled up there."
        )
    if channels > max(8, float(np.median(steps))):
        found.append(
            f"Series have {channels:,} channels and mostly {np.median(steps):,.0f} steps: a file has a row for each "
            "step; if its rows are channels, turn it around."
        )
    return found
