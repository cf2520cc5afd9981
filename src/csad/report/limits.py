"""What the findings do not say, in sentences: those that always hold, and those that these figures call for."""

from __future__ import annotations

from csad.report import audit_words as said
from csad.report.findings import Findings

MOST_NAMED = 4


def limits(findings: Findings) -> list[str]:
    """The limits of what was found, what is special to these runs first."""
    audit = findings.main.audit
    found = [f"The audit is of {said.audited_rows(audit)}.", *_notes(findings)]
    if audit["state"] == said.NONE:
        found.append("No evidence is no proof: another kind of reader, or one with far more rows, might find more.")
    if audit["state"] == said.UNCLEAR and audit["needed_rows"]:
        found.append(f"About {audit['needed_rows']:,} rows would be needed to tell.")
    if small := said.small_cells(audit):
        more = f" and {len(small) - MOST_NAMED} more" if len(small) > MOST_NAMED else ""
        named = "; ".join(small[:MOST_NAMED]) + more
        found.append(f"Cells of fewer than {said.FEW_ROWS} rows say little: {named}.")
    seeds = {(run.method, run.facts.get("seed")) for run in findings.runs}
    if len({method for method, _ in seeds}) == len(seeds):
        found.append("One seed of each method ran. Another may move these figures by more than their intervals.")
    if findings.before is None:
        found.append("No model without debiasing stands beside: what debiasing did cannot be seen here.")
    return [
        *found,
        "The verdict holds for rows like these. Other people, another place, next year: audit again.",
        "It is on the bias columns given. A bias that nobody labelled is neither removed nor measured.",
        "Leaking is no judgement on right and wrong, and not leaking is not being right: see who pays, in the cells.",
    ]


def _notes(findings: Findings) -> list[str]:
    of_columns = [
        f"{verdict['bias']}: {note}"
        for verdict in findings.main.audit["leakage"]["verdicts"]
        for note in verdict["notes"]
    ]
    return list(dict.fromkeys([*findings.main.audit["notes"], *of_columns, *findings.notes]))
