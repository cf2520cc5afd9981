"""The sentences that a report makes of an audit, worded the same way whichever method wins."""

from __future__ import annotations

from collections.abc import Sequence

from csad.auditing.audit import Audit, AuditRecord
from csad.auditing.leakage.verdicts import LEAKS, NO_EVIDENCE, STATES, short
from csad.messages import message
from csad.report.formatting import MISSING, finite, percent

COLLAPSED = 0.98  # a model predicts a single class if at least this share of it, and hardly any of others, is right


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def headline(audit: Audit) -> str:
    """The verdict in one short sentence."""
    source = audit.deployed
    names = listed([verdict.bias for verdict in audit.deployed_verdicts if verdict.state == audit.state])
    if audit.state == LEAKS:
        return f"The model leaks: probes can predict {names} from the {source}."
    if audit.state == NO_EVIDENCE:
        return f"No evidence that probes can predict {names} from the {source}."
    return f"These rows do not show whether probes can predict {names} from the {source}."


def audited_rows(record: AuditRecord) -> str:
    """How many rows of which split were audited."""
    return f"{record.audit.rows:,} rows of the {record.split} split"


def verdict_words(audit: Audit) -> list[str]:
    """The verdict on each bias in words, the gravest first."""
    return [v.words for v in sorted(audit.deployed_verdicts, key=lambda verdict: STATES.index(verdict.state))]


def metric_value(audit: Audit, name: str) -> float | None:
    """The value of a figure, if the audit has it."""
    return audit.figures[name].value if name in audit.figures else None


def main_figures(audit: Audit) -> list[tuple[str, str]]:
    """(label, value) of a model for its card: how well each bias can be read, who pays, and the gaps."""
    rows = [("accuracy in the worst cell", percent(metric_value(audit, "worst_group"), 1))]
    for bias in audit.biases:
        best = audit.best_reading(bias)
        auc = short(best.score) if best and finite(best.score) else MISSING
        rows.append((f"{bias} predicted from the {audit.deployed} (AUC; chance .50)", auc))
        against = next((part.conflicting.value for part in audit.alignment if part.bias == bias), None)
        rows.append((f"accuracy on rows that conflict with {bias}", percent(against, 1)))
        rows.append((f"equalized odds gap, {bias}", percent(metric_value(audit, f"equalized_odds_{bias}"), 1)))
    return [(label, value) for label, value in rows if value != MISSING]


def collapse(audit: Audit) -> str:
    """A warning if the model predicts one class for nearly every row; else empty."""
    recalls = {name: metric_value(audit, f"recall_{place}") for place, name in enumerate(audit.targets)}
    known = {name: value for name, value in recalls.items() if finite(value)}
    predicted = [name for name, value in known.items() if value >= COLLAPSED]
    others = [value for name, value in known.items() if name not in predicted]
    if len(known) > 1 and len(predicted) == 1 and max(others) <= 1 - COLLAPSED:
        return message("model-collapsed", target=predicted[0])
    return ""
