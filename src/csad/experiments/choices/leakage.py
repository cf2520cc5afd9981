"""How much the predictions of several models tell of the bias on the same validation rows, to compare them by."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from csad.auditing.audited import Outputs
from csad.auditing.blocks import Deal, deal
from csad.auditing.columns import Column, sight
from csad.auditing.leakage import MOST_ROWS
from csad.auditing.readers import as_features, linear, read
from csad.auditing.verdicts import CHANCE
from csad.auditing.within import joined_auc, tasks_told
from csad.data.samples import Dataset, local
from csad.experiments.audits.of_run import labels_of

DEALS = 5  # ways to deal the rows, over which the readings are averaged: validation rows are few


@dataclass(frozen=True)
class Readable:
    """The validation rows as readers meet them, a column for each bias that can be read, dealt in several ways."""

    columns: tuple[tuple[Column, tuple[Deal, ...]], ...]

    def leakage(self, outputs: Outputs) -> float:
        """The AUC of fresh linear readers, mean over biases and deals; a mean below chance counts as chance."""
        features, generator = outputs.features(), np.random.default_rng(0)
        found = []
        for column, deals in self.columns:
            shown = as_features(np.asarray(features)[column.rows], generator)
            for dealt in deals:
                scores = read(linear, shown, column.targets, dealt)
                found.append(joined_auc(scores, column.codes[None], column, dealt.cells()).item())
        return max(CHANCE, fmean(found))


def readable(dataset: Dataset) -> Readable | str:
    """The validation rows, or why no reader could find a bias in them.

    Rows are compared among those of the same target; where that is a number, of the same fifth of its values.
    """
    samples = dataset.splits["validation"]
    target, biases = labels_of(dataset.task, samples)
    target = target.grouped(target.cuts())
    persons = samples.persons
    units = np.arange(len(samples)) if persons is None else np.unique(local(persons), return_inverse=True)[1]
    columns, reasons = [], []
    for bias in biases:
        generator = np.random.default_rng(0)
        column = sight(bias.values, units, target.values >= 0, MOST_ROWS, generator)
        if isinstance(column, str):
            reasons.append(f"{bias.name}: {column}")
            continue
        deals = _deals(column, units, target.values, generator)
        if all(len(tasks_told(column, dealt.cells())) for dealt in deals):
            columns.append((column, deals))
        else:
            reasons.append(f"{bias.name}: no two of its labels are found among rows of the same target")
    return Readable(tuple(columns)) if columns else "; ".join(reasons)


def _deals(
    column: Column, units: NDArray[np.integer], strata: NDArray[np.integer], generator: np.random.Generator
) -> tuple[Deal, ...]:
    return tuple(deal(column.codes, units[column.rows], strata[column.rows], generator) for _ in range(DEALS))
