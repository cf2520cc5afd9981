"""All probes of one layer and bias: their readings, how each would have read other rows, and what a plant shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.blocks import Deal, deal, shuffled
from csad.auditing.columns import Column, Numbers
from csad.auditing.plants import planted_auc
from csad.auditing.readers import MOST_FEATURES, READERS, Array, as_features, read
from csad.auditing.verdicts import CHANCE, Reading, Rule
from csad.auditing.within import joined_auc, tasks_told, weighted_auc
from csad.errors import InputError

SHUFFLES = 999  # at least; more where many tests share the level, so that each could still pass
DRAWS = 500
WEIGHTS = 256  # no byte of a name: sets the generator of the weights apart
Draws = NDArray[np.float64]


@dataclass(frozen=True)
class Bench:
    """What all readers of one bias share: the labels, the deal, shuffled labels and weights of rows drawn anew."""

    column: Column
    dealt: Deal
    chance: NDArray[np.int16]  # (shuffles, rows)
    weights: NDArray[np.float32]  # (draws, rows)
    generator: np.random.Generator


@dataclass(frozen=True)
class ReadOut:
    """The readings of one layer and bias, their p-values not yet corrected; ``draws`` by probe."""

    readings: tuple[Reading, ...]
    planted: float | None
    notes: tuple[str, ...]
    draws: Mapping[str, Draws]


def bench_of(
    column: Column, units: Numbers, strata: Numbers, rule: Rule, generator: np.random.Generator, key: Sequence[int]
) -> Bench | str:
    """The bench of a column, or why no reader could be scored on it; ``key`` settles the rows that are drawn anew."""
    dealt = deal(column.codes, units[column.rows], strata[column.rows], generator)
    if not len(tasks_told(column, dealt.cells())):
        return "no two of its labels are ever found among rows that are compared"
    count = max(SHUFFLES, int(2 * rule.tests / (1 - rule.level)) - 1)
    chance = shuffled(column.codes, dealt, count, generator)
    # Exponential weights (Rubin's Bayesian bootstrap): smooth, and no draw is without a class. By a generator of their
    # own: how many labels were shuffled before must not change them, or two models could not be compared draw by draw.
    own = np.random.default_rng([*key, WEIGHTS])
    weights = own.standard_exponential((DRAWS, dealt.unit.max() + 1), dtype=np.float32)
    return Bench(column, dealt, chance, weights[:, dealt.unit], generator)


def read_out(layer: str, bias: str, values: NDArray[Any], bench: Bench, probes: Sequence[str], rule: Rule) -> ReadOut:
    """What the probes read of a bias in one layer's values."""
    column, dealt = bench.column, bench.dealt
    values = np.asarray(values)[column.rows]
    features, width = as_features(values, bench.generator), int(np.prod(values.shape[1:]))
    folded = (f"{width:,} features folded at random into {MOST_FEATURES:,}.",) if width > MOST_FEATURES else ()
    if not np.isfinite(features).all():
        raise InputError(f"The features of {layer} must be finite numbers in all rows; some are not.")
    found = [_reading(probe, layer, bias, features, bench, rule) for probe in probes]
    planted = planted_auc(features, column, dealt, CHANCE + 2 * rule.margin, bench.generator)
    draws = {reading.probe: drawn for reading, drawn in found}
    return ReadOut(tuple(reading for reading, _ in found), planted, column.notes + folded, draws)


def _reading(probe: str, layer: str, bias: str, features: Array, bench: Bench, rule: Rule) -> tuple[Reading, Draws]:
    """What one probe reads, and its score in each draw."""
    column, cells = bench.column, bench.dealt.cells()
    scores = read(READERS[probe], features, column.targets, bench.dealt)
    score = joined_auc(scores, column.codes[None], column, cells).item()
    chance = joined_auc(scores, bench.chance, column, cells)
    drawn = weighted_auc(scores, bench.weights, column, cells)
    low, high = np.quantile(drawn, [1 - rule.level, rule.level])
    p = (1 + np.sum(chance >= score - 1e-12)) / (1 + len(chance))
    low, high = min(float(low), score), min(1.0, max(float(high), score))
    return Reading(probe, layer, bias, score, CHANCE, low, high, float(p), float(p), len(column.rows)), drawn
