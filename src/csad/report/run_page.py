"""The page of runs: one HTML file, all in it, for offline reading, phone and paper; the verdict comes first."""

from __future__ import annotations

from csad.report import audit_words as said
from csad.report import explained, run_sections, run_tradeoff, svg
from csad.report.findings import Findings, Told
from csad.report.html import rendered
from csad.report.limits import limits

STYLES = ("plots.css", "page.css", "run.css")
CLASSES = {said.LEAKS: "leaks", said.UNCLEAR: "unclear", said.NONE: "clear"}


def run_page(findings: Findings) -> str:
    """The whole page as one string that needs no script and no network; a part without numbers is left out."""
    audit = findings.main.audit
    return rendered(
        "run.html",
        STYLES,
        title=findings.title,
        state=audit["state"],
        state_class=CLASSES[audit["state"]],
        headline=said.headline(audit),
        audited=said.audited_rows(audit),
        verdicts=said.verdict_words(audit),
        comparison="" if audit["comparison"] is None else audit["comparison"]["words"],
        alarms=[warning for name, warning in all_warnings(findings) if name == findings.main.name],
        before=findings.before is not None,
        cards=run_sections.cards(findings),
        differences=run_sections.differences(audit),
        compared=audit["comparison"] is not None,
        tradeoffs=run_tradeoff.tradeoffs(findings),
        errs="accuracy" not in audit["figures"],
        runs=run_tradeoff.all_runs(findings),
        tried=run_tradeoff.tried(findings.main),
        cells=run_sections.cell_maps(findings),
        probes=run_sections.probes(findings),
        conditional=audit["leakage"]["conditional"],
        deployed=audit["deployed"],
        columns=explained.columns(findings),
        repeats=findings.repeats,
        attention=explained.attention(findings),
        attention_rows=findings.attention.rows if findings.attention else 0,
        shown=explained.shown(findings.shown),
        curves=[curve for run in findings.pair for curve in _curves(run)],
        warnings=all_warnings(findings),
        settings=[_settings(run) for run in reversed(findings.pair)],
        data=findings.data.items(),
        column_rows=findings.columns,
        limits=limits(findings),
    )


def all_warnings(findings: Findings) -> list[tuple[str, str]]:
    """(run, warning) of all trainings, and of models that say one thing only."""
    return [
        (run.name, warning)
        for run in findings.runs
        for warning in filter(None, [*run.warnings, said.collapse(run.audit)])
    ]


def _curves(run: Told) -> list[tuple[str, str]]:
    """The losses of a run, and its figures on held-out rows where these were taken."""
    found = []
    for curves, what, label in ((run.curves, "losses", "loss"), (run.held_out, "validation", "figure")):
        if curves:
            ends = ", ".join(f"{name} {curve[-1][1]:.3g}" for name, curve in curves.items() if len(curve))
            chart = svg.line_chart(
                curves, title=f"{what} of {run.name} while it trained", describe=f"Last values: {ends}.",
                x_label="step", y_label=label, breaks=run.breaks if what == "losses" else (),
            )  # fmt: skip
            found.append((f"{run.name}, {what}", chart))
    return found


def _settings(run: Told) -> dict[str, object]:
    sections = [(section, list(pairs.items())) for section, pairs in run.settings.items() if pairs]
    return {"name": run.name, "facts": list(run.facts.items()), "sections": sections}
