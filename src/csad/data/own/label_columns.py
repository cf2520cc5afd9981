"""Columns of a table as labels: the target and the biases, each of them classes or a number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.own.preprocessor import Unit
from csad.data.samples import Classes, Number
from csad.data.tables.table import (
    FEW_NUMBERS,
    MOST_KINDS,
    CategoryColumn,
    Column,
    ColumnTable,
    DateColumn,
    HighCardinalityColumn,
    NumberColumn,
    Whole,
    advice_on_signs,
    check_not_mixed,
    named,
    named_few,
    number_name,
)
from csad.errors import InputError, unknown

KINDS = ("class", "number")
STRATA = 5  # rows with numbers are stratified by so many parts of equal size
SLACK = 1e-5  # of a width, so that 25.3 and 24.8 are 0.5 apart in float32 too


@dataclass(frozen=True)
class Label:
    """Class numbers, −1 if unknown, or numbers, NaN if unknown; numbers up to ``width`` apart are alike."""

    name: str
    kind: Classes | Number
    values: NDArray[Any]
    about: str  # the label in words
    width: float = 0.0

    def strata(self) -> Whole:
        """The stratum of each row: splits hold the same share of each."""
        if isinstance(self.kind, Classes):
            return self.values.astype(np.int64)
        known = ~np.isnan(self.values)
        edges = np.quantile(self.values[known], np.linspace(0, 1, STRATA + 1)[1:-1])
        return np.where(known, np.digitize(self.values, edges), -1)

    def known(self) -> NDArray[np.float64]:
        """The values as floats, NaN if unknown."""
        values = self.values.astype(np.float64)
        return np.where(values < 0, np.nan, values) if isinstance(self.kind, Classes) else values

    def tolerance(self, unit: Unit) -> float:
        """The distance up to which two scaled labels are alike."""
        return self.width / unit.size * (1 + SLACK)


def target_label(table: ColumnTable, name: str, column: Column, kind: str) -> Label:
    """The target, known in every row: classes, or a number if ``kind`` says so or there are too many for classes."""
    what = f"Target '{name}'"
    check_not_mixed(name, column, table)
    if kind not in ("", *KINDS):
        raise unknown("kind of target", kind, KINDS)
    plain = _plain(what, column)
    codes, names = named(plain)
    if len(names) == 1:
        raise InputError("target-has-one-value", target=what, value=names[0])
    if kind == "number" and isinstance(plain, CategoryColumn):
        raise InputError("target-not-numeric", target=what, value=plain.odd[0])
    if isinstance(plain, NumberColumn) and (kind == "number" or (not kind and len(names) > FEW_NUMBERS)):
        why = "" if kind else f", because it has {len(names):,} different values"
        about = f"target: a number{why}; standardized on the training rows"
        return Label(name, Number(), plain.values.astype(np.float64), about)
    return _classes(what, name, codes, names, "target", advice_on_signs(plain))


def bias_label(
    table: ColumnTable, name: str, column: Column, bins: Mapping[str, Sequence[float]], widths: Mapping[str, float]
) -> Label:
    """A bias: words or a few numbers are classes; more numbers are cut at ``bins``, or alike up to a width."""
    what = f"Bias '{name}'"
    check_not_mixed(name, column, table)
    if column.missing().all():
        raise InputError("bias-missing-everywhere", bias=what)
    plain = _plain(what, column)
    if name in bins and name in widths:
        raise InputError("bins-and-width", bias=what)
    if isinstance(plain, CategoryColumn) and (name in bins or name in widths):
        raise InputError("bins-on-text-column", bias=what, value=plain.odd[0])
    if isinstance(plain, NumberColumn) and name in widths:
        width = _width(what, widths[name])
        about = f"bias: a number; values up to {number_name(width)} apart count as alike"
        return Label(name, Number(), plain.values.astype(np.float64), about, width)
    if isinstance(plain, NumberColumn) and name in bins:
        return _classes(what, name, *_binned(what, plain, bins[name]), "bias")
    codes, names = named(plain)
    if isinstance(plain, NumberColumn) and len(names) > FEW_NUMBERS:
        raise InputError("bias-needs-bins", bias=what, count=len(names), column=name)
    return _classes(what, name, codes, names, "bias", advice_on_signs(plain))


def target_unit(values: NDArray[Any]) -> Unit:
    """Mean 0 and spread 1 over these training rows: guessing the mean then has a squared error of 1."""
    spread = float(values.std())
    return Unit(float(values.mean()), spread if spread > 0 else 1.0)


def bias_unit(values: NDArray[Any]) -> Unit:
    """Nearly the same, but with a whole number and a power of two, which keep the distances of whole numbers exact."""
    known = values[~np.isnan(values)]
    spread = float(known.std()) if len(known) else 0.0
    return Unit(float(round(known.mean())) if len(known) else 0.0, 2.0 ** round(math.log2(spread)) if spread else 1.0)


def _plain(what: str, column: Column) -> NumberColumn | CategoryColumn:
    if isinstance(column, DateColumn):
        raise InputError("label-holds-dates", label=what)
    if isinstance(column, HighCardinalityColumn):
        raise InputError("too-many-label-values", label=what, kind=column.what, advice=advice_on_signs(column))
    return column


def _classes(what: str, name: str, codes: Whole, names: tuple[str, ...], role: str, advice: str = "") -> Label:
    if len(names) > MOST_KINDS:
        many = f"{what} has {len(names):,} different values, too many to be classes (at most {MOST_KINDS})"
        raise InputError("too-many-classes", problem=many, advice=advice)
    about = f"{role}: {len(names)} class{'es' * (len(names) > 1)} ({named_few(names, 4)})"
    return Label(name, Classes(len(names), names), codes, about)


def _width(what: str, width: float) -> float:
    if not 0 <= width < math.inf:
        raise InputError("width-out-of-range", bias=what, width=width)
    return float(width)


def _binned(what: str, column: NumberColumn, edges: Sequence[float]) -> tuple[Whole, tuple[str, ...]]:
    """Class numbers and names of the bins; each includes its lower edge, and empty bins do not count."""
    cuts = np.asarray(edges, np.float64)
    if not len(cuts) or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise InputError("bins-not-increasing", bias=what, bins=", ".join(map(str, edges)))
    known = ~column.missing()
    words = [number_name(cut) for cut in cuts.tolist()]
    inner = [f"{low} to <{high}" for low, high in itertools.pairwise(words)]
    names = [f"<{words[0]}", *inner, f"≥{words[-1]}"]
    present, place = np.unique(np.digitize(column.values[known].astype(np.float64), cuts), return_inverse=True)
    codes = np.full(len(known), -1, np.int64)
    codes[known] = place
    return codes, tuple(names[bin_] for bin_ in present.tolist())
