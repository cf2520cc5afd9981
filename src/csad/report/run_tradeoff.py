"""All runs of a report beside one another: what each gets right against what is left to read of the bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from csad.report import audit_words as said
from csad.report.digits import MISSING
from csad.report.findings import Findings, Told
from csad.report.ranges import Range
from csad.report.scatter import Spot, scatter

Part = dict[str, Any]


def tradeoffs(findings: Findings) -> list[str]:
    """For each bias a plot of what is left to read of it, and one of the gap, against accuracy; of two runs or more."""
    runs = findings.ordered
    if len(runs) < 2:
        return []
    right = "accuracy" if all(said.figure(run.audit, "accuracy") is not None for run in runs) else "mean_squared_error"
    plots = []
    for bias in said.biases(findings.main.audit):
        leak = [(run, reading_range(run, bias)) for run in runs]
        gap = [(run, figure_range(run, f"equalised_odds_{bias}")) for run in runs]
        for points, label in (
            (leak, f"{bias} told (AUC, best reader)"),
            (gap, f"equalised odds gap, {bias}"),
        ):
            if len(placed := _spots(points, right)) > 1:
                told = "; ".join(f"{spot.name}: {spot.x[1]:.3f} and {spot.y[1]:.3f}" for spot in placed)
                x_label = said.figure_label(right)
                title = f"{x_label} against {label}"
                describe = f"{x_label} and {label} of each run: {told}."
                plots.append(scatter(placed, title=title, describe=describe, x_label=x_label, y_label=label))
    return plots


def all_runs(findings: Findings) -> Part:
    """A line for each run: its verdict, its accuracy and what is left to read; no column without a figure."""
    runs = findings.ordered
    columns: dict[str, list[Range | None]] = {}
    for name in ("accuracy", "mean_squared_error", "worst_group"):
        columns[said.figure_label(name)] = [figure_range(run, name) for run in runs]
    for bias in said.biases(findings.main.audit):
        columns[f"AUC of {bias}"] = [reading_range(run, bias) for run in runs]
    kept = {name: values for name, values in columns.items() if any(values)}
    shown = [[MISSING if v is None else said.interval(v[1], v[0], v[2]) for v in values] for values in kept.values()]
    rows = [[run.name, run.audit["state"], *told] for run, *told in zip(runs, *shown, strict=True)]
    return {"head": ["run", "verdict", *kept], "rows": rows}


def tried(told: Told) -> Part | None:
    """The weights that csad chose from, on validation rows; nothing where the user set the weight."""
    if not told.choice:
        return None
    score, every = told.choice["score"], [told.choice["vanilla"], *told.choice["tried"]]
    rows = [[_weight(one), f"{one['score']:.3f}", f"{one['leakage']:.3f}"] for one in every]
    return {"why": told.choice["why"], "head": ["debias_weight", score, "leakage"], "rows": rows}


def _weight(one: Mapping[str, Any]) -> str:
    """What was tried, in words: a weight, and after which epoch it was looked at."""
    if one["debias_weight"] is None:
        return "vanilla"
    return f"{one['debias_weight']:g}" + (f", after epoch {one['epoch']}" if one.get("epoch") else "")


def reading_range(told: Told, bias: str, layer: str = "") -> Range | None:
    """What the best reader makes of a layer, of what is deployed if none is named; None where nothing was read."""
    best = said.best_reading(told.audit, bias, layer)
    return None if best is None else (best["low"], best["score"], best["high"])


def figure_range(told: Told, name: str) -> Range | None:
    """A figure between the ends of its interval; None where the audit has none of that name."""
    found = told.audit["figures"].get(name)
    if found is None:
        return None
    value = found["value"]
    return (value if found["low"] is None else found["low"], value, value if found["high"] is None else found["high"])


def _spots(runs: Sequence[tuple[Told, Range | None]], right: str) -> list[Spot]:
    placed = [(told.name, figure_range(told, right), up) for told, up in runs]
    return [Spot(name, across, up) for name, across, up in placed if across is not None and up is not None]
