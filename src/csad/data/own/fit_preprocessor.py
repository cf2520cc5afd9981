"""Which columns of a table become inputs, and how; everything is learned from the training rows only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.own.preprocessor import CategoryEncoder, NumberEncoder, Preprocessor
from csad.data.tables.table import (
    MOST_KINDS,
    CategoryColumn,
    Column,
    ColumnTable,
    ColumnUse,
    DateColumn,
    HighCardinalityColumn,
    NumberColumn,
    Whole,
    advice_on_signs,
    check_not_mixed,
    comma_words,
    date_words,
    is_yes_or_no,
    kind_of,
    named,
)
from csad.errors import InputError
from csad.messages import message

FEW_KINDS = 10  # so many different words are categories even if half of the rows have a word of their own


class Fitted(NamedTuple):
    """The preprocessor, what becomes of each column, and sentences for the user."""

    preprocessor: Preprocessor
    uses: dict[str, ColumnUse]
    notices: list[str]


def fit_inputs(table: ColumnTable, names: list[str], rows: Whole) -> Fitted:
    """How the columns of these names become x, learned from the training ``rows``.

    Numbers are standardised; a missing number becomes the median, and one more column marks it. A few different words
    become one-hot columns, dates become numbers of days. Constants, ids, free text, row numbers and columns without a
    value are left out.
    """
    encoders, uses = [], {}
    notices: list[str] = []
    for name in names:
        column = table[name]
        encoder, use, left_out = _fit(name, column, column.take(rows), table)
        uses[name] = use
        if encoder is None:
            notices.append(message("column-not-used", column=name, reason=left_out))
        else:
            encoders.append(encoder)
            notices += _column_notices(name, column)
    if not encoders:
        reasons = " ".join(notices) or "every column has another role."
        raise InputError("no-input-columns", file=table.path, reasons=reasons)
    return Fitted(Preprocessor(tuple(encoders)), uses, notices)


Encoded = tuple[NumberEncoder | CategoryEncoder | None, ColumnUse, str]


def _fit(name: str, column: Column, trained: Column, table: ColumnTable) -> Encoded:
    """The encoder of one column, what becomes of it, and why it is left out if it has no encoder."""
    check_not_mixed(name, column, table)
    kind = kind_of(column)
    missing = trained.missing()
    if missing.all():
        return None, ColumnUse(kind, "left out: empty"), "is empty in all training rows"
    if isinstance(trained, HighCardinalityColumn):
        many = (
            f"holds too many different {_example(trained)}, as in a column of ids or free text"
            f"{advice_on_signs(trained)}"
        )
        return None, ColumnUse(kind, "left out: an id or free text"), many
    if isinstance(trained, CategoryColumn):
        return _fit_words(name, trained, kind)
    if isinstance(column, NumberColumn) and _counts_rows(column.values):
        return None, ColumnUse(kind, "left out: row numbers"), "holds only row numbers"
    date = trained.format if isinstance(trained, DateColumn) else ""
    values = (trained.days[date] if isinstance(trained, DateColumn) else trained.values).astype(np.float64)
    encoder = _scaled(name, values[~missing], bool(missing.any()), date)
    if not encoder.names():
        return None, ColumnUse(kind, "left out: constant"), "has the same value in all training rows"
    return (
        encoder,
        ColumnUse(kind, _input(encoder, "a number of days" if date else "standardised", bool(column.missing().any()))),
        "",
    )


def _scaled(name: str, known: NDArray[np.float64], missing: bool, date: str) -> NumberEncoder:
    spread = float(known.std()) if known.min() < known.max() else 0.0
    return NumberEncoder(name, float(known.mean()), spread, float(np.median(known)), missing, date)


def _fit_words(name: str, trained: CategoryColumn, kind: str) -> Encoded:
    codes, kinds = named(trained)
    missing = bool((codes < 0).any())
    known = int((codes >= 0).sum())
    if len(kinds) > MOST_KINDS or (len(kinds) > FEW_KINDS and len(kinds) > known / 2):
        many = (
            f"holds {len(kinds):,} different {_example(trained)} in {known:,} training rows, as in a column of "
            f"ids or free text{advice_on_signs(trained)}{_advice_on_dates(trained)}"
        )
        return None, ColumnUse(kind, "left out: an id or free text"), many
    if len(kinds) == 1:
        if not missing:
            return None, ColumnUse(kind, "left out: constant"), "has the same value in all training rows"
        missing = False  # a word or none: one column is enough
    rest = kinds[:1] if is_yes_or_no(kinds) else ()  # yes and no need one column
    encoder = CategoryEncoder(name, kinds[len(rest) :], rest, missing)
    return encoder, ColumnUse(kind, _input(encoder, "one-hot")), ""


def _example(column: CategoryColumn | HighCardinalityColumn) -> str:
    what = column.what if isinstance(column, HighCardinalityColumn) else "words"
    return f"{what} (such as {column.odd[0]!r} in line {column.odd[1]})" if column.odd[0] else what


def _input(encoder: NumberEncoder | CategoryEncoder, how: str, missing: bool = False) -> str:
    count = len(encoder.names())
    note = ", one of them for missing values" if encoder.missing and count > 1 else ""
    if missing and isinstance(encoder, NumberEncoder) and encoder.spread > 0:
        note += "; missing values become the median" + ("" if encoder.date else f" {encoder.fill:.6g}")
    return f"input: {how}, {count} column{'s' * (count > 1)}{note}"


def _counts_rows(values: NDArray[Any]) -> bool:
    """Whether these are consecutive whole numbers, each once: the numbers of the rows."""
    if len(values) <= FEW_KINDS or np.isnan(values).any():
        return False
    low = float(values.min())
    if low != int(low) or float(values.max()) - low != len(values) - 1:
        return False
    return bool(np.array_equal(np.sort(values) - low, np.arange(len(values))))


def _column_notices(name: str, column: Column) -> list[str]:
    """Sentences on what the user may not expect of an input column."""
    notices: list[str] = []
    if column.blanks:
        notices.append(message("values-read-as-missing", column=name, values=", ".join(map(repr, column.blanks))))
    if isinstance(column, DateColumn) and len(column.days) > 1:
        first, second = [date_words(form) for form in column.days][:2]
        notices.append(message("date-format-ambiguous", column=name, format=first, other=second))
    notices += comma_words(name, column)
    if isinstance(column, CategoryColumn) and (advice := advice_on_signs(column)):
        notices.append(message("values-used-as-categories", column=name, advice=advice))
    elif isinstance(column, CategoryColumn) and column.date_format:
        odd, form = column.odd, date_words(column.date_format)
        notices.append(message("dates-mixed-with-others", column=name, format=form, value=odd[0], line=odd[1]))
    elif isinstance(column, CategoryColumn) and column.numbers and column.odd[0]:
        notices.append(message("numbers-mixed-with-text", column=name, value=column.odd[0]))
    return notices


def _advice_on_dates(column: CategoryColumn) -> str:
    """What to do about a word among dates that is none; empty if the column holds no dates."""
    if not column.date_format:
        return ""
    return (
        f"; nearly all other values are dates ({date_words(column.date_format)}): write this value as a date too, and "
        "the column will be read as dates"
    )
