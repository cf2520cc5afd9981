"""What is audited, as plain arrays: the target, the bias columns, what a model says of each row and what it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.columns import PARTS, Numbers, drawn
from csad.auditing.leakage import MOST_ROWS, PROBES, check_settings
from csad.errors import InputError, unknown

Table = NDArray[Any]
AMONG = ("target", "all")
LEAST = 1e-6  # a probability below is as good as none: its logarithm would lead a reader


@dataclass(frozen=True)
class Settings:
    """How an audit is made; ``among``: rows are compared among those of the same target, or all with one another."""

    among: str = "target"
    probes: Sequence[str] = PROBES
    margin: float = 0.05
    level: float = 0.95
    most_rows: int = MOST_ROWS
    repeats: int = 500  # of the bootstrap of figures
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self.probes, self.margin, self.level, self.most_rows)
        if self.among not in AMONG:
            raise unknown("comparison of rows (among)", self.among, AMONG)
        if self.repeats < 1 or self.seed < 0:
            raise InputError(f"An audit needs 1 repeat or more and a seed from 0, not {self.repeats} and {self.seed}.")


@dataclass(frozen=True)
class Labels:
    """A column of labels by name: class numbers, −1 unknown, with the classes' names; or real numbers, NaN unknown."""

    name: str
    values: Table
    names: tuple[str, ...] = ()

    @property
    def number(self) -> bool:
        """Whether the labels are real numbers."""
        return self.values.dtype.kind == "f"

    def known(self) -> NDArray[np.bool_]:
        """Whether each row's label is."""
        found: NDArray[np.bool_] = np.isfinite(self.values) if self.number else self.values >= 0
        return found

    def cuts(self) -> Table:
        """The values at which the fifths of a number's known values end; none for classes."""
        known = self.values[self.known()] if self.number else self.values[:0]
        # Values that there are: 34 says the same of whole years as 34.2 would, and reads better.
        shares = np.arange(1, PARTS) / PARTS
        return np.unique(np.quantile(known, shares, method="lower")) if len(known) else known

    def grouped(self, cuts: Table) -> Labels:
        """Classes as they are; a number as the class of those between two ``cuts``, upper ends included."""
        if not self.number:
            return self
        codes = (self.values[:, None] > cuts).sum(1)
        ends = _told(cuts)
        inner = [f"over {low} to {high}" for low, high in pairwise(ends)]
        names = [f"up to {ends[0]}", *inner, f"over {ends[-1]}"] if ends else ["all"]
        return Labels(self.name, np.where(self.known(), codes, -1), tuple(names))


def _told(numbers: Table) -> list[str]:
    """Each number as one would write it, with as few digits as tell them apart."""
    for digits in (6, 9, 17):
        found = [f"{n:.0f}" if n == np.rint(n) and abs(n) < 1e15 else f"{n:.{digits}g}" for n in numbers.tolist()]
        if len(set(found)) == len(found):
            break
    return found


@dataclass(frozen=True)
class Outputs:
    """What a model says of each row: a class number or a real number, and probabilities where it gives them."""

    said: Table
    probabilities: Table | None = None

    def packed(self) -> Table:
        """(rows, 1 + classes) of float64: what is said, then the probabilities; one array can be drawn from as one."""
        parts = [self.said] if self.probabilities is None else [self.said, self.probabilities]
        return np.column_stack(parts).astype(np.float64)

    def features(self) -> Table:
        """What a reader sees of them: the logarithms of probabilities, else what is said."""
        if self.probabilities is None:
            return self.said
        return np.log(np.maximum(self.probabilities.astype(np.float64), LEAST))


@dataclass(frozen=True)
class Facts:
    """What is known of the rows: target, bias columns, which rows are of one person; labels of the training rows."""

    target: Labels
    biases: tuple[Labels, ...]
    same: Table | None = None
    trained: tuple[Labels, tuple[Labels, ...]] | None = None

    def __len__(self) -> int:
        return len(self.target.values)

    def probed(self, settings: Settings) -> Numbers:
        """The rows that readers are shown: all, or as many as may be, whole persons of whom some bias is known."""
        if len(self) <= settings.most_rows:
            return np.arange(len(self))
        rows = np.flatnonzero(np.any([bias.known() for bias in self.biases], axis=0))
        if len(rows) <= settings.most_rows:
            return rows
        units = np.arange(len(self)) if self.same is None else self.same
        return rows[drawn(units[rows], settings.most_rows, np.random.default_rng(settings.seed))]


@dataclass(frozen=True)
class Model:
    """What a model gives for the rows: outputs of all, if any, and layers of features of the rows ``probed``."""

    outputs: Outputs | None
    layers: Mapping[str, Table]
    probed: Numbers
    notes: tuple[str, ...] = ()

    def sources(self) -> dict[str, Table]:
        """All that readers are shown, in the order of the data path; what is deployed comes last."""
        if self.outputs is None:
            return dict(self.layers)
        return {**self.layers, "prediction": self.outputs.features()[self.probed]}
