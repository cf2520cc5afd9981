"""The tables of an audit hold its values, whoever renders them."""

from __future__ import annotations

from dataclasses import replace

from csad.auditing.audit import read_audit
from csad.auditing.tables import AuditTable, audit_tables
from tests.auditing.test_audit_record import OLD

AUDIT = read_audit(OLD).audit


def table(tables: tuple[AuditTable, ...], kind: str) -> AuditTable:
    return next(table for table in tables if table.kind == kind)


def test_an_audit_against_another_model_has_tables_of_differences() -> None:
    tables = audit_tables(AUDIT)
    assert [table.kind for table in tables] == [
        "leakage", "readings", "figure differences", "alignment", "cells", "groups",
    ]  # fmt: skip
    assert AUDIT.comparison is not None
    difference = AUDIT.comparison.figures["accuracy"]
    name = AUDIT.comparison.against
    figures = table(tables, "figure differences")
    assert (figures.title, figures.head) == (
        f"Metrics, compared with {name}",
        ("metric", "this model", name, "difference"),
    )
    assert figures.rows[0] == ("accuracy", f"{difference.value:.3f}", f"{difference.other:.3f}", str(difference))


def test_an_audit_alone_has_a_table_of_its_metrics() -> None:
    tables = audit_tables(replace(AUDIT, comparison=None), label=str.upper)
    assert [table.kind for table in tables] == ["leakage", "figures", "alignment", "cells", "groups"]
    figure = AUDIT.figures["accuracy"]
    text = f"{figure.value:.3f} ({figure.low:.3f} … {figure.high:.3f})"
    assert table(tables, "figures").rows[0] == ("ACCURACY", text) == ("ACCURACY", str(figure))
    assert table(tables, "groups").head[3:] == ("ACCURACY", "ECE")


def test_a_row_of_leakage_names_its_source_its_verdict_and_what_each_probe_reads() -> None:
    leakage = table(audit_tables(AUDIT), "leakage")
    verdict = AUDIT.leakage.verdicts[0]
    assert leakage.head == ("from", "bias", "verdict", *(r.probe for r in verdict.readings), "corrected p")
    first = leakage.rows[0]
    assert first[:3] == ("x", "gender", "cannot tell: 9,000 rows needed")
    reading = verdict.readings[0]
    assert first[3] == f"{reading.score:.3f} ({reading.low:.3f} … {reading.high:.3f})"
    assert first[-1] == f"{min(r.p_corrected for r in verdict.readings):.3f}"


def test_cells_stand_by_target_and_group_and_one_without_rows_is_a_dash() -> None:
    cells = AUDIT.cells[1:]
    (cell_table,) = [table for table in audit_tables(replace(AUDIT, cells=cells)) if table.kind == "cells"]
    assert cell_table.bias == "gender"
    texts = {text for row in cell_table.rows for text in row[1:]}
    assert texts == {"–", *(f"{cell.accuracy.value:.3f} ({cell.rows:,})" for cell in cells)}
    assert [row[0] for row in cell_table.rows] == list(AUDIT.targets)


def test_a_table_without_rows_is_left_out() -> None:
    bare = replace(AUDIT, comparison=None, figures={}, groups=(), cells=(), alignment=())
    assert [table.kind for table in audit_tables(bare)] == ["leakage"]
