"""What a model gets right for whom: metrics with bootstrap intervals of all rows, of groups, of cells target × bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.inputs import AuditRows, AuditSettings, LabelColumn, ModelOutputs
from csad.auditing.metrics.all_metrics import all_metrics, number_metrics
from csad.auditing.metrics.groups import accuracy_by_side, conflicting_cells
from csad.auditing.metrics.intervals import AnyArray, Interval, bootstrap
from csad.auditing.metrics.metric import METRICS, MetricTarget
from csad.serialize import Serializable

SMALL_CELL = 30  # rows; with fewer, the accuracy of a cell may be off by 18 points


def interval_text(value: float, low: float | None, high: float | None, digits: int = 3) -> str:
    """``0.812 (0.790 … 0.833)``: a value and the ends of its interval, if there is one."""
    ends = "" if low is None or high is None else f" ({low:.{digits}f} … {high:.{digits}f})"
    return f"{value:.{digits}f}{ends}"


@dataclass(frozen=True)
class Figure(Serializable):
    """A value of a metric and its interval, at the audit's level; no interval if no draw gave one."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, interval: Interval | None) -> Figure:
        """The figure; percentiles of a figure that draws make worse, such as an ECE, are widened to hold it."""
        return cls(value) if interval is None else cls(value, min(interval[0], value), max(interval[1], value))

    def __str__(self) -> str:
        """``0.812 (0.790 … 0.833)``."""
        return interval_text(self.value, self.low, self.high)


@dataclass(frozen=True)
class GroupFigures(Serializable):
    """The metrics of the rows of one class of a bias: accuracy and ECE, or the mean squared error."""

    bias: str
    group: str
    rows: int
    figures: dict[str, Figure] = field(metadata={"rename": METRICS.canonical})


@dataclass(frozen=True)
class CellAccuracy(Serializable):
    """The accuracy of the rows of one target and one class of a bias; Wilson's interval, as cells may be small."""

    bias: str
    group: str
    target: str
    rows: int
    accuracy: Figure

    @property
    def is_small(self) -> bool:
        """Whether the cell has so few rows that its accuracy says little."""
        return self.rows < SMALL_CELL


def binned_biases(facts: AuditRows) -> list[LabelColumn]:
    """The bias columns as classes, numbers as their fifths."""
    return [bias.grouped(bias.cuts()) for bias in facts.biases]


def metric_function(
    target: LabelColumn, groups: Sequence[LabelColumn], sided: Sequence[str] = ()
) -> Callable[..., dict[str, float]]:
    """The function that gives all metrics of packed outputs, the target's values and what ``group_codes`` gives.

    Args:
        target: the target.
        groups: the bias columns as classes.
        sided: the biases of which rows have a side (see ``sides``); their sides are then a fourth array (rows, biases).
    """
    names = [group.name for group in groups]

    def classes(packed: AnyArray, y: AnyArray, codes: AnyArray, side: AnyArray | None = None) -> dict[str, float]:
        probabilities = packed[:, 1:] if packed.shape[1] > 1 else None
        *columns, conflicting = codes.T
        biases = dict(zip(names, columns, strict=True))
        more = {} if side is None else {"side": dict(zip(sided, side.T, strict=True))}
        return all_metrics(packed[:, 0], y, probabilities=probabilities, biases=biases, conflicting=conflicting, **more)

    def numbers(packed: AnyArray, y: AnyArray, *_: AnyArray) -> dict[str, float]:
        return number_metrics(packed[:, 0], y)

    return numbers if target.number else classes


def measure(outputs: ModelOutputs, facts: AuditRows, settings: AuditSettings) -> dict[str, Figure]:
    """All metrics of a split by name, each with its interval."""
    groups = binned_biases(facts)
    arrays = (outputs.packed(), facts.target.values, group_codes(facts.target, groups))
    return intervals_of(metric_function(facts.target, groups), arrays, facts.same, settings)


def by_group(outputs: ModelOutputs, facts: AuditRows, settings: AuditSettings) -> tuple[GroupFigures, ...]:
    """The metrics of each group of each bias of which there are rows; those that are registered as ``by_group``."""
    packed, y, groups = outputs.packed(), facts.target.values, []
    names = [metric.name for metric in METRICS.all() if metric.by_group]

    target: MetricTarget = "number" if facts.target.number else "classes"
    classes = max(2, len(facts.target.names))

    def figure(packed: AnyArray, y: AnyArray) -> dict[str, float]:
        arrays: dict[str, Any] = {
            "predicted": packed[:, 0] if facts.target.number else packed[:, 0].astype(np.int64),
            "y": y,
        }
        arrays["classes"] = classes
        if packed.shape[1] > 1:
            arrays["probabilities"] = packed[:, 1:]
        return METRICS.compute(arrays, target, names)

    for bias in binned_biases(facts):
        for code, name in enumerate(bias.names):
            if len(rows := np.flatnonzero(bias.values == code)):
                same = None if facts.same is None else facts.same[rows]
                figures = intervals_of(figure, (packed[rows], y[rows]), same, settings)
                groups.append(GroupFigures(bias.name, name, len(rows), figures))
    return tuple(groups)


