"""The methods of a table compared row by row: intervals of their figures, and of how far one is above the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from csad.auditing.intervals import Interval, drawn_times, percentiles
from csad.experiments.answers import Answers, Rows
from csad.report.differences import Difference, Share
from csad.report.paired import TAIL, widened
from csad.report.tables import Cell, ResultTable

REPEATS, LEVEL = 1000, 1 - 2 * TAIL

Runs = Mapping[int, Answers]  # by seed
Figures = dict[str, float]


class Draws:
    """The figures of each method over runs and rows that are drawn with replacement, the same for all methods.

    Rows of one person are drawn together. Runs that were tested on the same rows have the same ones drawn, and so do
    those that were tested on some of the same people: as often in one split as in another.
    """

    def __init__(self, methods: Mapping[str, Runs], metrics: Sequence[str], *, repeats: int = REPEATS) -> None:
        self.metrics = metrics
        generator = np.random.default_rng(0)
        seeds = sorted({seed for runs in methods.values() for seed in runs})
        tested = {one.rows: one for runs in methods.values() for one in runs.values()}
        everyone: dict[str, list[Rows]] = {}
        for one in tested.values():
            everyone.setdefault(one.people, []).append(_units(one))
        units = {word: np.unique(np.concatenate(own)) for word, own in everyone.items()}
        places = {word: np.searchsorted(units[one.people], _units(one)) for word, one in tested.items()}
        self.found: dict[str, list[Figures]] = {name: [] for name in methods}
        for _ in range(repeats):
            chosen = generator.choice(seeds, len(seeds)).tolist()
            times = {word: drawn_times(len(own), generator) for word, own in units.items()}
            rows = {
                word: np.repeat(np.arange(len(one.y)), times[one.people][places[word]]) for word, one in tested.items()
            }
            for name, runs in methods.items():
                self.found[name].append(self._mean(runs, chosen, rows))

    def _mean(self, runs: Runs, chosen: Sequence[int], rows: Mapping[str, Rows]) -> Figures:
        """The mean of each metric over the chosen runs; one that was lost does not count, nor one without rows."""
        tested = {seed: rows[runs[seed].rows] for seed in {*chosen} & runs.keys()}
        once = {seed: runs[seed].figures(own, self.metrics) for seed, own in tested.items() if len(own)}
        given = [once[seed] for seed in chosen if seed in once]
        return {
            metric: fmean(own[metric] for own in given if metric in own)
            for metric in self.metrics
            if any(metric in own for own in given)
        }

    def interval(self, method: str, metric: str) -> Interval | None:
        """Where 95 % of the draws have the figure of a method; None where none has it."""
        return percentiles([own[metric] for own in self.found[method] if metric in own], LEVEL)

    def difference(self, method: str, other: str, metric: str) -> Interval | None:
        """Where 95 % of the draws have the figure of one method less that of another."""
        pairs = zip(self.found[method], self.found[other], strict=True)
        return percentiles([one[metric] - two[metric] for one, two in pairs if metric in one and metric in two], LEVEL)

    def share(self, method: str, gap: tuple[str, str], metric: str) -> Interval | None:
        """Where 95 % of the draws have the share of a gap that a method closes."""
        low, high = gap
        draws = zip(self.found[method], self.found[low], self.found[high], strict=True)
        whole = [[own[metric] for own in draw] for draw in draws if all(metric in own for own in draw)]
        return percentiles([closed(*figures) for figures in whole if figures[1] != figures[2]], LEVEL)


def _units(one: Answers) -> Rows:
    """What is drawn: people, or rows where nobody told whose they are."""
    return np.arange(len(one.y)) if one.persons is None else one.persons


def closed(own: float, low: float, high: float) -> float:
    """Which share of the way from low to high has been gone."""
    return (own - low) / (high - low)


@dataclass(frozen=True)
class Column:
    """The cells of a column by method and metric, and the draws that tell how far each may be off."""

    name: str
    cells: Mapping[tuple[str, str], Cell]
    draws: Draws

    def interval(self, method: str, metric: str) -> Interval | None:
        """That of a cell; a figure is a fraction, wherever a few runs would reach."""
        cell, ends = self.cells[method, metric], self.draws.interval(method, metric)
        if ends is None:
            return None
        low, high = widened(ends, cell.mean, list(cell.values.values()))
        return max(low, 0.0), min(high, 1.0)

    def difference(self, method: str, other: str, metric: str) -> Difference | None:
        """How far one method is above another."""
        ends = self.draws.difference(method, other, metric)
        if ends is None:
            return None
        one, two = self.cells[method, metric], self.cells[other, metric]
        mean, apart = one.mean - two.mean, [one.values[k] - two.values[k] for k in one.values if k in two.values]
        return Difference(method, other, self.name, metric, mean, widened(ends, mean, apart))

    def share(self, method: str, gap: tuple[str, str], metric: str) -> Share | None:
        """How much of a gap a method closes; nothing where the gap may be none."""
        low, high = gap
        whole, ends = self.difference(high, low, metric), self.draws.share(method, gap, metric)
        if whole is None or whole.interval[0] <= 0 or ends is None:
            return None
        own, least, most = (self.cells[name, metric] for name in (method, low, high))
        value = closed(own.mean, least.mean, most.mean)
        # How far each run moves the share, to first order.
        moves = [
            (own.values[k] - least.values[k] - value * (most.values[k] - least.values[k])) / whole.mean
            for k in own.values
            if k in least.values and k in most.values
        ]
        return Share(method, low, high, self.name, metric, value, widened(ends, value, moves))


def compared(
    result: ResultTable, method: str, answers: Mapping[str, Mapping[str, Runs]], gap: tuple[str, str] | tuple[()] = ()
) -> ResultTable:
    """The table with intervals, and the differences of one method from all others; ``answers`` by column and method.

    With a ``gap``, a low and a high method, also which share of it the method closes, in the first metric.
    """
    cells = {(cell.method, cell.column, cell.metric): cell for cell in result.cells}
    metrics = list(dict.fromkeys(cell.metric for cell in result.cells))
    differences, shares = [], []
    for name, methods in answers.items():
        own = {(one, metric): cells[one, name, metric] for one in methods for metric in metrics}
        column = Column(name, own, Draws(methods, metrics))
        for (one, metric), cell in own.items():
            cells[one, name, metric] = replace(cell, interval=column.interval(one, metric))
        for other in methods if method in methods else ():
            found = [column.difference(method, other, metric) for metric in metrics if other != method]
            differences += [one for one in found if one]
        if gap and {method, *gap} <= methods.keys() and (share := column.share(method, gap, metrics[0])):
            shares.append(share)
    drawn = [one for methods in answers.values() for runs in methods.values() for one in runs.values()]
    people = any(one.persons is not None for one in drawn)
    return replace(result, cells=list(cells.values()), differences=differences, shares=shares, people=people)
