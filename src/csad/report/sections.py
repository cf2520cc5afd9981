"""The sections of a report, one function each: findings come in, plots and tables go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from csad.auditing.audit import Audit
from csad.auditing.leakage.verdicts import CHANCE
from csad.auditing.measure import interval_text
from csad.auditing.metrics.metric import METRICS
from csad.auditing.tables import (
    AuditTable,
    NameLabel,
    alignment_table,
    cell_list,
    figure_difference_table,
    figure_table,
    group_table,
    leakage_table,
)
from csad.report.findings import Attention, ColorMaps, Findings, Map, PictureGrid, RunSummary, ShownData
from csad.report.formatting import MISSING, finite, percent
from csad.report.plots import charts
from csad.report.plots.charts import ChartRow, Range, Spot
from csad.report.wording import main_figures, metric_value

MOST_DRAWN, MOST_LISTED = 12, 40
HALF = 0.5
LAYERS = {"x": "x, the input", "h": "h, the encoder", "h_y": "h_y, the branch"}
Part = dict[str, Any]


def cards(findings: Findings) -> list[Part]:
    """Before and after: the figure that counts most, and a few more below it."""
    cards = []
    for run in findings.pair:
        accuracy, error = (metric_value(run.audit, name) for name in ("accuracy", "mean_squared_error"))
        cards.append(
            {
                "name": run.name,
                "when": "" if findings.before is None else "before" if run is findings.before else "after",
                "big": percent(accuracy, 1) if finite(accuracy) else f"{error:.3g}" if finite(error) else MISSING,
                "of": "accuracy" if finite(accuracy) else "mean squared error" if finite(error) else "no predictions",
                "share": 100 * accuracy if finite(accuracy) else None,
                "state": run.audit.state,
                "figures": main_figures(run.audit),
            }
        )
    return cards


def figure_tables(audit: Audit) -> list[AuditTable]:
    """All figures, beside those of the other run if the audit has one; by alignment; and by group."""
    label = label_of(audit)
    comparison = audit.comparison
    figures = figure_table(audit, label) if comparison is None else figure_difference_table(comparison, label)
    return [table for table in (figures, alignment_table(audit), group_table(audit, label)) if table.rows]


def label_of(audit: Audit) -> NameLabel:
    """How the names of an audit's figures are shown."""
    return partial(METRICS.label, classes=audit.targets)


def tradeoffs(findings: Findings) -> list[str]:
    """For each bias, accuracy against how well it is read and against its gap; of two runs or more."""
    runs = findings.ordered
    if len(runs) < 2:
        return []
    right = "accuracy" if all(metric_value(run.audit, "accuracy") is not None for run in runs) else "mean_squared_error"
    x_label, plots = METRICS.label(right), []
    for bias in findings.main.audit.biases:
        readings = [(run, reading_range(run.audit, bias)) for run in runs]
        gaps = [(run, figure_range(run.audit, f"equalized_odds_{bias}")) for run in runs]
        for points, y_label in (
            (readings, f"leakage of {bias} (best AUC)"),
            (gaps, f"equalized odds gap, {bias}"),
        ):
            if len(spots := _spots(points, right)) > 1:
                values = "; ".join(f"{spot.name}: {spot.x[1]:.3f} and {spot.y[1]:.3f}" for spot in spots)
                title = f"{x_label} against {y_label}"
                describe = f"{x_label} and {y_label} of each run: {values}."
                plots.append(charts.scatter(spots, title=title, describe=describe, x_label=x_label, y_label=y_label))
    return plots


def _spots(points: Sequence[tuple[RunSummary, Range | None]], right: str) -> list[Spot]:
    spots = [(run.name, figure_range(run.audit, right), y) for run, y in points]
    return [Spot(name, x, y) for name, x, y in spots if x is not None and y is not None]


def reading_range(audit: Audit, bias: str, layer: str = "") -> Range | None:
    """The AUC of the best probe on a layer, by default on what is deployed; None if nothing was read."""
    best = audit.best_reading(bias, layer)
    return None if best is None else (best.low, best.score, best.high)


def figure_range(audit: Audit, name: str) -> Range | None:
    """A figure between the ends of its interval; None if the audit has no such figure."""
    if name not in audit.figures:
        return None
    metric = audit.figures[name]
    low, high = (metric.value if end is None else end for end in (metric.low, metric.high))
    return low, metric.value, high


def all_runs(findings: Findings) -> Part:
    """A line for each run: verdict, accuracy and readings; a column without any figure is left out."""
    runs = findings.ordered
    columns: dict[str, list[Range | None]] = {}
    for name in ("accuracy", "mean_squared_error", "worst_group"):
        columns[METRICS.label(name)] = [figure_range(run.audit, name) for run in runs]
    for bias in findings.main.audit.biases:
        columns[f"AUC of probes for {bias}"] = [reading_range(run.audit, bias) for run in runs]
    filled = {name: values for name, values in columns.items() if any(values)}
    cells = [[MISSING if v is None else interval_text(v[1], v[0], v[2]) for v in values] for values in filled.values()]
    rows = [[run.name, run.audit.state, *line] for run, *line in zip(runs, *cells, strict=True)]
    return {"head": ["run", "verdict", *filled], "rows": rows}


