"""What the models go by, drawn: the worth of columns, or where in a picture or a series they look."""

from __future__ import annotations

from typing import Any

from csad.report.drawing import percent
from csad.report.findings import Findings, Importance, Shown
from csad.report.looks import attention_lines, attention_map, gathered
from csad.report.ranges import Row, range_chart
from csad.report.svg import line_chart, picture_grid

MOST_DRAWN, MOST_LISTED = 12, 40
Part = dict[str, Any]


def columns(findings: Findings) -> Part | None:
    """The columns that are worth most to one of the runs: a chart, and a table of more."""
    ranked = ranked_columns(findings)
    if not ranked:
        return None
    numbers = all(share is None for share in ranked[0].changed.values())
    rows = [
        Row(one.column, {name: (mean - std, mean, mean + std) for name, (mean, std) in one.loss.items()})
        for one in ranked[:MOST_DRAWN]
    ]
    label = "squared error gained" if numbers else "accuracy lost"
    words = column_words(findings)
    chart = range_chart(
        rows, title="What each column is worth to the models", describe=words, mark_at=0.0,
        x_label=f"{label} by shuffling; mean ± deviation",
    )  # fmt: skip
    names = list(ranked[0].loss)
    head = ["column", *(f"{label}, {name}" for name in names)]
    head += [] if numbers else [f"other answer, {name}" for name in names]
    table = []
    for one in ranked[:MOST_LISTED]:
        changed = [] if numbers else [percent(one.changed[name], 1) for name in names]
        told = [f"{mean:+.4f} ± {std:.4f}".replace("-", "−") for mean, std in one.loss.values()]
        table.append([one.column, *told, *changed])
    left = len(ranked) - len(table)
    more = f"{left} more columns are worth less." if left > 0 else ""
    return {"chart": chart, "words": words, "head": head, "rows": table, "more": more}


def ranked_columns(findings: Findings) -> list[Importance]:
    """All columns, that which is worth most to any run first."""
    return sorted(findings.importance, key=lambda one: -max(mean for mean, _ in one.loss.values()))


def column_words(findings: Findings) -> str:
    """The three columns that each run goes by most."""
    told = []
    for run in findings.pair:
        best = sorted(findings.importance, key=lambda one: -one.loss[run.name][0])[:3]
        told.append(f"{run.name} goes most by {', '.join(one.column for one in best)}")
    return f"{'; '.join(told)}." if told else ""


def attention(findings: Findings) -> list[Part]:
    """A map for each run, or one chart of lines for series."""
    found = findings.attention
    if found is None:
        return []
    if found.series:
        words = " ".join(gathered(name, values.sum(0)).replace("area", "time") for name, values in found.maps.items())
        return [{"name": "by time", "chart": attention_lines(found), "words": words, "map": False}]
    return [
        {"name": name, "chart": attention_map(name, values), "words": gathered(name, values), "map": True}
        for name, values in found.maps.items()
    ]


def shown(found: Shown | None) -> Part | None:
    """The user's own rows as they are to stand on the page; nothing where they were not asked for."""
    if found is None:
        return None
    pictures = [
        (name, picture_grid(several, len(several), title=name, describe=f"{len(several)} rows of the data."))
        for name, several in found.pictures.items()
    ]
    series = [
        line_chart(curves, title=f"Row {place}", describe="Its values over time.", x_label="time step", y_label="value")
        for place, curves in enumerate(found.series, 1)
    ]
    return {"head": found.head, "rows": found.rows, "pictures": pictures, "series": series}
