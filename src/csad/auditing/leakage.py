"""Does it still leak? Features and bias labels in; readings of fresh readers and verdicts in plain words out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.blocks import Deal, deal, shuffled
from csad.auditing.columns import Column, Numbers, numbered, sight
from csad.auditing.plants import planted_auc
from csad.auditing.readers import MOST_FEATURES, READERS, Array, as_features, read
from csad.auditing.verdicts import CHANCE, Reading, Rule, Verdict, holm, judge, untold
from csad.auditing.within import joined_auc, tasks_told, weighted_auc
from csad.errors import InputError, unknown

PROBES = ("linear", "mlp", "neighbours")
SHUFFLES = 999  # at least; more where many tests share the level, so that each could still pass
DRAWS = 500


@dataclass(frozen=True)
class Audit:
    """All verdicts, one for each layer and bias, and the rule by which they were found."""

    verdicts: tuple[Verdict, ...]
    margin: float
    level: float
    conditional: bool  # whether rows were compared within the classes of what was given
    seed: int

    @property
    def leaks(self) -> tuple[Verdict, ...]:
        """The verdicts that are "leaks"."""
        return tuple(verdict for verdict in self.verdicts if verdict.state == "leaks")

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and words, for JSON."""
        return asdict(self) | {"verdicts": [_plain(verdict) for verdict in self.verdicts]}


def audit_features(
    layers: Mapping[str, NDArray[Any]],
    biases: Mapping[str, NDArray[Any]],
    *,
    same: NDArray[Any] | None = None,
    given: NDArray[Any] | None = None,
    probes: Sequence[str] = PROBES,
    margin: float = 0.05,
    level: float = 0.95,
    most_rows: int = 20_000,
    seed: int = 0,
) -> Audit:
    """A verdict for each layer and bias: whether fresh readers can tell the bias from the layer's features.

    Layers have rows first; whole numbers in one column are classes. Biases hold classes (whole numbers, −1 unknown,
    or words) or real numbers (NaN unknown). Rows alike in ``same`` (one person) are never both learnt from and read.
    With ``given`` (the target's classes) rows are compared within its classes only: where target and bias go together,
    what knows the target knows the bias as far, and this asks what it knows beyond. The score is the AUC, for a number
    the mean over the cuts between its fifths; see blocks.py for how it is taken, and judge for the rule.
    """
    rows = _check(layers, biases, probes, margin, level, most_rows)
    units = np.arange(rows) if same is None else numbered(np.asarray(same), rows, "same")
    strata = numbered(given, rows, "given")
    rule = Rule(margin, level, len(layers) * len(biases) * len(probes))
    among = "" if given is None else " among rows of the same target"
    found: list[tuple[str, str, _Read | str]] = []
    for bias, labels in biases.items():
        generator = np.random.default_rng([seed, *bias.encode()])
        column = sight(np.asarray(labels), units, (strata >= 0) & (units >= 0), most_rows, generator)
        bench = column if isinstance(column, str) else _bench(column, units, strata, rule, generator)
        for layer, features in layers.items():
            got = bench if isinstance(bench, str) else _read(layer, bias, features, bench, probes, rule)
            found.append((layer, bias, got))
    return Audit(_verdicts(found, rule, among), margin, level, given is not None, seed)


@dataclass(frozen=True)
class _Bench:
    """What all readers of one bias share: the labels, the deal, shuffled labels and weights of rows drawn anew."""

    column: Column
    dealt: Deal
    chance: NDArray[np.int16]  # (shuffles, rows)
    weights: NDArray[np.float32]  # (draws, rows)
    generator: np.random.Generator


@dataclass(frozen=True)
class _Read:
    """The readings of one layer and bias, their p-values not yet corrected."""

    readings: tuple[Reading, ...]
    planted: float | None
    notes: tuple[str, ...]


def _bench(column: Column, units: Numbers, strata: Numbers, rule: Rule, generator: np.random.Generator) -> _Bench | str:
    dealt = deal(column.codes, units[column.rows], strata[column.rows], generator)
    if not len(tasks_told(column, dealt.cells())):
        return "no two of its labels are ever found among rows that are compared"
    count = max(SHUFFLES, int(2 * rule.tests / (1 - rule.level)) - 1)
    chance = shuffled(column.codes, dealt, count, generator)
    # Exponential weights (Rubin's Bayesian bootstrap): smooth, and no draw is without a class.
    weights = generator.standard_exponential((DRAWS, dealt.unit.max() + 1), dtype=np.float32)
    return _Bench(column, dealt, chance, weights[:, dealt.unit], generator)


