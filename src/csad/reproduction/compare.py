"""The methods of a table compared row by row: intervals of their figures, and of the differences between two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean, variance

import numpy as np

from csad.auditing.metrics.intervals import Interval, drawn_times, percentiles, student
from csad.reproduction.result_table import Cell, CellDifference, GapShare, ResultTable
from csad.sweeps.row_predictions import RowPredictions, Rows

REPEATS, LEVEL = 1000, 0.95

Runs = Mapping[int, RowPredictions]  # by seed
Figures = dict[str, float]


class PairedBootstrap:
    """The figures of each method over runs and rows that are drawn with replacement, the same for all methods.

    Rows of one person are drawn together. Runs that were tested on the same rows have the same ones drawn, and so do
    those that were tested on some of the same people: as often in one split as in another.
    """

    def __init__(self, methods: Mapping[str, Runs], metrics: Sequence[str], *, repeats: int = REPEATS) -> None:
        self.metrics = metrics
        generator = np.random.default_rng(0)
        seeds = sorted({seed for runs in methods.values() for seed in runs})
        tested = {answers.rows: answers for runs in methods.values() for answers in runs.values()}
        units_of_people: dict[str, list[Rows]] = {}
        for answers in tested.values():
            units_of_people.setdefault(answers.people, []).append(_units(answers))
        units = {people: np.unique(np.concatenate(several)) for people, several in units_of_people.items()}
        places = {rows: np.searchsorted(units[answers.people], _units(answers)) for rows, answers in tested.items()}
        self.draws: dict[str, list[Figures]] = {name: [] for name in methods}
        for _ in range(repeats):
            chosen = generator.choice(seeds, len(seeds)).tolist()
            times = {people: drawn_times(len(several), generator) for people, several in units.items()}
            drawn = {
                rows: np.repeat(np.arange(len(answers.y)), times[answers.people][places[rows]])
                for rows, answers in tested.items()
            }
            for name, runs in methods.items():
                self.draws[name].append(self._mean(runs, chosen, drawn))

    def _mean(self, runs: Runs, chosen: Sequence[int], drawn: Mapping[str, Rows]) -> Figures:
        """The mean of each metric over the chosen runs; a run that was lost, or has no row drawn, does not count."""
        rows_of = {seed: drawn[runs[seed].rows] for seed in {*chosen} & runs.keys()}
        by_seed = {seed: runs[seed].figures(rows, self.metrics) for seed, rows in rows_of.items() if len(rows)}
        several = [by_seed[seed] for seed in chosen if seed in by_seed]
        return {
            metric: fmean(figures[metric] for figures in several if metric in figures)
            for metric in self.metrics
            if any(metric in figures for figures in several)
        }

    def interval(self, method: str, metric: str) -> Interval | None:
        """Where 95 % of the draws have the figure of a method; None if no draw has it."""
        return percentiles([figures[metric] for figures in self.draws[method] if metric in figures], LEVEL)

    def difference(self, method: str, other: str, metric: str) -> Interval | None:
        """Where 95 % of the draws have the figure of one method less that of another."""
        pairs = zip(self.draws[method], self.draws[other], strict=True)
        differences = [ours[metric] - theirs[metric] for ours, theirs in pairs if metric in ours and metric in theirs]
        return percentiles(differences, LEVEL)

    def share(self, method: str, gap: tuple[str, str], metric: str) -> Interval | None:
        """Where 95 % of the draws have the share of a gap that a method closes."""
        low, high = gap
        draws = zip(self.draws[method], self.draws[low], self.draws[high], strict=True)
        complete = [[figures[metric] for figures in draw] for draw in draws if all(metric in part for part in draw)]
        return percentiles([closed(*figures) for figures in complete if figures[1] != figures[2]], LEVEL)


def _units(predictions: RowPredictions) -> Rows:
    """What is drawn: people, or rows if the data do not tell whose they are."""
    return np.arange(len(predictions.y)) if predictions.persons is None else predictions.persons


def closed(value: float, low: float, high: float) -> float:
    """The share of the way from low to high at which a value lies."""
    return (value - low) / (high - low)


def widened(ends: tuple[float, float], middle: float, values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a bootstrap over runs and rows, widened to what so few runs can tell of all others.

    n runs drawn with replacement spread by (n − 1) / n of the variance s² / n of their mean, and the interval reaches
    1.96 of such spreads where t(.975, n − 1) are due. ``values`` are the figures of the runs; one run has no s.
    """
    n = len(values)
    if n < 2:
        return ends
    due, drawn = student(n) ** 2, NormalDist().inv_cdf((1 + LEVEL) / 2) ** 2 * (n - 1) / n
    more = (due - drawn) * variance(values) / n
    low, high = (math.sqrt((end - middle) ** 2 + more) for end in ends)
    return middle - low, middle + high


