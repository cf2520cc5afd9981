"""An audit, as audit.json holds it, in words and figures that people know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from csad.report.digits import MISSING
from csad.report.drawing import NO_BREAK, finite, percent
from csad.report.words import listed

Plain = Mapping[str, Any]
LEAKS, NONE, UNCLEAR = "leaks", "no evidence of leakage", "cannot tell"
FEW_ROWS = 30  # of a cell: its accuracy may be off by 18 points
SAYS_ONE = 0.98  # the share right of one class from which on, all others near 0, the model says nothing else

LABELS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "worst_group": "accuracy in the worst cell",
    "unbiased": "mean accuracy of cells",
    "bias_conflicting": "mean accuracy of cells against the bias",
    "auc": "AUC of the target",
    "auc_within": "AUC of the target within groups",
    "ap": "average precision",
    "ece": "calibration error",
    "f1": "F1",
    "mean_squared_error": "mean squared error",
}
OF_BIAS = {
    "demographic_parity_": "demographic parity gap",
    "equal_opportunity_": "equal opportunity gap",
    "equalised_odds_": "equalised odds gap",
    "aligned_": "accuracy on rows that go with",
    "conflicting_": "accuracy on rows that go against",
}


def figure_label(name: str, targets: Sequence[str] = ()) -> str:
    """A figure's name as people read it: ``equalised odds gap, sex`` for ``equalised_odds_sex``."""
    if name in LABELS:
        return LABELS[name]
    if found := re.fullmatch(r"recall_(\d+)", name):
        place = int(found[1])
        return f"right of {targets[place] if place < len(targets) else place}"
    if found := re.fullmatch(r"gap_(.+)_(rms|max)", name):
        return f"{'greatest' if found[2] == 'max' else 'typical'} recall gap, {found[1]}"
    for start, label in OF_BIAS.items():
        if name.startswith(start):
            between = " " if start in ("aligned_", "conflicting_") else ", "
            return f"{label}{between}{name.removeprefix(start)}"
    return name.replace("_", " ")


def biases(audit: Plain) -> list[str]:
    """The bias columns, in their order."""
    return list(dict.fromkeys(verdict["bias"] for verdict in audit["leakage"]["verdicts"]))


def on_deployed(audit: Plain) -> list[Plain]:
    """The verdicts on what leaves the model, one for each bias."""
    return [verdict for verdict in audit["leakage"]["verdicts"] if verdict["layer"] == audit["deployed"]]


def headline(audit: Plain) -> str:
    """The verdict in one short sentence."""
    state, source = audit["state"], audit["deployed"]
    names = listed([verdict["bias"] for verdict in on_deployed(audit) if verdict["state"] == state])
    if state == LEAKS:
        return f"It leaks: {names} can be told from the {source}."
    if state == NONE:
        return f"No evidence that the {source} leaks {names}."
    return f"Whether the {source} leaks {names} cannot be told from these rows."


def audited_rows(audit: Plain) -> str:
    """Which rows the audit is of."""
    return f"{audit['rows']:,} rows of the split {audit['split']}"


def verdict_words(audit: Plain) -> list[str]:
    """What is said of each bias, the gravest first."""
    order = (LEAKS, UNCLEAR, NONE)
    return [v["words"] for v in sorted(on_deployed(audit), key=lambda v: order.index(v["state"]))]


def best_reading(audit: Plain, bias: str, layer: str = "") -> Plain | None:
    """The reading of the probe that tells a bias best from a layer, from what is deployed if none is named."""
    layer = layer or audit["deployed"]
    found = [
        reading
        for verdict in audit["leakage"]["verdicts"]
        if (verdict["layer"], verdict["bias"]) == (layer, bias)
        for reading in verdict["readings"]
    ]
    return max(found, key=lambda reading: reading["score"], default=None)


def figure(audit: Plain, name: str) -> float | None:
    """The value of a figure, if the audit has it."""
    found = audit["figures"].get(name)
    return None if found is None else found["value"]


def interval(value: float, low: float | None, high: float | None, digits: int = 3) -> str:
    """``0.812 (0.790 … 0.833)``."""
    ends = "" if low is None or high is None else f" ({low:.{digits}f}{NO_BREAK}…{NO_BREAK}{high:.{digits}f})"
    return f"{value:.{digits}f}{ends}"


def main_figures(audit: Plain) -> list[tuple[str, str]]:
    """(what, how much) of a model for a card: what is left to read of each bias, who pays, and the gaps."""
    rows = [("accuracy in the worst cell", percent(figure(audit, "worst_group"), 1))]
    for bias in biases(audit):
        best = best_reading(audit, bias)
        rows.append(
            (f"{bias} told from the {audit['deployed']} (AUC; chance .50)", _short(best["score"] if best else None))
        )
        against = next((a["conflicting"]["value"] for a in audit["alignment"] if a["bias"] == bias), None)
        rows.append((f"right where {bias} misleads", percent(against, 1)))
        rows.append((f"equalised odds gap, {bias}", percent(figure(audit, f"equalised_odds_{bias}"), 1)))
    return [(name, value) for name, value in rows if value != MISSING]


def collapse(audit: Plain) -> str:
    """A warning where the model says one class of nearly every row, or nothing."""
    targets = audit["targets"]
    right = {name: figure(audit, f"recall_{place}") for place, name in enumerate(targets)}
    known = {name: value for name, value in right.items() if finite(value)}
    every = [name for name, value in known.items() if value >= SAYS_ONE]
    others = [value for name, value in known.items() if name not in every]
    if len(known) > 1 and len(every) == 1 and max(others) <= 1 - SAYS_ONE:
        return f"It says {every[0]} of nearly every row: it has collapsed, and what it does not know it cannot leak."
    return ""


def small_cells(audit: Plain) -> list[str]:
    """The cells of so few rows that their accuracy says little."""
    cells = [cell for cell in audit["cells"] if cell["rows"] < FEW_ROWS]
    return [f"{cell['target']}, {cell['bias']} {cell['group']}" for cell in cells]


def _short(value: float | None) -> str:
    return f"{value:.2f}".removeprefix("0") if finite(value) else MISSING
