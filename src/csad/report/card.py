"""The model card of a run as Markdown: the same findings as the page's, for a repository or a model hub."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csad.auditing.tables import AuditTable, audit_tables, cell_list
from csad.report import sections
from csad.report.findings import Findings
from csad.report.formatting import escaped as plain
from csad.report.formatting import markdown_table
from csad.report.page import all_warnings, limits
from csad.report.wording import headline, verdict_words

MOST_COLUMNS = 10
HEADINGS = {
    "leakage": "How well probes predict the bias",
    "readings": "How well probes predict the bias, compared with {against}",
    "figures": "Metrics",
    "figure differences": "Metrics, compared with {against}",
    "alignment": "Accuracy on aligned and conflicting rows",
    "cells": "Accuracy by target and {bias}",
    "groups": "Metrics by group",
}


def model_card(findings: Findings) -> str:
    """The card as one string of Markdown, in which no name of a column or class is markup."""
    audit = findings.main.audit
    parts = [f"# Model card: {plain(findings.title)}", f"**{plain(headline(audit))}**"]
    parts += [plain(words) for words in verdict_words(audit)]
    if audit.comparison is not None:
        parts.append(plain(audit.comparison.words))
    parts += ["## Model", _facts(findings.main.facts.items())]
    runs = sections.all_runs(findings)
    parts += ["## Runs", _table(runs["head"], runs["rows"])]
    if (tried := sections.tried_weights(findings.main)) is not None:
        parts += [plain(tried["why"]), _table(tried["head"], tried["rows"])]
    against = "" if audit.comparison is None else audit.comparison.against
    for table in audit_tables(audit, sections.label_of(audit)):
        shown: AuditTable = cell_list(audit, table.bias) if table.kind == "cells" else table
        parts.append(f"## {plain(HEADINGS[table.kind].format(against=against, bias=table.bias))}")
        parts.append(_table(shown.head, shown.rows))
    if (columns := sections.columns(findings)) is not None:
        parts += ["## Which columns the model uses", plain(columns["words"])]
        parts.append(_table(columns["head"], columns["rows"][:MOST_COLUMNS]))
    for part in sections.attention_section(findings):
        parts.append(f"Attention map ({plain(part['name'])}): {plain(part['words'])}")
    parts += ["## Data", _facts(findings.data.items())]
    parts += ["## Settings", _facts(_flat_settings(findings))]
    warnings = [f"- {plain(name)}: {plain(warning)}" for name, warning in all_warnings(findings)] or ["None."]
    parts += ["## Training warnings", "\n".join(warnings)]
    parts += ["## Limits", "\n".join(f"- {plain(limit)}" for limit in limits(findings))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _flat_settings(findings: Findings) -> Iterable[tuple[str, str]]:
    sections = findings.main.settings.items()
    return [(f"{section}.{name}", value) for section, pairs in sections for name, value in pairs.items()]


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {plain(name)}: {plain(value)}" for name, value in pairs)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table(list(map(plain, head)), ([plain(text) for text in row] for row in rows))
