"""What is audited, as plain arrays: the target, the bias columns, what a model predicts and its layers of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from csad.auditing.leakage.bias_column import FIFTHS, Integers, draw_units
from csad.auditing.leakage.leakage import MOST_PROBED, check_audit_settings
from csad.auditing.leakage.probes import PROBES
from csad.auditing.metrics.intervals import AnyArray
from csad.errors import InputError, unknown

AMONG = ("target", "all")
LEAST = 1e-6  # a smaller probability is as good as none: its logarithm would lead a probe


@dataclass(frozen=True)
class AuditSettings:
    """How an audit is made.

    Args:
        among: "target": rows are compared with those of the same target; "all": with one another.
        probes: the names of the probes.
        margin: the AUC above chance that must not be overlooked.
        level: how sure verdicts and intervals are.
        most_rows: how many rows the probes see at most.
        repeats: of the bootstrap of metrics.
        seed: the seed of all that is drawn.
    """

    among: str = "target"
    probes: Sequence[str] = tuple(PROBES)
    margin: float = 0.05
    level: float = 0.95
    most_rows: int = MOST_PROBED
    repeats: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        check_audit_settings(self.probes, self.margin, self.level, self.most_rows)
        if self.among not in AMONG:
            raise unknown("value of among", self.among, AMONG)
        if self.repeats < 1 or self.seed < 0:
            raise InputError("audit-repeats-or-seed", repeats=self.repeats, seed=self.seed)


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels by name: class numbers, −1 unknown, with the classes' names; or real numbers, NaN unknown."""

    name: str
    values: AnyArray
    names: tuple[str, ...] = ()

    @property
    def number(self) -> bool:
        """Whether the labels are real numbers."""
        return self.values.dtype.kind == "f"

    def known(self) -> NDArray[np.bool_]:
        """Whether the label of each row is known."""
        known: NDArray[np.bool_] = np.isfinite(self.values) if self.number else self.values >= 0
        return known

    def cuts(self) -> AnyArray:
        """The values at which the fifths of a number's known values end; none for classes."""
        known = self.values[self.known()] if self.number else self.values[:0]
        # Values that occur: for whole years, 34 is the same cut as 34.2, and reads better.
        shares = np.arange(1, FIFTHS) / FIFTHS
        return np.unique(np.quantile(known, shares, method="lower")) if len(known) else known

    def grouped(self, cuts: AnyArray) -> LabelColumn:
        """Classes as they are; a number as the class of those between two ``cuts``, upper ends included."""
        if not self.number:
            return self
        codes = (self.values[:, None] > cuts).sum(1)
        ends = _number_texts(cuts)
        inner = [f"over {low} to {high}" for low, high in pairwise(ends)]
        names = [f"up to {ends[0]}", *inner, f"over {ends[-1]}"] if ends else ["all"]
        return LabelColumn(self.name, np.where(self.known(), codes, -1), tuple(names))


def _number_texts(numbers: AnyArray) -> list[str]:
    """Each number as people write it, with as few digits as make them differ."""
    for digits in (6, 9, 17):
        texts = [f"{n:.0f}" if n == np.rint(n) and abs(n) < 1e15 else f"{n:.{digits}g}" for n in numbers.tolist()]
        if len(set(texts)) == len(texts):
            break
    return texts


@dataclass(frozen=True)
class ModelOutputs:
    """What a model predicts for each row: a class number or a real number, and probabilities if it gives them."""

    predicted: AnyArray
    probabilities: AnyArray | None = None

    def packed(self) -> AnyArray:
        """(rows, 1 + classes) of float64: the prediction, then the probabilities; rows are drawn from one array."""
        parts = [self.predicted] if self.probabilities is None else [self.predicted, self.probabilities]
        return np.column_stack(parts).astype(np.float64)

    def features(self) -> AnyArray:
        """What a probe sees of them: the logarithms of probabilities, else the prediction."""
        if self.probabilities is None:
            return self.predicted
        return np.log(np.maximum(self.probabilities.astype(np.float64), LEAST))


@dataclass(frozen=True)
class AuditRows:
    """What is known of the rows: target, bias columns, which rows are of one person; labels of the training rows."""

    target: LabelColumn
    biases: tuple[LabelColumn, ...]
    same: AnyArray | None = None
    trained: tuple[LabelColumn, tuple[LabelColumn, ...]] | None = None

    def __len__(self) -> int:
        return len(self.target.values)

    def probed(self, settings: AuditSettings) -> Integers:
        """The rows for the probes: all, or whole persons with a known bias, as many as the settings allow."""
        if len(self) <= settings.most_rows:
            return np.arange(len(self))
        rows = np.flatnonzero(np.any([bias.known() for bias in self.biases], axis=0))
        if len(rows) <= settings.most_rows:
            return rows
        units = np.arange(len(self)) if self.same is None else self.same
        return rows[draw_units(units[rows], settings.most_rows, np.random.default_rng(settings.seed))]


@dataclass(frozen=True)
class AuditedModel:
    """What a model gives for the rows: outputs of all, if any, and layers of features of the rows ``probed``."""

    outputs: ModelOutputs | None
    layers: Mapping[str, AnyArray]
    probed: Integers
    notes: tuple[str, ...] = ()

    def sources(self) -> dict[str, AnyArray]:
        """All that probes see, in the order of the data path; what is deployed comes last."""
        if self.outputs is None:
            return dict(self.layers)
        return {**self.layers, "prediction": self.outputs.features()[self.probed]}
