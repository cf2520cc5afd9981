"""Whether features leak a bias: arrays and bias labels come in, readings of fresh probes and verdicts come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.leakage.bias_column import (
    BiasColumn,
    Folds,
    Integers,
    assign_folds,
    joined_auc,
    numbered,
    paired_auc,
    scorable_tasks,
    select_bias_rows,
    shuffled,
    weighted_auc,
)
from csad.auditing.leakage.probes import (
    MOST_FEATURES,
    PROBES,
    Features,
    as_features,
    linear_scores,
    probe_scores,
    standardized,
)
from csad.auditing.leakage.verdicts import CHANCE, LEAKS, Reading, Rule, Verdict, undecided, verdict_for
from csad.auditing.metrics.intervals import holm
from csad.errors import InputError, unknown
from csad.messages import message
from csad.serialize import Serializable

SHUFFLES = 999  # at least; more where many tests share the level, so that each could still pass
WEIGHT_DRAWS = 500
WEIGHTS = 256  # no byte of a name: sets the generator of the weights apart
Draws = NDArray[np.float64]


@dataclass(frozen=True)
class ProbeSetup:
    """What all probes of one bias share: the labels, the folds, shuffled labels and weights of rows drawn anew."""

    column: BiasColumn
    folds: Folds
    shuffled: NDArray[np.int16]  # (shuffles, rows)
    weights: NDArray[np.float32]  # (draws, rows)
    generator: np.random.Generator


@dataclass(frozen=True)
class ProbeResult:
    """The readings of one layer and bias, their p-values not yet corrected; ``draws`` by probe."""

    readings: tuple[Reading, ...]
    planted: float | None
    notes: tuple[str, ...]
    draws: Mapping[str, Draws]


def probe_setup(
    column: BiasColumn,
    units: Integers,
    strata: Integers,
    rule: Rule,
    generator: np.random.Generator,
    key: Sequence[int],
) -> ProbeSetup | str:
    """What probes of a column share, or why none can be scored; ``key`` is the seed of the rows that are drawn anew."""
    folds = assign_folds(column.codes, units[column.rows], strata[column.rows], generator)
    if not len(scorable_tasks(column, folds.cells())):
        return "no two of its labels occur among rows that are compared with each other"
    count = max(SHUFFLES, int(2 * rule.tests / (1 - rule.level)) - 1)
    codes = shuffled(column.codes, folds, count, generator)
    # Exponential weights (Rubin's Bayesian bootstrap): smooth, and no draw is without a class. By a generator of their
    # own: how many labels were shuffled before must not change them, or two models could not be compared draw by draw.
    weight_generator = np.random.default_rng([*key, WEIGHTS])
    weights = weight_generator.standard_exponential((WEIGHT_DRAWS, folds.unit.max() + 1), dtype=np.float32)
    return ProbeSetup(column, folds, codes, weights[:, folds.unit], generator)


def probe_layer(
    layer: str, bias: str, values: NDArray[Any], setup: ProbeSetup, probes: Sequence[str], rule: Rule
) -> ProbeResult:
    """What the probes read of a bias in one layer's values."""
    column, folds = setup.column, setup.folds
    values = np.asarray(values)[column.rows]
    features, width = as_features(values, setup.generator), int(np.prod(values.shape[1:]))
    note = (message("features-folded", features=width, most=MOST_FEATURES),) if width > MOST_FEATURES else ()
    if not np.isfinite(features).all():
        raise InputError("features-not-finite", layer=layer)
    pairs = [_reading(probe, layer, bias, features, setup, rule) for probe in probes]
    planted = planted_leak_auc(features, column, folds, CHANCE + 2 * rule.margin, setup.generator)
    draws = {reading.probe: drawn for reading, drawn in pairs}
    return ProbeResult(tuple(reading for reading, _ in pairs), planted, column.notes + note, draws)


