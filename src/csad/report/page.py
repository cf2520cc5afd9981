"""The page of runs: one HTML file with everything in it, for offline reading, phone and paper; the verdict first."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from csad.auditing.leakage.verdicts import CANNOT_TELL, LEAKS, NO_EVIDENCE
from csad.auditing.measure import SMALL_CELL
from csad.printable import printable
from csad.report import sections
from csad.report.findings import Findings, RunSummary
from csad.report.plots import charts
from csad.report.wording import audited_rows, collapse, headline, verdict_words

STYLES = ("plots.css", "page.css")
MOST_NAMED = 4  # small cells
CLASSES = {LEAKS: "leaks", CANNOT_TELL: "unclear", NO_EVIDENCE: "clear"}


def run_page(findings: Findings) -> str:
    """The whole page as one string that needs no script and no network; a part without numbers is left out."""
    audit = findings.main.audit
    return rendered(
        "page.html",
        STYLES,
        title=findings.title,
        state=audit.state,
        state_class=CLASSES[audit.state],
        headline=headline(audit),
        audited=audited_rows(findings.main.record),
        verdicts=verdict_words(audit),
        comparison="" if audit.comparison is None else audit.comparison.words,
        alarms=[warning for name, warning in all_warnings(findings) if name == findings.main.name],
        before=findings.before is not None,
        cards=sections.cards(findings),
        figure_tables=sections.figure_tables(audit),
        compared=audit.comparison is not None,
        grids=sections.picture_grids(findings.shown),
        color_maps=sections.color_map_section(findings.color_maps),
        paired=findings.color_maps is not None and findings.color_maps.paired,
        tradeoffs=sections.tradeoffs(findings),
        errs="accuracy" not in audit.figures,
        runs=sections.all_runs(findings),
        tried=sections.tried_weights(findings.main),
        cells=sections.cell_maps(findings),
        probes=sections.probe_section(findings),
        conditional=audit.leakage.conditional,
        deployed=audit.deployed,
        columns=sections.columns(findings),
        repeats=findings.repeats,
        attention=sections.attention_section(findings),
        attention_rows=findings.attention.rows if findings.attention else 0,
        shown=sections.shown_rows(findings.shown),
        curves=[curve for run in findings.pair for curve in _curves(run)],
        warnings=all_warnings(findings),
        settings=[_settings(run) for run in reversed(findings.pair)],
        data=findings.data.items(),
        column_rows=findings.columns,
        limits=limits(findings),
    )


def rendered(template: str, styles: Sequence[str], **parts: Any) -> str:
    """The page; values are escaped, and a value that the template needs and does not get is an error."""
    from jinja2 import Environment, StrictUndefined

    def read(name: str) -> str:
        return files("csad.report").joinpath(name).read_text(encoding="utf-8")

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(read(template)).render(css="\n".join(map(read, styles)), **parts)
    return printable(page.strip(), keep="\n\t") + "\n"


def all_warnings(findings: Findings) -> list[tuple[str, str]]:
    """(run, warning) of all trainings, and of models that predict a single class."""
    return [
        (run.name, warning) for run in findings.runs for warning in filter(None, [*run.warnings, collapse(run.audit)])
    ]


def limits(findings: Findings) -> list[str]:
    """The limits of the findings, those special to these runs first."""
    audit = findings.main.audit
    limits = [f"The audit used {audited_rows(findings.main.record)}."]
    limits += dict.fromkeys([*audit.all_notes, *findings.notes])
    if audit.state == NO_EVIDENCE:
        limits.append(
            "No evidence of leakage is no proof of its absence: another type of probe, or many more rows, might "
            "reveal a leak."
        )
    if audit.state == CANNOT_TELL and audit.needed_rows:
        limits.append(f"About {audit.needed_rows:,} rows would be needed for a clear verdict.")
    if small := [f"{cell.target}, {cell.bias} {cell.group}" for cell in audit.cells if cell.is_small]:
        more = f" and {len(small) - MOST_NAMED} more" if len(small) > MOST_NAMED else ""
        limits.append(
            f"Accuracy in cells with fewer than {SMALL_CELL} rows is unreliable: {'; '.join(small[:MOST_NAMED])}{more}."
        )
    seeds = {(run.method, run.facts.get("seed")) for run in findings.runs}
    if len({method for method, _ in seeds}) == len(seeds):
        limits.append(
            "Each method was run with one seed only. Another seed may change these metrics by more than their "
            "intervals."
        )
    if findings.before is None:
        limits.append("No model without debiasing was compared, so this page cannot show what debiasing changed.")
    return [
        *limits,
        "The verdict holds only for rows like these. Audit again for other people, another place or another time.",
        "The verdict covers only the given bias columns. A bias without labels is neither removed nor measured.",
        (
            "A leak says nothing about accuracy, and a model without leaks can still be wrong: check the accuracy of "
            "each cell."
        ),
    ]


def _curves(run: RunSummary) -> list[tuple[str, str]]:
    """The losses of a run, and its figures on validation rows if there are any."""
    charts_of_run = []
    for curves, what, label in ((run.curves, "losses", "loss"), (run.held_out, "validation", "metric")):
        if curves:
            ends = ", ".join(f"{name} {curve[-1][1]:.3g}" for name, curve in curves.items() if len(curve))
            chart = charts.line_chart(
                curves, title=f"{what} of {run.name} during training", describe=f"Last values: {ends}.",
                x_label="step", y_label=label, breaks=run.breaks if what == "losses" else (),
            )  # fmt: skip
            charts_of_run.append((f"{run.name}, {what}", chart))
    return charts_of_run


def _settings(run: RunSummary) -> dict[str, object]:
    sections = [(section, list(pairs.items())) for section, pairs in run.settings.items() if pairs]
    return {"name": run.name, "facts": list(run.facts.items()), "sections": sections}