def tried_weights(run: RunSummary) -> Part | None:
    """The weights that csad chose from, on validation rows; None if the user set the weight."""
    if not run.choice:
        return None
    trials = [run.choice["vanilla"], *run.choice["tried"]]
    rows = [[_weight(trial), f"{trial['score']:.3f}", f"{trial['leakage']:.3f}"] for trial in trials]
    return {"why": run.choice["why"], "head": ["debias_weight", run.choice["score"], "leakage"], "rows": rows}


def _weight(trial: Mapping[str, Any]) -> str:
    """The weight of a trial, and the epoch after which its figures were measured."""
    if trial["debias_weight"] is None:
        return "vanilla"
    return f"{trial['debias_weight']:g}" + (f", after epoch {trial['epoch']}" if trial.get("epoch") else "")


def cell_maps(findings: Findings) -> list[Part]:
    """Accuracy by target and bias, for each bias and each run of the pair."""
    maps = []
    for bias in findings.main.audit.biases:
        for run in findings.pair:
            cells = {(cell.group, cell.target): cell for cell in run.audit.cells if cell.bias == bias}
            if not cells:
                continue
            groups, targets = list(dict.fromkeys(group for group, _ in cells)), run.audit.targets
            accuracies = {place: cell.accuracy.value for place, cell in cells.items()}
            low = min(cells.values(), key=lambda cell: cell.accuracy.value)
            worst = f"{low.target} with {bias} {low.group}, {percent(low.accuracy.value, 1)}"
            chart = charts.heat_map(
                [[accuracies.get((group, target)) for target in targets] for group in groups], groups, targets,
                title=f"Accuracy of {run.name} by target and {bias}",
                describe=(
                    f"Rows are {bias}, columns are targets, and cells are percentages of correct predictions. Worst: "
                    f"{worst}."
                ),
                row_title=bias, column_title="target",
            )  # fmt: skip
            maps.append(
                {"name": run.name, "bias": bias, "chart": chart, "worst": worst, "table": cell_list(run.audit, bias)}
            )
    return maps


def probe_section(findings: Findings) -> list[Part]:
    """For each bias the AUC of the best probe on each layer, and all readings as a table for each run."""
    parts = []
    for bias in findings.main.audit.biases:
        rows = []
        for layer in findings.main.audit.layers:
            values = {run.name: reading_range(run.audit, bias, layer) for run in findings.pair}
            rows.append(ChartRow(LAYERS.get(layer, layer), {name: value for name, value in values.items() if value}))
        words = _reading_words(findings, bias)
        chart = charts.range_chart(
            [row for row in rows if row.values], title=f"How well probes predict {bias} from each layer",
            describe=words,
            x_label="AUC of the best probe, with its interval", mark_at=CHANCE, mark_name="chance", across=(0.45, 1.0),
        )  # fmt: skip
        tables = [(run.name, leakage_table(run.audit, bias)) for run in findings.pair]
        parts.append({"bias": bias, "chart": chart, "words": words, "tables": tables})
    return parts


def _reading_words(findings: Findings, bias: str) -> str:
    ranges = [(run.name, reading_range(run.audit, bias)) for run in findings.pair]
    words = [f"{auc[1]:.2f} ({auc[0]:.2f} … {auc[2]:.2f}) for {name}" for name, auc in ranges if auc is not None]
    if not words:
        return ""
    source = findings.main.audit.deployed
    return f"From the {source}, the best probe for {bias} has an AUC of {'; '.join(words)}; chance is .50."


def columns(findings: Findings) -> Part | None:
    """The columns that are worth most to one of the runs: a chart, and a table of more."""
    ranked = findings.ranked_columns
    if not ranked:
        return None
    numbers = all(share is None for share in ranked[0].changed.values())
    rows = [
        ChartRow(column.column, {name: (mean - std, mean, mean + std) for name, (mean, std) in column.loss.items()})
        for column in ranked[:MOST_DRAWN]
    ]
    label = "squared error added" if numbers else "accuracy lost"
    words = column_words(findings)
    chart = charts.range_chart(
        rows, title="Importance of each column for the models", describe=words, mark_at=0.0,
        x_label=f"{label} by shuffling; mean ± standard deviation",
    )  # fmt: skip
    names = list(ranked[0].loss)
    head = ["column", *(f"{label}, {name}" for name in names)]
    head += [] if numbers else [f"predictions changed, {name}" for name in names]
    table = []
    for column in ranked[:MOST_LISTED]:
        changed = [] if numbers else [percent(column.changed[name], 1) for name in names]
        losses = [f"{mean:+.4f} ± {std:.4f}".replace("-", "−") for mean, std in column.loss.values()]
        table.append([column.column, *losses, *changed])
    left = len(ranked) - len(table)
    more = f"Less important columns that are not shown: {left}." if left > 0 else ""
    return {"chart": chart, "words": words, "head": head, "rows": table, "more": more}