def _reading(
    probe: str, layer: str, bias: str, features: Features, setup: ProbeSetup, rule: Rule
) -> tuple[Reading, Draws]:
    """What one probe reads, and its score in each draw."""
    column, cells = setup.column, setup.folds.cells()
    scores = probe_scores(PROBES[probe], features, column.targets, setup.folds)
    score = joined_auc(scores, column.codes[None], column, cells).item()
    chance = joined_auc(scores, setup.shuffled, column, cells)
    drawn = weighted_auc(scores, setup.weights, column, cells)
    low, high = np.quantile(drawn, [1 - rule.level, rule.level])
    p = (1 + np.sum(chance >= score - 1e-12)) / (1 + len(chance))
    low, high = min(float(low), score), min(1.0, max(float(high), score))
    return Reading(probe, layer, bias, score, CHANCE, low, high, float(p), float(p), len(column.rows)), drawn


# Leaks of known size, planted in random directions; a probe that would not find these proves nothing by finding none.
PLANTS = 100


def planted_leak_auc(
    features: Features, column: BiasColumn, folds: Folds, auc: float, generator: np.random.Generator
) -> float | None:
    """The AUC at which the linear probe reads a label that a direction of the features tells with ``auc``.

    It is lower with fewer rows for each feature. None if no feature varies, so that nothing can leak.
    """
    every = np.arange(len(features))
    values, _ = standardized(features, every, every[:0], folds.stratum)
    if not values.shape[1]:
        return None
    unit = folds.unit if folds.whole else every
    size, first = np.bincount(unit), np.unique(unit, return_index=True)[1]
    along = values @ generator.standard_normal((values.shape[1], PLANTS))
    mean = np.stack([np.bincount(unit, weights=direction) for direction in along.T], axis=1) / size[:, None]
    codes = planted_labels(mean, folds.stratum[first], typical_share(column), auc, generator)[unit]
    scores = probe_scores(linear_scores, features, codes.astype(np.float64), folds)
    return float(paired_auc(scores, codes == 1, folds.cells()).mean())


def planted_labels(
    along: Features, strata: Integers, share: float, auc: float, generator: np.random.Generator
) -> Integers:
    """0 or 1 for each row and column of ``along``, 1 for ``share`` of each stratum; the column tells it with ``auc``.

    1 is where r · column + √(1 − r²) · noise is above a threshold t. Then the two means of the column are
    r φ(t) / (share (1 − share)) apart, in units of its spread, and AUC = Φ(that / √2).
    """
    normal = NormalDist()
    apart = 2**0.5 * normal.inv_cdf(auc)
    r = min(1.0, apart * share * (1 - share) / normal.pdf(normal.inv_cdf(share)))
    spread = along.std(0)
    mixed = r * (along - along.mean(0)) / np.where(spread > 0, spread, 1.0)
    mixed += (1 - r**2) ** 0.5 * generator.standard_normal(along.shape)
    codes = np.zeros(along.shape, np.int64)
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        codes[members] = mixed[members] > np.quantile(mixed[members], 1 - share, axis=0)
    return codes


def typical_share(column: BiasColumn) -> float:
    """The share p of a label that is as hard to learn as the column's are on average: p (1 − p) is their mean."""
    shares = column.positives[column.codes].mean(0)
    return float((1 - np.sqrt(1 - 4 * np.mean(shares * (1 - shares)))) / 2)


MOST_PROBED = 20_000  # that probes see


@dataclass(frozen=True)
class Leakage(Serializable):
    """All verdicts, one for each layer and bias, and the rule behind them.

    ``draws`` has, by (layer, bias, probe), the score in rows drawn anew: the same rows whatever the layers, for the
    same labels and seed, so that two models can be compared draw by draw.
    """

    verdicts: tuple[Verdict, ...]
    margin: float
    level: float
    conditional: bool  # whether rows were compared within the classes of the target alone
    seed: int
    draws: Mapping[tuple[str, str, str], Draws] = field(
        default_factory=dict, repr=False, compare=False, metadata={"saved": False}
    )

    @property
    def leaks(self) -> tuple[Verdict, ...]:
        """The verdicts that are "leaks"."""
        return tuple(verdict for verdict in self.verdicts if verdict.state == LEAKS)


