"""The parts of a run's page, one function each: findings in, plots and table rows out."""

from __future__ import annotations

from typing import Any

from csad.report import audit_words as said
from csad.report import svg
from csad.report.digits import MISSING
from csad.report.drawing import NO_BREAK, finite, percent
from csad.report.findings import Findings, Told
from csad.report.ranges import Row, range_chart
from csad.report.run_tradeoff import reading_range

Part = dict[str, Any]
CHANCE = 0.5
LAYERS = {"x": "x, the input", "h": "h, the encoder", "h_y": "h_y, the branch"}


def cards(findings: Findings) -> list[Part]:
    """Before and after: the figure that counts most, and the few below it."""
    found = []
    for told in findings.pair:
        accuracy, error = (said.figure(told.audit, name) for name in ("accuracy", "mean_squared_error"))
        found.append(
            {
                "name": told.name,
                "when": "" if findings.before is None else "before" if told is findings.before else "after",
                "big": percent(accuracy, 1) if finite(accuracy) else f"{error:.3g}" if finite(error) else MISSING,
                "of": "accuracy" if finite(accuracy) else "mean squared error" if finite(error) else "no predictions",
                "share": 100 * accuracy if finite(accuracy) else None,
                "state": told.audit["state"],
                "figures": said.main_figures(told.audit),
            }
        )
    return found


def differences(audit: said.Plain) -> Part | None:
    """All figures beside those of the run that the audit was held against; alone where there was none."""
    targets = audit["targets"]
    if audit["comparison"] is None:
        rows = [[said.figure_label(name, targets), said.interval(**value)] for name, value in audit["figures"].items()]
        return {"head": ["figure", "value"], "rows": rows} if rows else None
    rows = []
    for name, value in audit["comparison"]["figures"].items():
        ends = "" if value["low"] is None else f" ({value['low']:+.3f}{NO_BREAK}…{NO_BREAK}{value['high']:+.3f})"
        apart = f"{value['difference']:+.3f}{ends}".replace("-", "−")
        rows.append([said.figure_label(name, targets), f"{value['other']:.3f}", f"{value['value']:.3f}", apart])
    return {"head": ["figure", audit["comparison"]["against"], "this run", "difference"], "rows": rows}


def cell_maps(findings: Findings) -> list[Part]:
    """Accuracy by target and bias, for each bias and each of the two runs."""
    found = []
    for bias in said.biases(findings.main.audit):
        for told in findings.pair:
            cells = {(c["group"], c["target"]): c for c in told.audit["cells"] if c["bias"] == bias}
            groups, targets = list(dict.fromkeys(group for group, _ in cells)), list(told.audit["targets"])
            if not cells:
                continue
            values = [[_accuracy(cells.get((group, target))) for target in targets] for group in groups]
            worst = min(cells.values(), key=lambda cell: cell["accuracy"]["value"])
            told_worst = f"{worst['target']} with {bias} {worst['group']}, {percent(worst['accuracy']['value'], 1)}"
            describe = f"Rows are {bias}, columns are targets, cells are per cent right. Worst: {told_worst}."
            chart = svg.heat_map(
                values, groups, targets, title=f"Accuracy of {told.name} by target and {bias}", describe=describe,
                row_title=bias, column_title="target",
            )  # fmt: skip
            found.append(
                {"name": told.name, "bias": bias, "chart": chart, "worst": told_worst, **cell_table(told.audit, bias)}
            )
    return found


def cell_table(audit: said.Plain, bias: str) -> Part:
    """The cells of one bias as a table: how many rows each has, and the share that is right."""
    cells = [cell for cell in audit["cells"] if cell["bias"] == bias]
    rows = [[cell["group"], cell["target"], f"{cell['rows']:,}", said.interval(**cell["accuracy"])] for cell in cells]
    return {"head": [bias, "target", "rows", "accuracy"], "rows": rows}


def probes(findings: Findings) -> list[Part]:
    """For each bias what the best reader makes of each layer, and all readings as a table."""
    found = []
    for bias in said.biases(findings.main.audit):
        layers = list(dict.fromkeys(v["layer"] for v in findings.main.audit["leakage"]["verdicts"]))
        rows = []
        for layer in layers:
            values = {told.name: reading_range(told, bias, layer) for told in findings.pair}
            rows.append(Row(LAYERS.get(layer, layer), {name: value for name, value in values.items() if value}))
        words = _reading_words(findings, bias)
        chart = range_chart(
            [row for row in rows if row.values], title=f"How well {bias} can be told from each layer", describe=words,
            x_label="AUC of the best reader, with its interval", mark_at=CHANCE, mark_name="chance", across=(0.45, 1.0),
        )  # fmt: skip
        table = [line for told in findings.pair for line in _reading_lines(told, bias)]
        head = ["from", "run", "reader", "AUC", "p, corrected", "verdict, by all readers"]
        found.append({"bias": bias, "chart": chart, "words": words, "head": head, "rows": table})
    return found


def _reading_lines(told: Told, bias: str) -> list[list[str]]:
    return [
        [v["layer"], told.name, r["probe"], said.interval(r["score"], r["low"], r["high"]), f"{r['p_corrected']:.3f}",
         "" if k else v["state"]]
        for v in told.audit["leakage"]["verdicts"]
        if v["bias"] == bias
        for k, r in enumerate(v["readings"])
    ]  # fmt: skip


def _reading_words(findings: Findings, bias: str) -> str:
    source = findings.main.audit["deployed"]
    told = []
    for run in findings.pair:
        if (value := reading_range(run, bias)) is not None:
            told.append(f"{value[1]:.2f} ({value[0]:.2f} … {value[2]:.2f}) for {run.name}")
    return (
        f"From the {source} the best reader of {bias} has an AUC of {'; '.join(told)}; chance is .50." if told else ""
    )


def _accuracy(cell: said.Plain | None) -> float | None:
    return None if cell is None else cell["accuracy"]["value"]
