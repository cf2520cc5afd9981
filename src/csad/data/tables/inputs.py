"""Which columns of a table become inputs, and how: what has to be learned for that, from the training rows only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.tables.advice import advice_on_dates, advice_on_signs, comma_words
from csad.data.tables.columns import Column, Dates, Ids, Numbers, Table, Whole, Words, named
from csad.data.tables.dates import spelled
from csad.data.tables.preparation import Preparation
from csad.data.tables.prepared import OneHot, Scaled
from csad.errors import InputError

MOST_KINDS = 100  # different words that may be categories
FEW_KINDS = 10  # so many are categories even where half of the rows have one of their own
YES_OR_NO = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))


class Fate(NamedTuple):
    """What a column holds and what becomes of it, in words."""

    kind: str
    becomes: str


class Fitted(NamedTuple):
    """The preparation, what becomes of each column, and what people should know of it."""

    preparation: Preparation
    fates: dict[str, Fate]
    notices: list[str]


def fit_inputs(table: Table, names: list[str], rows: Whole) -> Fitted:
    """How the columns of these names become x, as the training ``rows`` tell.

    Numbers are standardised, and missing ones the median, told by a column more; words that are few are one-hot;
    dates are numbers of days. Constants, ids, free text, row numbers and columns without a value are left out.
    """
    made, fates, notices = [], {}, []
    for name in names:
        column = table[name]
        used, fate, left_out = _fit(name, column, column.take(rows), table)
        fates[name] = fate
        if used is None:
            notices.append(f"Column '{name}' is left out: it {left_out}.")
        else:
            made.append(used)
            notices += _told(name, column)
    if not made:
        raise InputError(f"No column of {table.path} is left to learn from: {' '.join(notices) or 'all have a part'}")
    return Fitted(Preparation(tuple(made)), fates, notices)


def check_not_mixed(name: str, column: Column, table: Table) -> None:
    """Nothing, or an error where words stand among many numbers: nobody can tell what is meant."""
    if isinstance(column, Words | Ids) and column.odd[0] and column.mostly_numbers:
        where = f"{column.odd[0]!r} in line {column.odd[1]}"
        advice = f"make it a number, leave it empty where none is known, or leave the column out (drop {name})"
        raise InputError(f"Column '{name}' of {table.path} holds numbers, but {where}: {advice}.")


def kind_of(column: Column) -> str:
    """What a column holds, in words."""
    missing = int(column.missing().sum())
    some = f", {missing:,} missing" if missing else ""
    if missing == len(column.missing()):
        return "nothing"
    if isinstance(column, Numbers):
        return f"numbers{some}"
    if isinstance(column, Dates):
        return f"dates ({spelled(column.format)}){some}"
    if isinstance(column, Ids):
        return f"very many different words{some}" if column.what == "words" else column.what
    kinds = named(column)[1]
    return ("yes or no" if _yes_or_no(kinds) else f"{len(kinds):,} different word{'s' * (len(kinds) != 1)}") + some


Used = tuple[Scaled | OneHot | None, Fate, str]


def _fit(name: str, column: Column, trained: Column, table: Table) -> Used:
    """How one column is used, what becomes of it, and else why it is left out."""
    check_not_mixed(name, column, table)
    kind = kind_of(column)
    missing = trained.missing()
    if missing.all():
        return None, Fate(kind, "left out: empty"), "holds nothing in the training rows"
    if isinstance(trained, Ids):
        many = f"holds too many different {_example(trained)}, as an id or free text does{advice_on_signs(trained)}"
        return None, Fate(kind, "left out: an id or free text"), many
    if isinstance(trained, Words):
        return _fit_words(name, trained, kind)
    if isinstance(column, Numbers) and _counts_rows(column.values):
        return None, Fate(kind, "left out: row numbers"), "only numbers the rows"
    date = trained.format if isinstance(trained, Dates) else ""
    values = (trained.days[date] if isinstance(trained, Dates) else trained.values).astype(np.float64)
    used = _scaled(name, values[~missing], bool(missing.any()), date)
    if not used.names():
        return None, Fate(kind, "left out: constant"), "is the same in all training rows"
    return (
        used,
        Fate(kind, _input(used, "a number of days" if date else "standardised", bool(column.missing().any()))),
        "",
    )


def _scaled(name: str, known: NDArray[np.float64], missing: bool, date: str) -> Scaled:
    spread = float(known.std()) if known.min() < known.max() else 0.0
    return Scaled(name, float(known.mean()), spread, float(np.median(known)), missing, date)


def _fit_words(name: str, trained: Words, kind: str) -> Used:
    codes, kinds = named(trained)
    missing = bool((codes < 0).any())
    known = int((codes >= 0).sum())
    if len(kinds) > MOST_KINDS or (len(kinds) > FEW_KINDS and len(kinds) > known / 2):
        many = (
            f"holds {len(kinds):,} different {_example(trained)} in {known:,} training rows, as an id or free text does"
            f"{advice_on_signs(trained)}{advice_on_dates(trained)}"
        )
        return None, Fate(kind, "left out: an id or free text"), many
    if len(kinds) == 1:
        if not missing:
            return None, Fate(kind, "left out: constant"), "is the same in all training rows"
        missing = False  # a word or none: one column tells all
    rest = kinds[:1] if _yes_or_no(kinds) else ()  # of yes and no one column tells all
    used = OneHot(name, kinds[len(rest) :], rest, missing)
    return used, Fate(kind, _input(used, "one-hot")), ""


def _example(column: Words | Ids) -> str:
    what = column.what if isinstance(column, Ids) else "words"
    return f"{what} (such as {column.odd[0]!r} in line {column.odd[1]})" if column.odd[0] else what


def _input(used: Scaled | OneHot, how: str, missing: bool = False) -> str:
    count = len(used.names())
    told = ", one for missing values" if used.missing and count > 1 else ""
    if missing and isinstance(used, Scaled) and used.spread > 0:
        told += "; missing ones count as the median" + ("" if used.date else f" {used.fill:.6g}")
    return f"input: {how}, {count} column{'s' * (count > 1)}{told}"


def _yes_or_no(kinds: tuple[str, ...]) -> bool:
    return tuple(kind.lower() for kind in kinds) in YES_OR_NO


def _counts_rows(values: NDArray[Any]) -> bool:
    """Whether these are the whole numbers from the first to the last, each once: the numbers of the rows."""
    if len(values) <= FEW_KINDS or np.isnan(values).any():
        return False
    low = float(values.min())
    if low != int(low) or float(values.max()) - low != len(values) - 1:
        return False
    return bool(np.array_equal(np.sort(values) - low, np.arange(len(values))))


def _told(name: str, column: Column) -> list[str]:
    """Sentences on what a reader might not expect of a column that is used."""
    found = []
    if column.blanks:
        found.append(f"In column '{name}' {', '.join(map(repr, column.blanks))} counts as missing.")
    if isinstance(column, Dates) and len(column.days) > 1:
        first, second = [spelled(form) for form in column.days][:2]
        found.append(f"The dates of column '{name}' are read as {first}; they could be {second} as well.")
    found += comma_words(name, column)
    if isinstance(column, Words) and (advice := advice_on_signs(column)):
        found.append(f"The values of column '{name}' count as categories{advice}.")
    elif isinstance(column, Words) and column.date_format:
        odd, form = column.odd, spelled(column.date_format)
        found.append(
            f"Column '{name}' mixes dates ({form}) and others ({odd[0]!r} in line {odd[1]}): they count as categories."
        )
    elif isinstance(column, Words) and column.numbers and column.odd[0]:
        found.append(f"Column '{name}' mixes numbers and words ({column.odd[0]!r}): its values count as categories.")
    return found