def audit_features(
    layers: Mapping[str, NDArray[Any]],
    biases: Mapping[str, NDArray[Any]],
    *,
    same: NDArray[Any] | None = None,
    within: NDArray[Any] | None = None,
    probes: Sequence[str] = tuple(PROBES),
    margin: float = 0.05,
    level: float = 0.95,
    most_rows: int = MOST_PROBED,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> Leakage:
    """A verdict for each layer and bias: whether fresh probes can tell the bias from the layer's features.

    The score is an AUC, for a number the mean over the cuts between its fifths; see bias_column.py for how it is taken,
    and verdict_for for the rule.

    Args:
        layers: features by name, rows first; whole numbers in one column are classes.
        biases: labels by name: classes (whole numbers, −1 unknown, or words) or real numbers (NaN unknown).
        same: rows alike in it (one person) are never both learned from and scored.
        within: classes, of the target mostly; rows are compared within a class only. If target and bias go together,
            features that tell the target tell the bias as far; this asks what they tell beyond.
        probes: the names of the probes.
        margin: the AUC above chance that must not be overlooked.
        level: how sure verdicts and intervals are.
        most_rows: how many rows the probes see at most.
        seed: the seed of all that is drawn.
        tell: called with a line of progress.
    """
    check_audit_settings(probes, margin, level, most_rows)
    rows = _check(layers, biases)
    units = np.arange(rows) if same is None else numbered(np.asarray(same), rows, "same")
    strata = numbered(within, rows, "within")
    rule = Rule(margin, level, len(layers) * len(biases) * len(probes))
    among = "" if within is None else " among rows with the same target"
    results: list[tuple[str, str, ProbeResult | str]] = []
    for bias, labels in biases.items():
        key = [seed, *bias.encode()]
        generator = np.random.default_rng(key)
        column = select_bias_rows(np.asarray(labels), units, (strata >= 0) & (units >= 0), most_rows, generator)
        setup = column if isinstance(column, str) else probe_setup(column, units, strata, rule, generator, key)
        for layer, features in layers.items():
            if tell is not None:
                tell(f"Predicting {bias} from {layer} …")
            result = setup if isinstance(setup, str) else probe_layer(layer, bias, features, setup, probes, rule)
            results.append((layer, bias, result))
    draws = {
        (layer, bias, probe): drawn
        for layer, bias, result in results
        if not isinstance(result, str)
        for probe, drawn in result.draws.items()
    }
    return Leakage(_verdicts(results, rule, among), margin, level, within is not None, seed, draws)


def _verdicts(results: Sequence[tuple[str, str, ProbeResult | str]], rule: Rule, among: str) -> tuple[Verdict, ...]:
    """All verdicts, once the p-values of all readings are corrected together."""
    corrected = iter(holm([r.p for *_, result in results if not isinstance(result, str) for r in result.readings]))
    verdicts = []
    for layer, bias, result in results:
        if isinstance(result, str):
            verdicts.append(undecided(layer, bias, result, among))
            continue
        readings = [replace(reading, p_corrected=next(corrected)) for reading in result.readings]
        verdicts.append(verdict_for(readings, rule, planted=result.planted, among=among, notes=result.notes))
    return tuple(verdicts)


def check_audit_settings(probes: Sequence[str], margin: float, level: float, most_rows: int) -> None:
    """Raise InputError if a setting of an audit cannot be used."""
    for probe in probes:
        if probe not in PROBES:
            raise unknown("probe", probe, PROBES)
    if not probes:
        raise InputError("no-probes", known=", ".join(PROBES))
    if not 0 < margin < 0.25 or not 0.5 < level < 1 or most_rows < 1:
        raise InputError("audit-settings-out-of-range", margin=margin, level=level, most_rows=most_rows)


def _check(layers: Mapping[str, NDArray[Any]], biases: Mapping[str, NDArray[Any]]) -> int:
    """How many rows there are; raise InputError if layers or biases cannot be used."""
    if not layers or not biases:
        raise InputError("no-layers-or-biases")
    for name, values in layers.items():
        if not np.ndim(values) or np.asarray(values).dtype.kind not in "fiub":
            raise InputError("layer-not-numeric", layer=name)
    for name, labels in biases.items():
        if np.ndim(labels) != 1:
            raise InputError("bias-not-one-column", bias=name, shape=np.shape(labels))
    lengths = [(name, len(values)) for name, values in (*layers.items(), *biases.items())]
    if len({length for _, length in lengths}) > 1:
        raise InputError("row-counts-differ", counts=", ".join((f"{name} {rows}" for name, rows in lengths)))
    return lengths[0][1]