def column_words(findings: Findings) -> str:
    """The three columns that each run uses most."""
    words = []
    for run in findings.pair:
        best = sorted(findings.importance, key=lambda column: -column.loss[run.name][0])[:3]
        words.append(f"{run.name} relies most on {', '.join(column.column for column in best)}")
    return f"{'; '.join(words)}." if words else ""


def attention_section(findings: Findings) -> list[Part]:
    """A map for each run, or one chart of lines for series."""
    attention = findings.attention
    if attention is None:
        return []
    if attention.series:
        words = " ".join(focus(name, values.sum(0)).replace("area", "time") for name, values in attention.maps.items())
        return [{"name": "by time", "chart": _attention_lines(attention, words), "words": words, "map": False}]
    return [
        {"name": name, "chart": _attention_map(name, values), "words": focus(name, values), "map": True}
        for name, values in attention.maps.items()
    ]


def _attention_lines(attention: Attention, words: str) -> str:
    """The share of attention by time, a line for each run, summed over channels."""
    curves = {name: list(enumerate(values.sum(0).tolist())) for name, values in attention.maps.items()}
    return charts.line_chart(
        curves, title="Attention of the models over time", describe=words, x_label="time step",
        y_label="share of attention",
    )  # fmt: skip


def _attention_map(name: str, values: Map) -> str:
    return charts.attention_map(values, title=f"Mean attention map of {name}", describe=focus(name, values))


def focus(name: str, values: Map) -> str:
    """The share of the picture, or of the time, that holds half of the attention."""
    ordered = np.sort(values.reshape(-1))[::-1]
    if not ordered.sum() > 0:
        return f"{name} gives the same prediction for every input, so its attention is zero everywhere."
    share = (1 + int(np.searchsorted(np.cumsum(ordered), HALF * ordered.sum()))) / len(ordered)
    return f"{name} puts half of its attention on {percent(share)} of the area; an even spread would need 50 %."


def picture_grids(data: ShownData | None) -> list[Part]:
    """The first pictures of each target by split, if the user asked for data."""
    return [_picture_grid(grid) for grid in data.grids] if data else []


def _picture_grid(grid: PictureGrid) -> Part:
    each = grid.columns // len(grid.names) if len(grid.names) < grid.columns else 1
    several = f", {each} columns each" if each > 1 else ""
    words = f"From left to right{several}: {', '.join(grid.names)}."
    title = f"Pictures of the split {grid.split} by target"
    chart = charts.picture_grid(grid.pictures, grid.columns, title=title, describe=words)
    return {"split": grid.split, "chart": chart, "words": words}


def color_map_section(maps: ColorMaps | None) -> list[Part]:
    """Accuracy by color and target, a map for each run."""
    if maps is None:
        return []
    rows = list(maps.targets) if maps.paired else [str(code) for code in range(len(maps.swatches))]
    return [
        {
            "name": name,
            "words": _diagonal_words(cells) if maps.paired else "",
            "chart": charts.heat_map(
                cells, rows, maps.targets, title=f"Accuracy of {name} by colour and target",
                describe="Rows are colours, columns are targets, and cells are percentages of correct predictions.",
                row_swatches=maps.swatches, row_title="colour of" if maps.paired else "colour", column_title="target",
            ),
        }
        for name, cells in maps.cells.items()
    ]  # fmt: skip


def _diagonal_words(cells: Sequence[Sequence[float | None]]) -> str:
    """The mean accuracy of the pairs of color and target that training showed, and of all others."""
    pairs, others = (
        [value for i, row in enumerate(cells) for j, value in enumerate(row) if (i == j) == same and finite(value)]
        for same in (True, False)
    )
    if not pairs or not others:
        return ""
    return (
        f"The mean accuracy of the cells is {percent(fmean(pairs), 1)} on the diagonal and {percent(fmean(others), 1)} "
        "elsewhere."
    )


def shown_rows(data: ShownData | None) -> Part | None:
    """The user's own rows; None unless the user asked for them."""
    if data is None:
        return None
    pictures = [
        (name, charts.picture_grid(several, len(several), title=name, describe=f"{len(several)} rows of the data."))
        for name, several in data.pictures.items()
    ]
    series = [
        charts.line_chart(
            curves, title=f"Row {place}", describe="Its values over time.", x_label="time step", y_label="value"
        )
        for place, curves in enumerate(data.series, 1)
    ]
    return {"head": data.head, "rows": data.rows, "pictures": pictures, "series": series}
