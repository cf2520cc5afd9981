"""The model card of a run as Markdown: the same findings as the page's, for a repository or a model hub."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csad.report import audit_words as said
from csad.report import explained, markdown, run_sections, run_tradeoff
from csad.report.findings import Findings
from csad.report.limits import limits
from csad.report.markdown import escaped as plain
from csad.report.run_page import all_warnings

MOST_COLUMNS = 10


def model_card(findings: Findings) -> str:
    """The card as one string of Markdown, in which no name of a column or class is markup."""
    audit = findings.main.audit
    parts = [f"# Model card: {plain(findings.title)}", f"**{plain(said.headline(audit))}**"]
    parts += [plain(words) for words in said.verdict_words(audit)]
    if audit["comparison"] is not None:
        parts.append(plain(audit["comparison"]["words"]))
    parts += ["## Model", _facts(findings.main.facts.items())]
    runs = run_tradeoff.all_runs(findings)
    parts += ["## Runs", _table(runs["head"], runs["rows"])]
    if (tried := run_tradeoff.tried(findings.main)) is not None:
        parts += [plain(tried["why"]), _table(tried["head"], tried["rows"])]
    if figures := run_sections.differences(audit):
        parts += ["## Figures", _table(figures["head"], figures["rows"])]
    for bias in said.biases(audit):
        cells = run_sections.cell_table(audit, bias)
        if cells["rows"]:
            parts += [f"## Accuracy by target and {plain(bias)}", _table(cells["head"], cells["rows"])]
    probes = run_sections.probes(findings)
    if rows := [[probe["bias"], *row] for probe in probes for row in probe["rows"]]:
        parts += ["## What can be read of the bias", _table(["bias", *probes[0]["head"]], rows)]
    if (columns := explained.columns(findings)) is not None:
        parts += ["## Which columns it goes by", plain(columns["words"])]
        parts.append(_table(columns["head"], columns["rows"][:MOST_COLUMNS]))
    for part in explained.attention(findings):
        parts.append(f"Where it looks ({plain(part['name'])}): {plain(part['words'])}")
    parts += ["## Data", _facts(findings.data.items())]
    parts += ["## Settings", *(_facts(_flat(findings)),)]
    warned = all_warnings(findings)
    told = [f"- {plain(name)}: {plain(warning)}" for name, warning in warned] or ["None."]
    parts += ["## Warnings of the training", "\n".join(told)]
    parts += ["## Limits", "\n".join(f"- {plain(limit)}" for limit in limits(findings))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _flat(findings: Findings) -> Iterable[tuple[str, str]]:
    sections = findings.main.settings.items()
    return [(f"{section}.{name}", value) for section, pairs in sections for name, value in pairs.items()]


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {plain(name)}: {plain(value)}" for name, value in pairs)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown.table(list(map(plain, head)), ([plain(text) for text in row] for row in rows))
