"""Options for a table of the user's own, and the settings ``data.*`` that they set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from csad.cli.console import Console
from csad.errors import InputError
from csad.runs.listeners import ForwardingListener

if TYPE_CHECKING:
    from csad.data.own.dataset import TableDataset


SOURCES = {"image": "pictures", "series": "series", "series_columns": "series"}


def check_sources(named: Collection[str]) -> None:
    """Raise InputError if options contradict each other when x is read from files, or from some columns alone."""
    sources = [option for option in SOURCES if option in named]
    if len(sources) > 1:
        raise InputError("conflicting-x-sources", options=" and ".join(map(as_typed, sources)))
    for option in ("drop", "keep_bias"):
        if sources and option in named:
            what = SOURCES[sources[0]]
            raise InputError(
                "option-conflicts-with-source", option=as_typed(option), source=as_typed(sources[0]), content=what
            )
    for place, column, what in (("images", "image", "pictures"), ("series_in", "series", "series")):
        if place in named and column not in named:
            missing = f"{as_typed(column)} COLUMN too, the column that names them"
            raise InputError("file-column-option-missing", option=as_typed(place), files=what, missing=missing)


def as_typed(option: str) -> str:
    """The option as it is typed."""
    return f"--{option.replace('_', '-')}"


PANEL = "A table of your own (.csv, .parquet)"


def _option(metavar: str, words: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=words, rich_help_panel=PANEL)


Target = Annotated[str, _option("COLUMN", "Column to predict.")]
TargetKind = Annotated[
    str, _option("KIND", "class or number. Default: number, if the column holds more than 20 different numbers.")
]
Bias = Annotated[
    list[str] | None,
    _option("COLUMN,…", "Columns that the model must not lean on. Quote a name that has a comma: '\"pay, net\"'."),
]
Drop = Annotated[list[str] | None, _option("COLUMN,…", "Columns to leave out of the inputs.")]
KeepBias = Annotated[bool, _option("", "Keep the bias columns as inputs.", "--keep-bias")]
Group = Annotated[str, _option("COLUMN", "Column of persons or groups: all rows of one stay in the same split.")]
Split = Annotated[
    str,
    _option("COLUMN|SHARES", "Column that says train, validation or test; or shares of rows, as 0.7,0.1,0.2."),
]
Width = Annotated[
    list[str] | None,
    _option("COLUMN=NUMBER", "For a numeric bias: the largest difference of two similar values, as age=5."),
]
Bins = Annotated[
    list[str] | None, _option("COLUMN=CUTS", "For a numeric bias: the cuts between its groups, as age=30,60.")
]
Image = Annotated[str, _option("COLUMN", "Column with paths of pictures, which become x (--set data.size=64).")]
ImagePlace = Annotated[
    Path | None, _option("PLACE", "Folder, .zip or .tar of the pictures. Default: the table's folder.", "--images")
]
SeriesColumn = Annotated[
    str,
    _option(
        "COLUMN", "Column with paths of series, which become x: .csv or .npy files with a row for each step and a "
        "column for each channel (--set data.length=200).", "--series",
    ),
]  # fmt: skip
SeriesPlace = Annotated[
    Path | None, _option("PLACE", "Folder, .zip or .tar of the series. Default: the table's folder.", "--series-in")
]
SeriesColumns = Annotated[
    list[str] | None,
    _option("NAME,…", "Columns that hold a series, which become x, by their first letters: t for t0, t1, …."),
]
Cost = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", rich_help_panel="Data of your own",
        help="Balanced accuracy (R² for a numeric target) that tuning debias_weight may give up against vanilla on the "
        "validation split. Default: 0.02. Has no effect if debias_weight is set.",
    ),
]  # fmt: skip


class TableNotices(ForwardingListener):
    """Show once what csad read from the user's table; ``about`` is its part of the --json answer."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.about: dict[str, Any] = {}
        self._console = console

    def table_read(self, table: TableDataset) -> None:
        """Show columns, splits and notices."""
        if not self.about:
            self.about = {"data": table.about()}
            for line in table.describe():
                self._console.message(line)
            for notice in table.notices:
                self._console.notice(notice)


def table_settings(task: str, settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Add the options to the settings of --set, as settings of the data.

    Raise InputError if the task is no table, or if --set has the same setting.
    """
    chosen = {name: value for name, value in options.items() if value}
    if not chosen:
        return dict(settings)
    from csad.runs.build import is_own_table

    if not is_own_table(task):
        names = ", ".join(map(as_typed, chosen))
        raise InputError("table-options-without-table", options=names, task=task)
    check_sources(set(chosen) | {name.removeprefix("data.") for name in settings})
    merged = dict(settings)
    for option, value in chosen.items():
        name, setting = _setting(option, value)
        if doubled := {name, f"data.{name}"} & settings.keys():
            raise InputError("option-and-set-conflict", option=as_typed(option), setting=doubled.pop())
        merged[f"data.{name}"] = setting
    return merged


def _setting(option: str, value: Any) -> tuple[str, Any]:
    """The setting that an option sets, with its value. Several values are a tuple: a list would be a sweep."""
    if option in ("bias", "drop", "series_columns"):
        from csad.runs.parse import words_of

        return option, tuple(name.strip() for words in value for name in words_of(words) if name.strip())
    if option in ("width", "bins"):
        return option if option == "bins" else "widths", tuple(value)
    if option == "keep_bias":
        return "keep_bias_in_x", True
    if option == "split":
        return _split(value)
    return option, _whole(str(value))


def _split(words: str) -> tuple[str, Any]:
    """Parse --split: a column, or shares, of which two are those of train and test."""
    parts = words.split(",")
    try:
        shares = tuple(float(part) for part in parts)
    except ValueError:
        return "split", _whole(words)
    if len(shares) == 1:
        return "split", _whole(words)
    if len(shares) == 2:
        shares = (shares[0], 0.0, shares[1])
    if len(shares) != 3:
        raise InputError("split-option-invalid", value=words)
    return "fractions", shares


def _whole(word: str) -> list[str]:
    """A single value, as a list of one: else a comma in a column's name would separate several values."""
    return [word]
