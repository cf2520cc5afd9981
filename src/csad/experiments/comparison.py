"""The methods of a table compared row by row: intervals of their figures, and of how far one is above the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from csad.auditing.intervals import Interval, drawn_rows, percentiles
from csad.experiments.answers import Answers, Rows
from csad.report.differences import Difference, Share
from csad.report.paired import TAIL
from csad.report.tables import ResultTable

REPEATS, LEVEL = 1000, 1 - 2 * TAIL

Runs = Mapping[int, Answers]  # by seed
Figures = dict[str, float]


class Draws:
    """The figures of each method over runs and rows that are drawn with replacement, the same for all methods.

    Rows of one person are drawn together. Runs that were tested on the same rows have the same ones drawn.
    """

    def __init__(self, methods: Mapping[str, Runs], metrics: Sequence[str], *, repeats: int = REPEATS) -> None:
        self.metrics = metrics
        generator = np.random.default_rng(0)
        seeds = sorted({seed for runs in methods.values() for seed in runs})
        tested = {one.rows: one for runs in methods.values() for one in runs.values()}
        self.found: dict[str, list[Figures]] = {name: [] for name in methods}
        for _ in range(repeats):
            chosen = generator.choice(seeds, len(seeds)).tolist()
            rows = {word: drawn_rows(len(one.y), one.persons, generator) for word, one in tested.items()}
            for name, runs in methods.items():
                self.found[name].append(self._mean(runs, chosen, rows))

    def _mean(self, runs: Runs, chosen: Sequence[int], rows: Mapping[str, Rows]) -> Figures:
        """The mean of each metric over the chosen runs; one that was lost does not count, nor a figure without rows."""
        once = {seed: runs[seed].figures(rows[runs[seed].rows], self.metrics) for seed in {*chosen} & runs.keys()}
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
        """Where 95 % of the draws have the share of a gap that a method closes; None where the gap may be none."""
        low, high = gap
        ends = self.difference(high, low, metric)
        if ends is None or ends[0] <= 0:
            return None
        draws = zip(self.found[method], self.found[low], self.found[high], strict=True)
        whole = [[own[metric] for own in draw] for draw in draws if all(metric in own for own in draw)]
        return percentiles([closed(*figures) for figures in whole if figures[1] != figures[2]], LEVEL)


def closed(own: float, low: float, high: float) -> float:
    """Which share of the way from low to high has been gone."""
    return (own - low) / (high - low)


def compared(
    result: ResultTable, method: str, answers: Mapping[str, Mapping[str, Runs]], gap: tuple[str, str] | tuple[()] = ()
) -> ResultTable:
    """The table with intervals, and the differences of one method from all others; ``answers`` by column and method.

    With a ``gap``, a low and a high method, also which share of it the method closes, in the first metric.
    """
    cells = {(cell.method, cell.column, cell.metric): cell for cell in result.cells}
    metrics = list(dict.fromkeys(cell.metric for cell in result.cells))
    differences, shares = [], []
    for column, methods in answers.items():
        draws = Draws(methods, metrics)
        for name in methods:
            for metric in metrics:
                place = (name, column, metric)
                cells[place] = replace(cells[place], interval=draws.interval(name, metric))
        for other in methods if method in methods else ():
            for metric in metrics:
                ends = draws.difference(method, other, metric)
                if other != method and ends is not None:
                    mean = cells[method, column, metric].mean - cells[other, column, metric].mean
                    differences.append(Difference(method, other, column, metric, mean, ends))
        if gap and {method, *gap} <= methods.keys() and (ends := draws.share(method, gap, metrics[0])):
            means = (cells[name, column, metrics[0]].mean for name in (method, *gap))
            shares.append(Share(method, *gap, column, metrics[0], closed(*means), ends))
    return replace(result, cells=list(cells.values()), differences=differences, shares=shares)
