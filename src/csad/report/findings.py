"""What the page and the card of runs are told: plain values, so that both say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Curve = Sequence[tuple[float, float]]
Map = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """One run: its audit as audit.json holds it, how its training went, and what it was trained with."""

    name: str
    method: str
    audit: Mapping[str, Any]
    curves: Mapping[str, Curve] = field(default_factory=dict)  # losses by update
    held_out: Mapping[str, Curve] = field(default_factory=dict)  # figures of the validation split
    breaks: Sequence[tuple[float, str]] = ()
    warnings: Sequence[str] = ()
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by section
    facts: Mapping[str, str] = field(default_factory=dict)
    choice: Mapping[str, Any] = field(default_factory=dict)  # of the weight of debiasing, where it was left to csad


@dataclass(frozen=True)
class Importance:
    """What a column is worth to each run, by its name: how much worse it does once the column's values are shuffled.

    ``loss`` is (mean, standard deviation) over shuffles of accuracy lost, or of squared error gained; ``changed`` the
    share of rows of which it then says something else, None where it predicts a number.
    """

    column: str
    loss: Mapping[str, tuple[float, float]]
    changed: Mapping[str, float | None]


@dataclass(frozen=True)
class Attention:
    """Where each run looks on average: a map (height, width) of pictures, or (channels, time) of series; sums to 1."""

    maps: Mapping[str, Map]
    series: bool
    rows: int


@dataclass(frozen=True)
class Shown:
    """Some rows of the user's, only where the user asked: a table of cells, pictures with what is looked at, series."""

    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    pictures: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)  # by what they show, (n, h, w, 3) each
    series: Sequence[Mapping[str, Curve]] = ()


@dataclass(frozen=True)
class Findings:
    """All that a report tells; the verdict is on the first of the runs, ``before`` is what it is held against.

    ``runs`` holds ``before`` too.
    """

    title: str
    runs: Sequence[Told]
    before: Told | None = None
    notes: Sequence[str] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[Sequence[str]] = ()  # name, kind, what becomes of it
    importance: Sequence[Importance] = ()
    repeats: int = 0  # shuffles of a column
    attention: Attention | None = None
    shown: Shown | None = None

    @property
    def main(self) -> Told:
        """The run that the verdict is on."""
        return self.runs[0]

    @property
    def ordered(self) -> list[Told]:
        """All runs, before and after first, so that these two have the same colours in every plot."""
        return [*self.pair, *(run for run in self.runs if all(run is not one for one in self.pair))]

    @property
    def pair(self) -> list[Told]:
        """Before and after, in this order; the run alone where there is no other."""
        return [run for run in (self.before, self.main) if run is not None]
