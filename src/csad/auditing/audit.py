"""The whole audit of a model: verdicts on what it leaks, and what it gets right for whom; arrays in, an Audit out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from csad.auditing.alignment import Alignment, by_alignment
from csad.auditing.audited import Facts, Model, Settings
from csad.auditing.comparison import Comparison, compare_figures, compare_readings, in_words
from csad.auditing.leakage import Leakage, audit_features
from csad.auditing.measured import Cell, Figure, Group, by_cell, by_group, measure
from csad.auditing.small_cells import small_cells
from csad.auditing.verdicts import State, Verdict
from csad.errors import InputError

SEVERITY: Sequence[State] = ("leaks", "cannot tell", "no evidence of leakage")


@dataclass(frozen=True)
class Audit:
    """What an audit found; ``state`` and ``words`` are the verdict on what is ``deployed``, over all bias columns."""

    state: State
    words: str
    needed_rows: int | None  # with which it could be told, where it cannot
    deployed: str  # the source that leaves the model: its prediction, or the last layer where it gives none
    rows: int
    probed: int  # rows that were read for leakage; figures are of all
    among: str
    targets: tuple[str, ...]  # the names of the classes; none for a number
    leakage: Leakage
    figures: dict[str, Figure]
    groups: tuple[Group, ...]
    cells: tuple[Cell, ...]
    alignment: tuple[Alignment, ...]
    notes: tuple[str, ...]
    comparison: Comparison | None = None

    def __str__(self) -> str:
        return self.words

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and words, for JSON."""
        plain = ("state", "words", "needed_rows", "deployed", "rows", "probed", "among")
        return {
            **{name: getattr(self, name) for name in plain},
            "targets": list(self.targets),
            "leakage": self.leakage.as_dict(),
            "figures": {name: asdict(figure) for name, figure in self.figures.items()},
            "groups": [asdict(group) for group in self.groups],
            "cells": [asdict(cell) for cell in self.cells],
            "alignment": [asdict(one) for one in self.alignment],
            "notes": list(self.notes),
            "comparison": None if self.comparison is None else self.comparison.as_dict(),
        }


def audit_arrays(
    model: Model,
    facts: Facts,
    settings: Settings,
    *,
    against: tuple[str, Model] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """The audit of a model's outputs and layers on rows whose facts are known; ``against`` another, named, if given."""
    tell = tell or (lambda _: None)
    sources = model.sources()
    if not sources:
        raise InputError("The model gives neither predictions nor features: there is nothing to audit.")
    among = "all" if facts.target.number else settings.among
    leakage = _leakage(sources, model, facts, settings, among, tell)
    deployed = list(sources)[-1]
    verdict = overall([v for v in leakage.verdicts if v.layer == deployed])
    tell("Drawing rows anew for intervals …")
    outputs = model.outputs
    comparison = None
    if against is not None:
        name, other = against
        theirs = {layer: values for layer, values in other.sources().items() if layer != "x"}
        tell(f"The same for {name} …")
        found = _leakage(theirs, other, facts, settings, among, tell)
        readings = compare_readings(leakage, found)
        words = in_words(name, deployed, readings)
        comparison = Comparison(name, words, found, readings, compare_figures(model, other, facts, settings))
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


def overall(verdicts: Sequence[Verdict]) -> tuple[State, str, int | None]:
    """(state, words, rows needed) of all bias columns together: the gravest of their verdicts."""
    state = next(state for state in SEVERITY if any(v.state == state for v in verdicts))
    grave = [v for v in verdicts if v.state == state]
    needed = [v.needed_rows for v in grave]
    rows = max(n for n in needed if n is not None) if state == "cannot tell" and all(needed) else None
    return state, " ".join([f"{state.upper()}.", *(v.words for v in grave), *_others(verdicts, state)]), rows


def _others(verdicts: Sequence[Verdict], state: State) -> list[str]:
    """A short sentence on the bias columns whose verdict is another: a reader should not take them for forgotten."""
    states = [other for other in SEVERITY if other != state]
    named = {other: [v.bias for v in verdicts if v.state == other] for other in states}
    return [f"{', '.join(names)}: {other}." for other, names in named.items() if names]


def _leakage(
    sources: dict[str, Any], model: Model, facts: Facts, settings: Settings, among: str, tell: Callable[[str], None]
) -> Leakage:
    return audit_features(
        sources,
        {bias.name: bias.values[model.probed] for bias in facts.biases},
        same=None if facts.same is None else facts.same[model.probed],
        given=facts.target.values[model.probed] if among == "target" else None,
        probes=settings.probes,
        margin=settings.margin,
        level=settings.level,
        most_rows=settings.most_rows,
        seed=settings.seed,
        tell=tell,
    )


def _notes(model: Model, facts: Facts, settings: Settings, among: str) -> tuple[str, ...]:
    notes = list(model.notes)
    if len(model.probed) < len(facts):
        read = (
            f"Read on {len(model.probed):,} of {len(facts):,} rows, drawn at random from those of which a bias is known"
        )
        notes.append(f"{read}; figures are of all rows.")
    if among != settings.among:
        notes.append("The target is a number, so that all rows are compared, not those of the same target.")
    return tuple(notes)
