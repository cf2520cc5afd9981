"""Options for a table of the user's own: what they are, and the settings ``data.*`` that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from csad.cli.console import Console, echo
from csad.cli.own_sources import check_sources, typed
from csad.errors import InputError

if TYPE_CHECKING:
    from csad.data.tables.owned import OwnTable

PANEL = "A table of your own (.csv, .parquet)"


def _option(metavar: str, words: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=words, rich_help_panel=PANEL)


Target = Annotated[str, _option("COLUMN", "The column that is to be learned.")]
TargetKind = Annotated[
    str, _option("KIND", "class or number; if not given, numbers with more than 20 different values are a number.")
]
Bias = Annotated[
    list[str] | None,
    _option("COLUMN,…", "The columns that are not to be leaned on; a name with a comma in quotes: '\"pay, net\"'."),
]
Drop = Annotated[list[str] | None, _option("COLUMN,…", "Columns that are no inputs.")]
KeepBias = Annotated[bool, _option("", "The bias columns are inputs too.", "--keep-bias")]
Group = Annotated[str, _option("COLUMN", "Who a row belongs to: nobody is in two splits.")]
Split = Annotated[
    str,
    _option("COLUMN|SHARES", "The column that says train, validation or test; or shares, as 0.7,0.1,0.2."),
]
Width = Annotated[
    list[str] | None, _option("COLUMN=NUMBER", "A bias that is a number: how far apart two are alike, as age=5.")
]
Bins = Annotated[list[str] | None, _option("COLUMN=CUTS", "A bias that is a number: where to cut it, as age=30,60.")]
Image = Annotated[
    str, _option("COLUMN", "The column that names pictures, of which x is then made (--set data.size=64).")
]
ImagePlace = Annotated[
    Path | None, _option("PLACE", "Folder, .zip or .tar of the pictures; the table's folder if not given.", "--images")
]
SeriesColumn = Annotated[
    str,
    _option(
        "COLUMN", "The column that names series, of which x is then made: .csv or .npy files, a row for each step, a "
        "column for each channel (--set data.length=200).", "--series",
    ),
]  # fmt: skip
SeriesPlace = Annotated[
    Path | None, _option("PLACE", "Folder, .zip or .tar of the series; the table's folder if not given.", "--series-in")
]
SeriesColumns = Annotated[
    list[str] | None, _option("NAME,…", "How the columns of a series begin, of which x is then made: t for t0, t1, ….")
]
Cost = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", rich_help_panel="Data of your own",
        help="How much balanced accuracy below vanilla's (of a number: share of variance explained) the choice of "
        "debias_weight may cost on the validation split, where debias_weight is not given; 0.02 if not given.",
    ),
]  # fmt: skip


class ToldData:
    """Hears what was found in the user's table and says it, once; ``about`` is what --json has of it."""

    def __init__(self, console: Console) -> None:
        self.about: dict[str, Any] = {}
        self._console = console

    def __call__(self, table: OwnTable) -> None:
        """Lines on columns, splits, and what the user may not expect."""
        if not self.about:
            self.about = {"data": table.about()}
            for line in table.describe():
                self._console.say(line)
            for notice in table.notices:
                self._console.notice(notice)


def own_settings(task: str, given: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """What is given as --set, with the options beside it as settings of the data.

    An option for a task that is no table, and one that --set gives as well, are errors.
    """
    chosen = {name: value for name, value in options.items() if value}
    if not chosen:
        return dict(given)
    from csad.experiments.build import is_own_table

    if not is_own_table(task):
        names = ", ".join(map(typed, chosen))
        raise InputError(f"{names}: only for a table of your own (.csv, .parquet), which {task} is not; leave it out.")
    check_sources(set(chosen) | {name.removeprefix("data.") for name in given})
    settings = dict(given)
    for option, value in chosen.items():
        name, setting = _setting(option, value)
        if taken := {name, f"data.{name}"} & given.keys():
            raise InputError(f"{typed(option)} and --set {taken.pop()} are the same setting: give one of the two.")
        settings[f"data.{name}"] = setting
    return settings


def _setting(option: str, value: Any) -> tuple[str, Any]:
    """The name of the setting that an option stands for, and its value; tuples, so that nothing becomes a sweep."""
    if option in ("bias", "drop", "series_columns"):
        from csad.experiments.values import words_of

        return option, tuple(name.strip() for words in value for name in words_of(words) if name.strip())
    if option in ("width", "bins"):
        return option if option == "bins" else "widths", tuple(value)
    if option == "keep_bias":
        return "keep_bias_in_x", True
    if option == "split":
        return _split(value)
    return option, _whole(str(value))


def _split(words: str) -> tuple[str, Any]:
    """A column, or shares: two are those of train and test."""
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
        raise InputError(f"--split must name a column, or two or three shares, as 0.7,0.1,0.2, not '{words}'.")
    return "fractions", shares


def _whole(word: str) -> list[str]:
    """A single value: a list of one, so that a comma in a column's name does not stand between several values."""
    return [word]


def show_choice(console: Console, choice: Mapping[str, Any]) -> None:
    """Shows what was tried for debias_weight, what was chosen, and why."""
    rows = [
        [
            "vanilla" if one["debias_weight"] is None else f"{one['debias_weight']:g}",
            f"{one['score']:.3f}",
            f"{one['leakage']:.3f}",
            "" if one["epoch"] is None else f"{one['epoch']} of {choice['epochs']}",
            "chosen" if one["debias_weight"] == choice["debias_weight"] else "",
        ]
        for one in (choice["vanilla"], *choice["tried"])
    ]
    rows += [[f"{weight:g}", "–", "–", "–", "diverged"] for weight in choice["lost"]]
    title = f"Choice of debias_weight on {choice['rows']:,} validation rows"
    console.table(title, ["debias_weight", choice["score"], "leakage (AUC)", "after epoch", ""], rows)
    echo(f"debias_weight: {choice['why']}")