def by_cell(outputs: ModelOutputs, facts: AuditRows, settings: AuditSettings) -> tuple[CellAccuracy, ...]:
    """The accuracy in each cell that holds rows; none if the target is a number."""
    target, cells = facts.target, []
    right = outputs.predicted == target.values
    for bias in binned_biases(facts) if not target.number else ():
        for code, group in enumerate(bias.names):
            for c, name in enumerate(target.names):
                if len(rows := np.flatnonzero((bias.values == code) & (target.values == c))):
                    units = len(rows) if facts.same is None else len(np.unique(facts.same[rows]))
                    share = float(right[rows].mean())
                    figure = Figure(share, *wilson(share, units, settings.level))
                    cells.append(CellAccuracy(bias.name, group, name, len(rows), figure))
    return tuple(cells)


def wilson(share: float, rows: int, level: float) -> Interval:
    """(low, high) for a share of independent rows (Wilson, 1927): never empty, however few the rows."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    center = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * (share * (1 - share) / rows + z**2 / (4 * rows**2)) ** 0.5
    return max(0.0, center - half), min(1.0, center + half)


def intervals_of(
    figure: Callable[..., dict[str, float]], arrays: Sequence[AnyArray], same: AnyArray | None, settings: AuditSettings
) -> dict[str, Figure]:
    """What ``figure`` gives for the arrays, each with its interval."""
    drawn = bootstrap(figure, *arrays, repeats=settings.repeats, level=settings.level, seed=settings.seed, same=same)
    return {name: Figure.of(value, drawn.get(name)) for name, value in figure(*arrays).items()}


def group_codes(target: LabelColumn, groups: Sequence[LabelColumn]) -> AnyArray:
    """(rows, columns + 1): the groups' class numbers, and which cell against the bias a row is in, if any.

    The last is found once, from all rows: in each draw anew, cells near independence would change sides by chance.
    """
    columns = {group.name: group.values for group in groups}
    cells = np.full(len(target.values), -1) if target.number else conflicting_cells(target.values, columns)
    return np.column_stack([*columns.values(), cells])


SIDES = ("aligned", "conflicting", "difference")
TOO_FAR = 3.0  # standard deviations from what independence makes likely: such a cell is no accident


@dataclass(frozen=True)
class Alignment(Serializable):
    """Accuracy on rows whose bias is commoner than chance beside their target, and on those where it is rarer."""

    bias: str
    aligned: Figure
    conflicting: Figure
    difference: Figure  # aligned − conflicting
    aligned_rows: int
    conflicting_rows: int


def by_alignment(outputs: ModelOutputs, facts: AuditRows, settings: AuditSettings) -> tuple[Alignment, ...]:
    """The two accuracies for each bias that goes with the target in some cells, and against it in others."""
    alignments = []

    def accuracies(predicted: AnyArray, y: AnyArray, side: AnyArray) -> dict[str, float]:
        if (both := accuracy_by_side(predicted, y, side)) is None:
            return {}
        return dict(zip(SIDES, (*both, both[0] - both[1]), strict=True))

    for bias, side in sides(facts).items():
        figures = intervals_of(accuracies, (outputs.predicted, facts.target.values, side), facts.same, settings)
        aligned, conflicting, difference = (figures[name] for name in SIDES)
        counts = [int(np.sum(side == sign)) for sign in (1, -1)]
        alignments.append(Alignment(bias, aligned, conflicting, difference, *counts))
    return tuple(alignments)


def sides(facts: AuditRows) -> dict[str, AnyArray]:
    """By bias, 1 for each row that is aligned, −1 for each that is conflicting, else 0; only where there are both.

    The training rows decide which cells are which, if there are any: test rows are often made so that target and bias
    are independent.
    """
    if facts.target.number:
        return {}
    trained, their_biases = facts.trained or (facts.target, facts.biases)
    columns = {}
    for bias, theirs in zip(facts.biases, their_biases, strict=True):
        cuts = theirs.cuts()
        kinds = leanings(trained, theirs.grouped(cuts))
        side = _side(kinds, facts.target.values, bias.grouped(cuts).values)
        if (side == 1).any() and (side == -1).any():
            columns[bias.name] = side
    return columns


def leanings(target: LabelColumn, group: LabelColumn) -> NDArray[np.int64]:
    """(targets, groups): 1 where a cell holds more rows than independence makes likely, −1 where fewer, else 0.

    By its adjusted residual (Haberman, 1973): (rows − expected) / √(expected · (1 − p_target)(1 − p_group)).
    """
    known = group.values >= 0
    y, g = target.values[known], group.values[known]
    shape = (len(target.names), len(group.names))
    rows = np.bincount(y * shape[1] + g, minlength=shape[0] * shape[1]).reshape(shape)
    total = max(1, rows.sum())
    share_y, share_g = rows.sum(1, keepdims=True) / total, rows.sum(0, keepdims=True) / total
    expected = total * share_y * share_g
    spread = np.sqrt(expected * (1 - share_y) * (1 - share_g))
    residual = np.divide(rows - expected, spread, out=np.zeros(shape), where=spread > 0)
    kinds: NDArray[np.int64] = (residual > TOO_FAR).astype(np.int64) - (residual < -TOO_FAR)
    return kinds


def _side(kinds: NDArray[np.int64], y: AnyArray, group: AnyArray) -> AnyArray:
    """1, −1 or 0 for each row; 0 where its group is unknown, or its class was never trained on."""
    known = (group >= 0) & (y < len(kinds)) & (group < kinds.shape[1])
    return np.where(known, kinds[np.where(known, y, 0), np.where(known, group, 0)], 0)
