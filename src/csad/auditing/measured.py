"""Figures of predictions with bootstrap intervals: of all rows, of each group, of each cell target × bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from csad.auditing.audited import Facts, Labels, Outputs, Settings, Table
from csad.auditing.calibration import expected_calibration_error
from csad.auditing.conflicts import conflicting_cells
from csad.auditing.figures import figures
from csad.auditing.intervals import Interval, bootstrap
from csad.auditing.metrics import accuracy, mean_squared_error


@dataclass(frozen=True)
class Figure:
    """A figure and its interval, both ends at once at the audit's level; no interval where no draw gave one."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, interval: Interval | None) -> Figure:
        """The figure; percentiles of a figure that draws make worse, such as an ECE, are widened to hold it."""
        return cls(value) if interval is None else cls(value, min(interval[0], value), max(interval[1], value))


@dataclass(frozen=True)
class Group:
    """The figures of the rows of one class of a bias: accuracy and ECE, or the mean squared error."""

    bias: str
    group: str
    rows: int
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Cell:
    """The accuracy of the rows of one target and one class of a bias; Wilson's interval, as cells may be small."""

    bias: str
    group: str
    target: str
    rows: int
    accuracy: Figure


def grouped(facts: Facts) -> list[Labels]:
    """The bias columns as classes, numbers as their fifths."""
    return [bias.grouped(bias.cuts()) for bias in facts.biases]


def split_figures(target: Labels, groups: Sequence[Labels]) -> Callable[[Table, Table, Table], dict[str, float]]:
    """The function that gives all figures of packed outputs, the target's values and what ``stacked`` gives."""
    names = [group.name for group in groups]

    def classes(packed: Table, y: Table, codes: Table) -> dict[str, float]:
        probabilities = packed[:, 1:] if packed.shape[1] > 1 else None
        *columns, conflicting = codes.T
        biases = dict(zip(names, columns, strict=True))
        return figures(packed[:, 0], y, probabilities=probabilities, biases=biases, conflicting=conflicting)

    def numbers(packed: Table, y: Table, _: Table) -> dict[str, float]:
        return {"mean_squared_error": mean_squared_error(packed[:, 0], y)}

    return numbers if target.number else classes


def measure(outputs: Outputs, facts: Facts, settings: Settings) -> dict[str, Figure]:
    """All figures of a split by name, each with its interval."""
    groups = grouped(facts)
    arrays = (outputs.packed(), facts.target.values, stacked(facts.target, groups))
    return intervals_of(split_figures(facts.target, groups), arrays, facts.same, settings)


def by_group(outputs: Outputs, facts: Facts, settings: Settings) -> tuple[Group, ...]:
    """The figures of each group of each bias of which there are rows."""
    packed, y, found = outputs.packed(), facts.target.values, []

    def classes(packed: Table, y: Table) -> dict[str, float]:
        right = {"accuracy": accuracy(packed[:, 0], y)}
        return right | ({"ece": expected_calibration_error(packed[:, 1:], y)} if packed.shape[1] > 1 else {})

    def numbers(packed: Table, y: Table) -> dict[str, float]:
        return {"mean_squared_error": mean_squared_error(packed[:, 0], y)}

    for bias in grouped(facts):
        for code, name in enumerate(bias.names):
            if len(rows := np.flatnonzero(bias.values == code)):
                same = None if facts.same is None else facts.same[rows]
                told = intervals_of(
                    numbers if facts.target.number else classes, (packed[rows], y[rows]), same, settings
                )
                found.append(Group(bias.name, name, len(rows), told))
    return tuple(found)


def by_cell(outputs: Outputs, facts: Facts, settings: Settings) -> tuple[Cell, ...]:
    """The accuracy in each cell that holds rows; nothing where the target is a number."""
    target, found = facts.target, []
    right = outputs.said == target.values
    for bias in grouped(facts) if not target.number else ():
        for code, group in enumerate(bias.names):
            for c, name in enumerate(target.names):
                if len(rows := np.flatnonzero((bias.values == code) & (target.values == c))):
                    units = len(rows) if facts.same is None else len(np.unique(facts.same[rows]))
                    share = float(right[rows].mean())
                    found.append(
                        Cell(bias.name, group, name, len(rows), Figure(share, *wilson(share, units, settings.level)))
                    )
    return tuple(found)


def wilson(share: float, rows: int, level: float) -> Interval:
    """(low, high) for a share of independent rows (Wilson, 1927): never empty, however few the rows."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * (share * (1 - share) / rows + z**2 / (4 * rows**2)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def intervals_of(
    figure: Callable[..., dict[str, float]], arrays: Sequence[Table], same: Table | None, settings: Settings
) -> dict[str, Figure]:
    """What ``figure`` gives for the arrays, each with its interval."""
    drawn = bootstrap(figure, *arrays, repeats=settings.repeats, level=settings.level, seed=settings.seed, same=same)
    return {name: Figure.of(value, drawn.get(name)) for name, value in figure(*arrays).items()}


def stacked(target: Labels, groups: Sequence[Labels]) -> Table:
    """(rows, columns + 1): the groups' class numbers, and which cell against the bias a row is in, if any.

    The last is told once, of all rows: drawn anew in each draw, cells near independence would change sides by chance.
    """
    columns = {group.name: group.values for group in groups}
    cells = np.full(len(target.values), -1) if target.number else conflicting_cells(target.values, columns)
    return np.column_stack([*columns.values(), cells])
