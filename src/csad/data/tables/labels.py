"""Columns of a table as labels: the target and the biases, each classes or a number, by rules that are told."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Classes, Number
from csad.data.tables.advice import advice_on_signs
from csad.data.tables.columns import (
    FEW_NUMBERS,
    Column,
    Dates,
    Ids,
    Numbers,
    Table,
    Whole,
    Words,
    named,
    number_name,
    shown,
)
from csad.data.tables.inputs import MOST_KINDS, check_not_mixed
from csad.data.tables.preparation import Unit
from csad.errors import InputError, unknown

KINDS = ("class", "number")
STRATA = 5  # parts of equal size in which numbers are split alike
SLACK = 1e-5  # of a width, so that 25.3 and 24.8 are 0.5 apart in float32 too


@dataclass(frozen=True)
class Label:
    """Class numbers, −1 where unknown, or numbers, NaN where unknown; ``width`` is how far apart numbers are alike."""

    name: str
    kind: Classes | Number
    values: NDArray[Any]
    about: str  # what it is, in words
    width: float = 0.0

    def strata(self) -> Whole:
        """A small number for each row, by which rows are split alike."""
        if isinstance(self.kind, Classes):
            return self.values.astype(np.int64)
        known = ~np.isnan(self.values)
        edges = np.quantile(self.values[known], np.linspace(0, 1, STRATA + 1)[1:-1])
        return np.where(known, np.digitize(self.values, edges), -1)

    def known(self) -> NDArray[np.float64]:
        """The values as floats, NaN where unknown."""
        values = self.values.astype(np.float64)
        return np.where(values < 0, np.nan, values) if isinstance(self.kind, Classes) else values

    def tolerance(self, unit: Unit) -> float:
        """How far apart two labels are alike, once they are scaled."""
        return self.width / unit.size * (1 + SLACK)


def target_label(table: Table, name: str, column: Column, wanted: str) -> Label:
    """The target, known in every row: classes, or a number where ``wanted`` or there are too many for classes."""
    what = f"Target '{name}'"
    check_not_mixed(name, column, table)
    if wanted not in ("", *KINDS):
        raise unknown("kind of target", wanted, KINDS)
    plain = _plain(what, column)
    codes, names = named(plain)
    if len(names) == 1:
        raise InputError(f"{what} is {names[0]!r} in every row: two classes or more are needed to learn from.")
    if wanted == "number" and isinstance(plain, Words):
        raise InputError(f"{what} holds words, such as {plain.odd[0]!r}, where a number is wanted: ask for a class.")
    if isinstance(plain, Numbers) and (wanted == "number" or (not wanted and len(names) > FEW_NUMBERS)):
        why = "" if wanted else f", as it has {len(names):,} different values"
        about = f"target: a number{why}; learned in units of its spread in the training rows"
        return Label(name, Number(), plain.values.astype(np.float64), about)
    return _classes(what, name, codes, names, "target", advice_on_signs(plain))


def bias_label(
    table: Table, name: str, column: Column, bins: Mapping[str, Sequence[float]], widths: Mapping[str, float]
) -> Label:
    """A bias: words or few numbers are classes, numbers are cut at ``bins``, or alike up to a width apart."""
    what = f"Bias '{name}'"
    check_not_mixed(name, column, table)
    if column.missing().all():
        raise InputError(f"{what} is missing in every row whose target is known: name another column.")
    plain = _plain(what, column)
    if name in bins and name in widths:
        raise InputError(f"{what} is given bins and a width: give one of the two.")
    if isinstance(plain, Words) and (name in bins or name in widths):
        raise InputError(f"{what} holds words, such as {plain.odd[0]!r}: only numbers have bins or a width.")
    if isinstance(plain, Numbers) and name in widths:
        width = _width(what, widths[name])
        about = f"bias: a number, alike up to {number_name(width)} apart"
        return Label(name, Number(), plain.values.astype(np.float64), about, width)
    if isinstance(plain, Numbers) and name in bins:
        return _classes(what, name, *_binned(what, plain, bins[name]), "bias")
    codes, names = named(plain)
    if isinstance(plain, Numbers) and len(names) > FEW_NUMBERS:
        raise InputError(
            f"{what} is a number with {len(names):,} different values: say how far apart two are alike "
            f"(--width {name}=5), or where to cut it (--bins {name}=0,30,60)."
        )
    return _classes(what, name, codes, names, "bias", advice_on_signs(plain))


def target_unit(values: NDArray[Any]) -> Unit:
    """Mean 0 and spread 1 over these training rows: a squared error of 1 is then that of guessing the mean."""
    spread = float(values.std())
    return Unit(float(values.mean()), spread if spread > 0 else 1.0)


def bias_unit(values: NDArray[Any]) -> Unit:
    """Nearly the same, but by a whole number and a power of two: whole numbers so far apart stay exactly so."""
    known = values[~np.isnan(values)]
    spread = float(known.std()) if len(known) else 0.0
    return Unit(float(round(known.mean())) if len(known) else 0.0, 2.0 ** round(math.log2(spread)) if spread else 1.0)


def _plain(what: str, column: Column) -> Numbers | Words:
    if isinstance(column, Dates):
        raise InputError(f"{what} holds dates, which are neither classes nor numbers: write a year or an age.")
    if isinstance(column, Ids):
        raise InputError(
            f"{what} holds too many different {column.what} to be classes, as an id or free text "
            f"does{advice_on_signs(column)}."
        )
    return column


def _classes(what: str, name: str, codes: Whole, names: tuple[str, ...], role: str, advice: str = "") -> Label:
    if len(names) > MOST_KINDS:
        many = f"{what} has {len(names):,} different values, too many to be classes (at most {MOST_KINDS})"
        raise InputError(f"{many}{advice}.")
    about = f"{role}: {len(names)} class{'es' * (len(names) > 1)} ({shown(names, 4)})"
    return Label(name, Classes(len(names), names), codes, about)


def _width(what: str, width: float) -> float:
    if not 0 <= width < math.inf:
        raise InputError(f"{what} is given the width {width}: it must be 0 or more.")
    return float(width)


def _binned(what: str, column: Numbers, edges: Sequence[float]) -> tuple[Whole, tuple[str, ...]]:
    """Class numbers and names of the bins; each holds its lower edge, and those that no row is in do not count."""
    cuts = np.asarray(edges, np.float64)
    if not len(cuts) or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise InputError(f"{what} is given the bins {', '.join(map(str, edges))}: they must be numbers that go up.")
    known = ~column.missing()
    words = [number_name(cut) for cut in cuts.tolist()]
    inner = [f"{low} to <{high}" for low, high in itertools.pairwise(words)]
    names = [f"<{words[0]}", *inner, f"≥{words[-1]}"]
    present, place = np.unique(np.digitize(column.values[known].astype(np.float64), cuts), return_inverse=True)
    codes = np.full(len(known), -1, np.int64)
    codes[known] = place
    return codes, tuple(names[bin_] for bin_ in present.tolist())
