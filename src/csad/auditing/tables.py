"""The tables of an audit, the same for terminal, page and model card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from csad.auditing.audit import Audit
from csad.auditing.comparison import Comparison, Difference
from csad.auditing.leakage.verdicts import Verdict
from csad.auditing.measure import CellAccuracy, interval_text

NO_VALUE = "–"  # no value
Kind = Literal["leakage", "readings", "figures", "figure differences", "alignment", "cells", "groups"]
TextRow = tuple[str, ...]
NameLabel = Callable[[str], str]


@dataclass(frozen=True)
class AuditTable:
    """A table of text; ``kind`` says what it is of, so that a page can choose and place it.

    The kinds are "leakage" (a row for each layer and bias), "readings" (each probe against the other model), "figures"
    (all metrics), "figure differences" (the same against the other model), "alignment", "cells" (one table for each
    ``bias``) and "groups".
    """

    kind: Kind
    title: str
    head: TextRow
    rows: tuple[TextRow, ...]
    notes: tuple[str, ...] = ()
    bias: str = ""


def audit_tables(audit: Audit, label: NameLabel = str) -> tuple[AuditTable, ...]:
    """All tables of an audit in the order of reading; a table without rows is left out.

    Args:
        audit: the audit.
        label: how a metric's name is shown; by default as users type it.
    """
    tables = [leakage_table(audit)]
    if audit.comparison is None:
        tables.append(figure_table(audit, label))
    else:
        tables += [reading_difference_table(audit.comparison), figure_difference_table(audit.comparison, label)]
    tables += [alignment_table(audit), *cell_tables(audit), group_table(audit, label)]
    return tuple(table for table in tables if table.rows)


def leakage_table(audit: Audit, bias: str = "") -> AuditTable:
    """The AUC of each probe on each layer and bias, or on one bias, with the verdict on it."""
    verdicts = [verdict for verdict in audit.leakage.verdicts if bias in ("", verdict.bias)]
    probes = tuple(dict.fromkeys(reading.probe for verdict in verdicts for reading in verdict.readings))
    condition = " among rows with the same target" if audit.leakage.conditional else ""
    notes = tuple(dict.fromkeys(f"{verdict.bias}: {note}" for verdict in verdicts for note in verdict.notes))
    return AuditTable(
        "leakage",
        f"AUC of fresh probes{condition}; chance is .50",
        ("from", "bias", "verdict", *probes, "corrected p"),
        tuple(_verdict_row(verdict, probes) for verdict in verdicts),
        notes,
    )


def figure_table(audit: Audit, label: NameLabel = str) -> AuditTable:
    """All metrics of the model with their intervals."""
    rows = tuple((label(name), str(figure)) for name, figure in audit.figures.items())
    return AuditTable("figures", "Metrics", ("metric", "value"), rows)


def reading_difference_table(comparison: Comparison) -> AuditTable:
    """The AUC of each probe on this model and on the other."""
    rows = tuple((f"{r.bias} from {r.layer}, {r.probe}", *_difference_row(r.auc)) for r in comparison.readings)
    name = comparison.against
    return AuditTable(
        "readings", f"AUC of fresh probes, compared with {name}", ("probe", "this model", name, "difference"), rows
    )


def figure_difference_table(comparison: Comparison, label: NameLabel = str) -> AuditTable:
    """All metrics of this model and of the other."""
    rows = tuple((label(name), *_difference_row(figure)) for name, figure in comparison.figures.items())
    name = comparison.against
    return AuditTable(
        "figure differences", f"Metrics, compared with {name}", ("metric", "this model", name, "difference"), rows
    )


def alignment_table(audit: Audit) -> AuditTable:
    """Accuracy on rows that go with the bias, and on those that go against it."""
    rows = tuple(
        (
            part.bias,
            f"{part.aligned}, {part.aligned_rows:,} rows",
            f"{part.conflicting}, {part.conflicting_rows:,} rows",
            str(part.difference),
        )
        for part in audit.alignment
    )
    title = "Accuracy on rows whose bias is aligned with the target as in training, and on rows where it conflicts"
    return AuditTable("alignment", title, ("bias", "aligned", "conflicting", "difference"), rows)


def cell_tables(audit: Audit) -> Iterator[AuditTable]:
    """For each bias, accuracy by target and class of the bias."""
    for bias in dict.fromkeys(cell.bias for cell in audit.cells):
        cells = {(cell.target, cell.group): cell for cell in audit.cells if cell.bias == bias}
        groups = tuple(dict.fromkeys(group for _, group in cells))
        rows = tuple(
            (target, *(_cell_text(cells.get((target, group))) for group in groups)) for target in audit.targets
        )
        yield AuditTable(
            "cells", f"Accuracy (number of rows) by target and {bias}", ("target", *groups), rows, bias=bias
        )


def cell_list(audit: Audit, bias: str) -> AuditTable:
    """The cells of one bias, a row for each, with the intervals that the table of all cells has no room for."""
    rows = tuple(
        (cell.group, cell.target, f"{cell.rows:,}", str(cell.accuracy)) for cell in audit.cells if cell.bias == bias
    )
    return AuditTable("cells", f"Accuracy by target and {bias}", (bias, "target", "rows", "accuracy"), rows, bias=bias)


def group_table(audit: Audit, label: NameLabel = str) -> AuditTable:
    """The metrics of each class of each bias."""
    names = tuple(dict.fromkeys(name for group in audit.groups for name in group.figures))
    rows = tuple(
        (
            group.bias,
            group.group,
            f"{group.rows:,}",
            *(str(group.figures[name]) if name in group.figures else NO_VALUE for name in names),
        )
        for group in audit.groups
    )
    return AuditTable("groups", "Metrics by group", ("bias", "group", "rows", *map(label, names)), rows)


def _verdict_row(verdict: Verdict, probes: Sequence[str]) -> TextRow:
    by_probe = {r.probe: interval_text(r.score, r.low, r.high) for r in verdict.readings}
    least = min((reading.p_corrected for reading in verdict.readings), default=None)
    state = verdict.state if verdict.needed_rows is None else f"{verdict.state}: {verdict.needed_rows:,} rows needed"
    scores = (by_probe.get(probe, NO_VALUE) for probe in probes)
    return (verdict.layer, verdict.bias, state, *scores, NO_VALUE if least is None else f"{least:.3f}")


def _difference_row(difference: Difference) -> TextRow:
    return (f"{difference.value:.3f}", f"{difference.other:.3f}", str(difference))


def _cell_text(cell: CellAccuracy | None) -> str:
    return NO_VALUE if cell is None else f"{cell.accuracy.value:.3f} ({cell.rows:,})"