def _read(layer: str, bias: str, values: NDArray[Any], bench: _Bench, probes: Sequence[str], rule: Rule) -> _Read:
    column, dealt = bench.column, bench.dealt
    values = np.asarray(values)[column.rows]
    features, width = as_features(values, bench.generator), int(np.prod(values.shape[1:]))
    folded = (f"{width:,} features folded at random into {MOST_FEATURES:,}.",) if width > MOST_FEATURES else ()
    if not np.isfinite(features).all():
        raise InputError(f"The features of {layer} must be finite numbers in all rows; some are not.")
    readings = tuple(_reading(probe, layer, bias, features, bench, rule) for probe in probes)
    planted = planted_auc(features, column, dealt, CHANCE + 2 * rule.margin, bench.generator)
    return _Read(readings, planted, column.notes + folded)


def _reading(probe: str, layer: str, bias: str, features: Array, bench: _Bench, rule: Rule) -> Reading:
    column, cells = bench.column, bench.dealt.cells()
    scores = read(READERS[probe], features, column.targets, bench.dealt)
    score = joined_auc(scores, column.codes[None], column, cells).item()
    chance = joined_auc(scores, bench.chance, column, cells)
    drawn = weighted_auc(scores, bench.weights, column, cells)
    low, high = np.quantile(drawn, [1 - rule.level, rule.level])
    p = (1 + np.sum(chance >= score - 1e-12)) / (1 + len(chance))
    low, high = min(float(low), score), min(1.0, max(float(high), score))
    return Reading(probe, layer, bias, score, CHANCE, low, high, float(p), float(p), len(column.rows))


def _verdicts(found: Sequence[tuple[str, str, _Read | str]], rule: Rule, among: str) -> tuple[Verdict, ...]:
    """All verdicts, once the p-values of all readings are corrected together."""
    corrected = iter(holm([r.p for *_, got in found if not isinstance(got, str) for r in got.readings]))
    verdicts = []
    for layer, bias, got in found:
        if isinstance(got, str):
            verdicts.append(untold(layer, bias, got, among))
            continue
        readings = [replace(reading, p_corrected=next(corrected)) for reading in got.readings]
        verdicts.append(judge(readings, rule, planted=got.planted, among=among, notes=got.notes))
    return tuple(verdicts)


def _check(
    layers: Mapping[str, NDArray[Any]],
    biases: Mapping[str, NDArray[Any]],
    probes: Sequence[str],
    margin: float,
    level: float,
    most_rows: int,
) -> int:
    """How many rows there are; an input error where something given cannot be used."""
    for probe in probes:
        if probe not in READERS:
            raise unknown("probe", probe, READERS)
    if not layers or not biases or not probes:
        raise InputError("An audit needs at least one layer, one bias and one probe.")
    if not 0 < margin < 0.25 or not 0.5 < level < 1 or most_rows < 1:
        raise InputError(
            f"An audit needs a margin between 0 and .25, a level between .5 and 1 and one row at least, "
            f"not {margin}, {level} and {most_rows}."
        )
    for name, values in layers.items():
        if not np.ndim(values) or np.asarray(values).dtype.kind not in "fiub":
            raise InputError(f"The layer {name} must be an array of numbers with rows first.")
    for name, labels in biases.items():
        if np.ndim(labels) != 1:
            raise InputError(f"The bias {name} must be one column of labels, not of the shape {np.shape(labels)}.")
    lengths = [(name, len(values)) for name, values in (*layers.items(), *biases.items())]
    if len({length for _, length in lengths}) > 1:
        raise InputError(f"All must have the same rows, not {', '.join(f'{name} {rows}' for name, rows in lengths)}.")
    return lengths[0][1]


def _plain(verdict: Verdict) -> dict[str, Any]:
    return asdict(verdict) | {"readings": [asdict(one) for one in verdict.readings], "notes": list(verdict.notes)}
