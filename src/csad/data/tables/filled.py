"""What people are told of a table that a fitted preparation was applied to."""

from __future__ import annotations

from csad.data.tables.columns import Table
from csad.data.tables.preparation import Preparation
from csad.data.tables.prepared import OneHot
from csad.data.tables.wide_series import WideSeries


def applied_notices(preparation: Preparation, table: Table) -> list[str]:
    """Sentences on words that training did not know, and on values that are missing and what stands for them."""
    if isinstance(preparation, WideSeries):
        return preparation.lacking_words(table)
    found = preparation.notices(table)
    for column in preparation.columns:
        missing = int(table[column.column].missing().sum())
        if not missing:
            continue
        if isinstance(column, OneHot):
            stands = "they count as missing, as in training" if column.missing else "they count as none of the words"
        else:
            median = "" if column.date else f" {column.fill:.6g}"
            stands = f"the median of training{median} stands there"
        found.append(f"Column '{column.column}' is missing in {missing:,} row{'s' * (missing > 1)}: {stands}.")
    return found
