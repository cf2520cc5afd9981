"""The audit of a model: what it leaks of each bias and whom it predicts well, as a type that JSON can hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from csad.auditing.comparison import Comparison, compare_figures, compare_readings, in_words
from csad.auditing.inputs import AuditedModel, AuditRows, AuditSettings
from csad.auditing.leakage.leakage import Leakage, audit_features
from csad.auditing.leakage.verdicts import CANNOT_TELL, STATES, Reading, Verdict, VerdictState
from csad.auditing.measure import (
    Alignment,
    CellAccuracy,
    Figure,
    GroupFigures,
    binned_biases,
    by_alignment,
    by_cell,
    by_group,
    measure,
)
from csad.auditing.metrics.groups import cell_numbers, splitting
from csad.auditing.metrics.metric import METRICS
from csad.errors import InputError, unreadable
from csad.messages import message
from csad.serialize import Serializable

FEW_ROWS = 5  # of a cell of all biases at once: its accuracy tells hardly more than a coin


@dataclass(frozen=True)
class Audit(Serializable):
    """All results of an audit; as text it is the verdict.

    Args:
        state: the verdict on what is deployed, over all bias columns: "leaks", "cannot tell" or "no evidence of
            leakage".
        words: the verdict in sentences.
        needed_rows: with so many rows a verdict could be reached, if it is "cannot tell".
        deployed: the source that leaves the model: its prediction, or the last layer of a model without predictions.
        rows: how many rows were audited.
        probed: how many of them the probes saw; metrics are of all rows.
        among: "target" if rows were compared with those of the same target, else "all".
        targets: the names of the target's classes; empty for a number.
        leakage: the verdicts on each layer and bias, with the readings of all probes.
        figures: all metrics by name.
        groups: metrics of each class of each bias.
        cells: accuracy in each cell of the target and one bias.
        alignment: accuracy on the rows that go with a bias as in training, and on those against it.
        notes: what else a reader must know.
        comparison: differences from another model, if there is one.
    """

    state: VerdictState
    words: str
    needed_rows: int | None
    deployed: str
    rows: int
    probed: int
    among: str
    targets: tuple[str, ...]
    leakage: Leakage
    figures: dict[str, Figure] = field(metadata={"rename": METRICS.canonical})
    groups: tuple[GroupFigures, ...]
    cells: tuple[CellAccuracy, ...]
    alignment: tuple[Alignment, ...]
    notes: tuple[str, ...]
    comparison: Comparison | None = None

    def __str__(self) -> str:
        return self.words

    @property
    def biases(self) -> tuple[str, ...]:
        """The names of the bias columns, in their order."""
        return tuple(dict.fromkeys(verdict.bias for verdict in self.leakage.verdicts))

    @property
    def layers(self) -> tuple[str, ...]:
        """The sources that probes read, in the order of the data path."""
        return tuple(dict.fromkeys(verdict.layer for verdict in self.leakage.verdicts))

    @property
    def deployed_verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts on what leaves the model, one for each bias."""
        return tuple(verdict for verdict in self.leakage.verdicts if verdict.layer == self.deployed)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes on the audit and on each bias column, each once."""
        columns = (f"{verdict.bias}: {note}" for verdict in self.leakage.verdicts for note in verdict.notes)
        return tuple(dict.fromkeys([*self.notes, *columns]))

    def best_reading(self, bias: str, layer: str = "") -> Reading | None:
        """The reading of the probe that does best on a layer, by default on what is deployed; None if nothing was read.

        Args:
            bias: the name of the bias column.
            layer: the name of the layer; empty for what is deployed.
        """
        place = (layer or self.deployed, bias)
        readings = [
            r for verdict in self.leakage.verdicts if (verdict.layer, verdict.bias) == place for r in verdict.readings
        ]
        return max(readings, key=lambda reading: reading.score, default=None)


@dataclass(frozen=True)
class AuditRecord(Serializable):
    """An audit and what it was made of, as audit.json in a run's folder holds it."""

    task: str
    method: str
    seed: int
    run: str
    split: str
    weights: str  # a digest; other weights or another threshold have another one
    split_rows: str  # a digest of the rows
    against: str | None  # the folder of the run that it compares with
    against_weights: str | None
    audit: Audit

    def to_dict(self) -> dict[str, Any]:
        """Plain values; those of the audit stand in the same object as those of the record."""
        values = super().to_dict()
        audit: dict[str, Any] = values.pop("audit")
        return values | audit

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Read what ``to_dict`` gave.

        Args:
            values: the plain values, as JSON holds them.
            where: the path of the values in a larger file, for the message of an error.
        """
        audit = Audit.from_dict(values, where)
        return super().from_dict({**values, "audit": audit}, where)


def read_audit(path: Path) -> AuditRecord:
    """Read an audit.json; raise InputError if it is missing, damaged or edited so that it is no audit any more."""
    try:
        return AuditRecord.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:  # an InputError is a ValueError, as are errors of JSON and of bytes
        raise InputError("audit-file-invalid", file=path, reason=error) from error


def small_cells(facts: AuditRows) -> tuple[str, ...]:
    """A note if there are several bias columns, and cells of all of them at once have hardly a row."""
    columns = splitting([bias.values for bias in binned_biases(facts)])
    if facts.target.number or len(columns) < 2:
        return ()
    known = np.all([column >= 0 for column in columns], axis=0)
    if not known.any():
        return ()
    rows = np.bincount(cell_numbers([facts.target.values[known], *(column[known] for column in columns)]))
    if rows.min() >= FEW_ROWS:
        return ()
    few = int((rows < FEW_ROWS).sum())
    return (message("cells-too-small", cells=len(rows), few=few, least=FEW_ROWS),)


def audit_arrays(
    model: AuditedModel,
    facts: AuditRows,
    settings: AuditSettings,
    *,
    against: tuple[str, AuditedModel] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """The audit of a model's outputs and layers on rows.

    Args:
        model: what the model gives for the rows.
        facts: what is known of the rows.
        settings: how the audit is made.
        against: the name of another model and what it gives for the same rows.
        tell: called with a line of progress.
    """
    tell = tell or (lambda _: None)
    sources = model.sources()
    if not sources:
        raise InputError("model-without-outputs")
    among = "all" if facts.target.number else settings.among
    leakage = _leakage(sources, model, facts, settings, among, tell)
    deployed = list(sources)[-1]
    verdict = overall([v for v in leakage.verdicts if v.layer == deployed])
    tell("Computing bootstrap intervals …")
    outputs = model.outputs
    comparison = None
    if against is not None:
        name, other = against
        theirs = {layer: values for layer, values in other.sources().items() if layer != "x"}
        tell(f"Auditing {name} …")
        other_leakage = _leakage(theirs, other, facts, settings, among, tell)
        readings = compare_readings(leakage, other_leakage)
        words = in_words(name, deployed, readings)
        comparison = Comparison(name, words, other_leakage, readings, compare_figures(model, other, facts, settings))
    return Audit(
        *verdict,
        deployed,
        len(facts),
        len(model.probed),
        among,
        facts.target.names,
        leakage,
        {} if outputs is None else measure(outputs, facts, settings),
        () if outputs is None else by_group(outputs, facts, settings),
        () if outputs is None else by_cell(outputs, facts, settings),
        () if outputs is None else by_alignment(outputs, facts, settings),
        (*_notes(model, facts, settings, among), *(() if outputs is None else small_cells(facts))),
        comparison,
    )


def overall(verdicts: Sequence[Verdict]) -> tuple[VerdictState, str, int | None]:
    """(state, words, rows needed) of all bias columns together: the gravest of their verdicts."""
    state = next(state for state in STATES if any(v.state == state for v in verdicts))
    grave = [v for v in verdicts if v.state == state]
    needed = [v.needed_rows for v in grave]
    rows = max(n for n in needed if n is not None) if state == CANNOT_TELL and all(needed) else None
    return state, " ".join([f"{state.upper()}.", *(v.words for v in grave), *_others(verdicts, state)]), rows


def _others(verdicts: Sequence[Verdict], state: VerdictState) -> list[str]:
    """A short sentence on the bias columns with another verdict, so that they do not look forgotten."""
    states = [other for other in STATES if other != state]
    named = {other: [v.bias for v in verdicts if v.state == other] for other in states}
    return [f"{', '.join(names)}: {other}." for other, names in named.items() if names]


def _leakage(
    sources: dict[str, Any],
    model: AuditedModel,
    facts: AuditRows,
    settings: AuditSettings,
    among: str,
    tell: Callable[[str], None],
) -> Leakage:
    return audit_features(
        sources,
        {bias.name: bias.values[model.probed] for bias in facts.biases},
        same=None if facts.same is None else facts.same[model.probed],
        within=facts.target.values[model.probed] if among == "target" else None,
        probes=settings.probes,
        margin=settings.margin,
        level=settings.level,
        most_rows=settings.most_rows,
        seed=settings.seed,
        tell=tell,
    )


def _notes(model: AuditedModel, facts: AuditRows, settings: AuditSettings, among: str) -> tuple[str, ...]:
    notes = list(model.notes)
    if len(model.probed) < len(facts):
        notes.append(message("probed-rows-sampled", probed=len(model.probed), rows=len(facts)))
    if among != settings.among:
        notes.append(message("number-target-compares-all"))
    return tuple(notes)