@dataclass(frozen=True)
class ColumnCells:
    """The cells of a column by method and metric, and the bootstrap that tells how far each may be off."""

    name: str
    cells: Mapping[tuple[str, str], Cell]
    bootstrap: PairedBootstrap

    def interval(self, method: str, metric: str) -> Interval | None:
        """The interval of a cell; a figure is a fraction, however far a few runs reach."""
        cell, ends = self.cells[method, metric], self.bootstrap.interval(method, metric)
        if ends is None:
            return None
        low, high = widened(ends, cell.mean, list(cell.values.values()))
        return max(low, 0.0), min(high, 1.0)

    def difference(self, method: str, other: str, metric: str) -> CellDifference | None:
        """How far one method is above another."""
        ends = self.bootstrap.difference(method, other, metric)
        if ends is None:
            return None
        ours, theirs = self.cells[method, metric], self.cells[other, metric]
        mean = ours.mean - theirs.mean
        by_seed = [ours.values[k] - theirs.values[k] for k in ours.values if k in theirs.values]
        return CellDifference(method, other, self.name, metric, mean, widened(ends, mean, by_seed))

    def share(self, method: str, gap: tuple[str, str], metric: str) -> GapShare | None:
        """How much of a gap a method closes; None if there may be no gap."""
        low, high = gap
        whole, ends = self.difference(high, low, metric), self.bootstrap.share(method, gap, metric)
        if whole is None or whole.interval[0] <= 0 or ends is None:
            return None
        ours, least, most = (self.cells[name, metric] for name in (method, low, high))
        value = closed(ours.mean, least.mean, most.mean)
        # How far each run moves the share, to first order.
        moves = [
            (ours.values[k] - least.values[k] - value * (most.values[k] - least.values[k])) / whole.mean
            for k in ours.values
            if k in least.values and k in most.values
        ]
        return GapShare(method, low, high, self.name, metric, value, widened(ends, value, moves))


def compared(
    result: ResultTable, method: str, answers: Mapping[str, Mapping[str, Runs]], gap: tuple[str, str] | tuple[()] = ()
) -> ResultTable:
    """The table with intervals, and the differences of one method from all others; ``answers`` by column and method.

    With a ``gap``, a low and a high method, also the share of it that the method closes, in the first metric.
    """
    cells = {(cell.method, cell.column, cell.metric): cell for cell in result.cells}
    metrics = list(dict.fromkeys(cell.metric for cell in result.cells))
    differences, shares = [], []
    for name, methods in answers.items():
        of_column = {(row, metric): cells[row, name, metric] for row in methods for metric in metrics}
        column = ColumnCells(name, of_column, PairedBootstrap(methods, metrics))
        for (row, metric), cell in of_column.items():
            cells[row, name, metric] = replace(cell, interval=column.interval(row, metric))
        for other in methods if method in methods else ():
            by_metric = [column.difference(method, other, metric) for metric in metrics if other != method]
            differences += [difference for difference in by_metric if difference]
        if gap and {method, *gap} <= methods.keys() and (share := column.share(method, gap, metrics[0])):
            shares.append(share)
    every = [run for methods in answers.values() for runs in methods.values() for run in runs.values()]
    people = any(run.persons is not None for run in every)
    return replace(result, cells=list(cells.values()), differences=differences, shares=shares, people=people)
