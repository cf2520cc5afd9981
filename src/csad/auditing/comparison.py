"""Two models beside one another on the same rows: what each leaks and gets right, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from csad.auditing.inputs import AuditedModel, AuditRows, AuditSettings
from csad.auditing.leakage.leakage import Leakage
from csad.auditing.leakage.verdicts import probe_name, short
from csad.auditing.measure import binned_biases, group_codes, metric_function, sides
from csad.auditing.metrics.intervals import bootstrap_difference
from csad.auditing.metrics.metric import METRICS
from csad.serialize import Serializable


@dataclass(frozen=True)
class Difference(Serializable):
    """A figure of this model, of the other, and this less the other, with an interval over the same draws for both."""

    value: float
    other: float
    difference: float
    low: float | None  # None where no draw has the figure
    high: float | None

    def __str__(self) -> str:
        """``−0.002 (−0.007 … +0.003)``: how far apart the two are."""
        ends = "" if self.low is None else f" ({self.low:+.3f} … {self.high:+.3f})"
        return f"{self.difference:+.3f}{ends}".replace("-", "−")


@dataclass(frozen=True)
class ReadingDifference(Serializable):
    """How much better a probe reads a bias from a layer of this model than from that of the other."""

    layer: str
    bias: str
    probe: str = field(metadata={"rename": probe_name})
    auc: Difference


@dataclass(frozen=True)
class Comparison(Serializable):
    """This model against another, audited in the same way; ``leakage`` is the other's own."""

    against: str
    words: str
    leakage: Leakage
    readings: tuple[ReadingDifference, ...]
    figures: dict[str, Difference] = field(metadata={"rename": METRICS.canonical})


def compare_readings(ours: Leakage, theirs: Leakage) -> tuple[ReadingDifference, ...]:
    """The differences of all readings that both have; draw k of one is of the same rows as draw k of the other."""
    first, second = (
        {(r.layer, r.bias, r.probe): r.score for verdict in leakage.verdicts for r in verdict.readings}
        for leakage in (ours, theirs)
    )
    readings = []
    for key, score in first.items():
        if key in second:
            difference = score - second[key]
            drawn = ours.draws[key] - theirs.draws[key]
            low, high = np.quantile(drawn, [(1 - ours.level) / 2, (1 + ours.level) / 2])
            ends = min(float(low), difference), max(float(high), difference)
            readings.append(ReadingDifference(*key, Difference(score, second[key], difference, *ends)))
    return tuple(readings)


def in_words(against: str, deployed: str, readings: Sequence[ReadingDifference]) -> str:
    """For each bias, how the probe that tells it best from what the other deploys does here."""
    sentences = []
    for bias in dict.fromkeys(r.bias for r in readings if r.layer == deployed):
        best = max((r for r in readings if (r.layer, r.bias) == (deployed, bias)), key=lambda r: r.auc.other)
        auc = best.auc
        sentences.append(
            f"The probe that predicts {bias} best from {deployed} of {against} has AUC {short(auc.other)} there "
            f"and AUC {short(auc.value)} in this model, a difference of {auc}."
        )
    return " ".join(sentences)


def compare_figures(
    ours: AuditedModel, theirs: AuditedModel, facts: AuditRows, settings: AuditSettings
) -> dict[str, Difference]:
    """The differences of all figures that both have; none where one of the two gives no predictions."""
    if ours.outputs is None or theirs.outputs is None:
        return {}
    groups, columns = binned_biases(facts), sides(facts)
    figure = metric_function(facts.target, groups, tuple(columns))
    arrays = [facts.target.values, group_codes(facts.target, groups)]
    if columns:
        arrays.append(np.column_stack([*columns.values()]))
    first, second = ours.outputs.packed(), theirs.outputs.packed()
    ours_by_name, theirs_by_name = figure(first, *arrays), figure(second, *arrays)
    drawn = bootstrap_difference(
        figure, first, second, *arrays,
        repeats=settings.repeats, level=settings.level, seed=settings.seed, same=facts.same,
    )  # fmt: skip
    return {
        name: Difference(value, theirs_by_name[name], value - theirs_by_name[name], *drawn.get(name, (None, None)))
        for name, value in ours_by_name.items()
        if name in theirs_by_name
    }
