"""Two models beside one another on the same rows: what each leaks and gets right, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from csad.auditing.alignment import SIDES, accuracies, sides
from csad.auditing.audited import Facts, Model, Settings, Table
from csad.auditing.intervals import bootstrap_difference
from csad.auditing.leakage import Leakage
from csad.auditing.measured import grouped, split_figures, stacked
from csad.auditing.verdicts import short


@dataclass(frozen=True)
class Difference:
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
class ReadingDifference:
    """How much better a probe reads a bias from a layer of this model than from that of the other."""

    layer: str
    bias: str
    probe: str
    auc: Difference


@dataclass(frozen=True)
class Comparison:
    """This model against another, audited in the same way; ``leakage`` is the other's own."""

    against: str
    words: str
    leakage: Leakage
    readings: tuple[ReadingDifference, ...]
    figures: dict[str, Difference]

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and words, for JSON."""
        return {
            "against": self.against,
            "words": self.words,
            "leakage": self.leakage.as_dict(),
            "readings": [asdict(reading) for reading in self.readings],
            "figures": {name: asdict(figure) for name, figure in self.figures.items()},
        }


def compare_readings(ours: Leakage, theirs: Leakage) -> tuple[ReadingDifference, ...]:
    """The differences of all readings that both have; draw k of one is of the same rows as draw k of the other."""
    scores = [{(r.layer, r.bias, r.probe): r.score for v in one.verdicts for r in v.readings} for one in (ours, theirs)]
    found = []
    for key in scores[0].keys() & scores[1].keys():
        apart = scores[0][key] - scores[1][key]
        drawn = ours.draws[key] - theirs.draws[key]
        low, high = np.quantile(drawn, [(1 - ours.level) / 2, (1 + ours.level) / 2])
        told = Difference(scores[0][key], scores[1][key], apart, min(float(low), apart), max(float(high), apart))
        found.append(ReadingDifference(*key, told))
    order = list(scores[0])
    return tuple(sorted(found, key=lambda one: order.index((one.layer, one.bias, one.probe))))


def in_words(against: str, deployed: str, readings: Sequence[ReadingDifference]) -> str:
    """For each bias, how the probe that tells it best from what the other deploys does here."""
    found = []
    for bias in dict.fromkeys(r.bias for r in readings if r.layer == deployed):
        best = max((r for r in readings if (r.layer, r.bias) == (deployed, bias)), key=lambda r: r.auc.other)
        auc = best.auc
        found.append(
            f"The reader that tells {bias} best from {deployed} of {against} has AUC {short(auc.other)} there and "
            f"{short(auc.value)} here: {auc}."
        )
    return " ".join(found)


def compare_figures(ours: Model, theirs: Model, facts: Facts, settings: Settings) -> dict[str, Difference]:
    """The differences of all figures that both have; none where one of the two gives no predictions."""
    if ours.outputs is None or theirs.outputs is None:
        return {}
    groups = grouped(facts)
    plain, leaning = split_figures(facts.target, groups), sides(facts)
    rest = (
        facts.target.values,
        stacked(facts.target, groups),
        np.column_stack([facts.target.values, *leaning.values()]),
    )

    def figure(packed: Table, y: Table, codes: Table, side: Table) -> dict[str, float]:
        found = plain(packed, y, codes)
        for k, bias in enumerate(leaning, start=1):
            told = accuracies(packed[:, 0] == y, side[:, k])
            found |= {f"{name}_{bias}": told[name] for name in SIDES[:2] if name in told}
        return found

    first, second = ours.outputs.packed(), theirs.outputs.packed()
    one, other = figure(first, *rest), figure(second, *rest)
    drawn = bootstrap_difference(
        figure, first, second, *rest,
        repeats=settings.repeats, level=settings.level, seed=settings.seed, same=facts.same,
    )  # fmt: skip
    ends = {name: drawn.get(name, (None, None)) for name in one if name in other}
    return {
        name: Difference(one[name], other[name], one[name] - other[name], low, high)
        for name, (low, high) in ends.items()
    }
