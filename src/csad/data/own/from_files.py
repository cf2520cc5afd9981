"""Data sets from a user's own files: a table, a table that names pictures, or one that names or holds series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from csad.data.augment import Pictures
from csad.data.own.dataset import DatasetParts, TableDataset, build_dataset, proxy_notices
from csad.data.own.fit_preprocessor import fit_inputs
from csad.data.own.labeled_table import (
    LabeledTable,
    Parts,
    Roles,
    names_of,
    number_by_column,
    numbers_by_column,
    read_labeled_table,
    splits_of_columns,
    splits_of_files,
)
from csad.data.own.linked_files import PicturePreprocessor, file_names, locate_files
from csad.data.own.series import LONGEST, fit_series, fit_wide_series, wide_columns
from csad.data.tables.table import ColumnUse, kind_of
from csad.errors import InputError
from csad.messages import message

# The parameters below are settings of a run, too. A setting is read as the first kind of a union; words such as
# "age=0,30,60" are then a dict.
Names = Sequence[str] | str
Bins = Sequence[str] | Mapping[str, Sequence[float]] | None
Widths = Sequence[str] | Mapping[str, float] | None


def from_table(
    path: str | Path,
    *,
    target: str = "",
    bias: Names = (),
    drop: Names = (),
    group: str = "",
    split: str = "",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    bins: Bins = (),
    widths: Widths = (),
    target_kind: str = "",
    keep_bias_in_x: bool = False,
) -> TableDataset:
    """The data set of a CSV or Parquet file; columns without a role are inputs. Rows without a target are left out.

    Args:
        path: The file. A CSV file is UTF-8 and names its columns in the first line.
        target: The column that is to be learned. It must be given.
        bias: The column, or columns, that the model must not lean on. At least one must be given.
        drop: Columns that are no inputs.
        group: The column that says who a row belongs to. No group is in two splits.
        split: The column that says "train", "validation" or "test". If it names no validation rows, they are drawn
            from the training rows.
        fractions: The shares of train, validation and test if no column says the split. Every combination of target
            and bias is drawn alike.
        seed: The seed of the draw.
        bins: By bias, the numbers at which it is cut into classes, as {"age": [30, 60]} or ["age=30,60"]. A bias with
            more than 20 different numbers needs bins or a width.
        widths: By bias, the distance up to which two numbers are alike, as {"age": 5} or ["age=5"].
        target_kind: "class" or "number"; if empty, a target with more than 20 different numbers is a number.
        keep_bias_in_x: Whether the bias columns are inputs, too.
    """
    roles = Roles(target, names_of(bias), names_of(drop), group, split)
    labeled = _read(path, roles, fractions, seed, bins, widths, target_kind)
    inputs = roles.inputs(labeled.table, keep_bias=keep_bias_in_x)
    fitted = fit_inputs(labeled.table, inputs, labeled.rows[labeled.parts["train"]])
    preprocessor = replace(fitted.preprocessor, target=labeled.target_unit())
    splits, task = splits_of_columns(labeled, preprocessor, (len(preprocessor.names()),))
    used = [column.column for column in preprocessor.columns]
    proxies = proxy_notices(labeled.table, used, [labeled.y, *labeled.b], labeled.rows)
    return build_dataset(labeled, DatasetParts(preprocessor, splits, task, fitted.uses, [*fitted.notices, *proxies]))


def from_pictures(
    path: str | Path,
    *,
    target: str = "",
    bias: Names = (),
    image: str = "",
    images: str | Path = "",
    size: int = 64,
    crop: Sequence[float] | float = (1.0,),
    flip: bool = False,
    shift: int = 0,
    group: str = "",
    split: str = "",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    bins: Bins = (),
    widths: Widths = (),
    target_kind: str = "",
) -> TableDataset:
    """The data set of pictures that a column of a CSV or Parquet file names; x is made of nothing else.

    Rows without a picture, or with a broken one, are left out.

    Args:
        path: The file.
        target, bias: As in ``from_table``.
        image: The column that names the pictures, by paths inside ``images``. It must be given.
        images: A folder, .zip, .tar or .tar.gz; if empty, the folder of the table.
        size: The pixels of a side, to which pictures are resized whatever their proportions.
        crop: The share of width and height that is cut out of the centre before, or a share for each of them.
        flip: Whether half of the pictures are flipped left to right in training.
        shift: The number of pixels by which pictures are moved at most in training.
        group, split, fractions, seed, bins, widths, target_kind: As in ``from_table``.
    """
    roles = Roles(target, names_of(bias), (), group, split)
    roles.check_files(image, "pictures", "--image")
    labeled = _read(path, roles, fractions, seed, bins, widths, target_kind)
    shares = tuple(crop) if isinstance(crop, Sequence) else (crop,)
    preprocessor = PicturePreprocessor(image, size, shares, labeled.target_unit())
    linked = _linked_rows(labeled, image, preprocessor.what)
    with locate_files(labeled.table.path.parent, images, preprocessor.what) as place:
        files, broken = preprocessor.read(place, linked.paths)
    lacking = f"picture (column '{image}')"
    splits, task = splits_of_files(labeled, linked.parts, files, (3, size, size), preprocessor.target, lacking)
    uses = {image: ColumnUse(kind_of(labeled.table[image]), f"input: {preprocessor.describe()}")}
    vary = Pictures(flip, shift) if flip or shift else None
    parts = DatasetParts(preprocessor, splits, task, uses, [*linked.notices, *broken], vary)
    return build_dataset(labeled, parts, rest="not used, because x contains only the pictures")


def from_series(
    path: str | Path,
    *,
    target: str = "",
    bias: Names = (),
    series: str = "",
    series_in: str | Path = "",
    series_columns: Names = (),
    length: int = 0,
    group: str = "",
    split: str = "",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    bins: Bins = (),
    widths: Widths = (),
    target_kind: str = "",
) -> TableDataset:
    """The data set of series in files that a table names, or in its columns; x is made of nothing else.

    Give either ``series`` or ``series_columns``.

    Args:
        path: The CSV or Parquet file.
        target, bias: As in ``from_table``.
        series: The column that names the files, by paths inside ``series_in``: .csv or .npy, with a row for each step
            and a column for each channel.
        series_in: A folder, .zip, .tar or .tar.gz; if empty, the folder of the table.
        series_columns: How the columns of each channel begin, "t" for t0, t1, …
        length: The number of steps to which series in files are cut or filled up. With 0, nine in ten series of the
            training rows stay whole.
        group, split, fractions, seed, bins, widths, target_kind: As in ``from_table``.
    """
    roles, channels = Roles(target, names_of(bias), (), group, split), names_of(series_columns)
    _check_series(roles, series, channels, length)
    labeled = _read(path, roles, fractions, seed, bins, widths, target_kind)
    parts = _in_columns(labeled, channels) if channels else _in_files(labeled, series, series_in, length)
    return build_dataset(labeled, parts, rest="not used, because x contains only the series")


def _read(
    path: str | Path,
    roles: Roles,
    fractions: Sequence[float],
    seed: int,
    bins: Bins,
    widths: Widths,
    target_kind: str,
) -> LabeledTable:
    return read_labeled_table(
        path, roles, fractions=fractions, seed=seed, bins=numbers_by_column("bins", bins or ()),
        widths=number_by_column("width", widths or ()), target_kind=target_kind,
    )  # fmt: skip


def _check_series(roles: Roles, series: str, channels: tuple[str, ...], length: int) -> None:
    """Raise InputError if settings of series contradict one another, before the file is read."""
    if series and channels:
        raise InputError("series-options-conflict")
    if not channels:
        roles.check_files(series, "series", "--series")
    elif len(set(channels)) < len(channels):
        raise InputError("channel-named-twice")
    if channels and length:
        raise InputError("length-with-series-columns")
    if not 0 <= length <= LONGEST:
        raise InputError("series-length-out-of-range", most=LONGEST, length=length)


def _in_files(labeled: LabeledTable, series: str, series_in: str | Path, length: int) -> DatasetParts:
    linked = _linked_rows(labeled, series, "series")
    with locate_files(labeled.table.path.parent, series_in, "series") as place:
        preprocessor, files, notices = fit_series(series, length, labeled.target_unit(), place, linked.paths)
    lacking = f"series (column '{series}')"
    splits, task = splits_of_files(labeled, linked.parts, files, preprocessor.shape, preprocessor.target, lacking)
    uses = {series: ColumnUse(kind_of(labeled.table[series]), f"input: {preprocessor.describe()}")}
    return DatasetParts(preprocessor, splits, task, uses, [*linked.notices, *notices])


def _in_columns(labeled: LabeledTable, channels: tuple[str, ...]) -> DatasetParts:
    roles, table = labeled.roles, labeled.table
    steps = wide_columns(table, channels, (roles.target, roles.group, roles.split, *roles.bias))
    preprocessor = fit_wide_series(table, steps, labeled.rows[labeled.parts["train"]], labeled.target_unit())
    splits, task = splits_of_columns(labeled, preprocessor, preprocessor.shape)
    uses = {
        name: ColumnUse(kind_of(table[name]), f"input: one step of the series, channel {channel}")
        for channel, names in steps.items()
        for name in names
    }
    return DatasetParts(preprocessor, splits, task, uses, preprocessor.notices(table, labeled.rows))


class _LinkedRows(NamedTuple):
    """The rows of each split that name a file, the paths of the files, and a sentence on rows that name none."""

    parts: Parts
    paths: dict[str, list[str]]
    notices: list[str]


def _linked_rows(labeled: LabeledTable, column: str, what: str) -> _LinkedRows:
    names = file_names(labeled.table, column)
    named = np.array([bool(names[row]) for row in labeled.rows.tolist()])
    if not named.any():
        raise InputError("no-files-named", column=column, file=labeled.table.path, files=what)
    parts = {split: part[named[part]] for split, part in labeled.parts.items()}
    paths = {split: [names[row] for row in labeled.rows[part].tolist()] for split, part in parts.items()}
    missing = int((~named).sum())
    notices: list[str] = []
    if missing:
        notices.append(message("rows-without-file", column=column, files=what, rows=missing))
    return _LinkedRows(parts, paths, notices)
