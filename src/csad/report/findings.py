"""Everything that the page and the card of runs show, as plain values: both show the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.audit import Audit, AuditRecord

Curve = Sequence[tuple[float, float]]
Map = NDArray[np.float64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class RunSummary:
    """One run: its audit, how its training went, and what it was trained with."""

    name: str
    method: str
    record: AuditRecord
    curves: Mapping[str, Curve] = field(default_factory=dict)  # losses by update
    held_out: Mapping[str, Curve] = field(default_factory=dict)  # figures of the validation split
    breaks: Sequence[tuple[float, str]] = ()
    warnings: Sequence[str] = ()
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by section
    facts: Mapping[str, str] = field(default_factory=dict)
    choice: Mapping[str, Any] = field(default_factory=dict)  # of the weight of debiasing, if csad chose it

    @property
    def audit(self) -> Audit:
        """The audit without what it was made of."""
        return self.record.audit


@dataclass(frozen=True)
class Importance:
    """The importance of a column to each run, by the run's name: how much worse it does once the column is shuffled.

    ``loss`` is (mean, standard deviation) over shuffles of accuracy lost, or of squared error gained; ``changed`` the
    share of rows whose prediction changes, None if the run predicts a number.
    """

    column: str
    loss: Mapping[str, tuple[float, float]]
    changed: Mapping[str, float | None]


@dataclass(frozen=True)
class Attention:
    """The mean attention map of each run: (height, width) of pictures, or (channels, time) of series; sums to 1."""

    maps: Mapping[str, Map]
    series: bool
    rows: int


@dataclass(frozen=True)
class PictureGrid:
    """The first pictures of a split (n, height, width, 3), line by line; the columns belong to ``names`` in turn."""

    split: str
    pictures: Pixels
    columns: int
    names: Sequence[str]


@dataclass(frozen=True)
class ColorMaps:
    """For each run the accuracy by color (rows) and target (columns); None for a cell without a picture.

    ``paired`` says that most training pictures of target k are in color k, so that the diagonal is what training
    showed.
    """

    cells: Mapping[str, Sequence[Sequence[float | None]]]
    targets: Sequence[str]
    swatches: Sequence[tuple[int, int, int]]
    paired: bool


@dataclass(frozen=True)
class ShownData:
    """Some rows of the user's data, only if the user asked for them: a table of cells, pictures, series."""

    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    pictures: Mapping[str, Pixels] = field(default_factory=dict)  # by what they show, (n, height, width, 3) each
    series: Sequence[Mapping[str, Curve]] = ()
    grids: Sequence[PictureGrid] = ()


@dataclass(frozen=True)
class Findings:
    """All that a report shows; the verdict is on the first of the runs, and ``before`` is what it is compared with.

    ``runs`` holds ``before`` too.
    """

    title: str
    runs: Sequence[RunSummary]
    before: RunSummary | None = None
    notes: Sequence[str] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[Sequence[str]] = ()  # name, kind, what becomes of it
    importance: Sequence[Importance] = ()
    repeats: int = 0  # shuffles of a column
    attention: Attention | None = None
    color_maps: ColorMaps | None = None
    shown: ShownData | None = None

    @property
    def main(self) -> RunSummary:
        """The run that the verdict is on."""
        return self.runs[0]

    @property
    def ordered(self) -> list[RunSummary]:
        """All runs, before and after first, so that these two have the same colors in every plot."""
        return [*self.pair, *(run for run in self.runs if all(run is not other for other in self.pair))]

    @property
    def pair(self) -> list[RunSummary]:
        """Before and after, in this order; the run alone if there is no other."""
        return [run for run in (self.before, self.main) if run is not None]

    @property
    def ranked_columns(self) -> list[Importance]:
        """All columns, the one that is worth most to any run first."""
        return sorted(self.importance, key=lambda column: -max(mean for mean, _ in column.loss.values()))
