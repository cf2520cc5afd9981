"""A table of results next to the paper's: its cells, and the table as JSON, Markdown, LaTeX or terminal lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, stdev
from typing import Any

from csad.auditing.metrics.metric import METRICS
from csad.report.formatting import MISSING, escaped, figure, finite, markdown_table, rounded, signed, spelled

GAP = (
    "Share of the gap: how far this method is above the first method, divided by how far the second method is "
    f"above the first; {MISSING} if the interval of that gap is not above 0."
)

Places = Sequence[tuple[str, str]]  # columns and metrics


@dataclass(frozen=True)
class CellDifference:
    """How far the cell of one method lies above that of another, with its interval: the same rows drawn for both."""

    method: str
    other: str
    column: str
    metric: str
    mean: float
    interval: Sequence[float]


@dataclass(frozen=True)
class GapShare:
    """The share of the gap between the cells of two methods, ``low`` and ``high``, that the cell of a third closes.

    There is none unless ``high`` is above ``low`` with certainty.
    """

    method: str
    low: str
    high: str
    column: str
    metric: str
    value: float
    interval: Sequence[float]


def difference_rows(
    differences: Sequence[CellDifference], places: Places, labels: Mapping[str, str]
) -> list[list[str]]:
    """A line ``CSAD − Vanilla`` for each pair of methods that is compared in one of these places."""
    texts = {
        ((difference.method, difference.other), (difference.column, difference.metric)): _difference_text(difference)
        for difference in differences
    }
    return [
        [" − ".join(labels.get(name, name) for name in pair), *(texts.get((pair, place), MISSING) for place in places)]
        for pair in dict.fromkeys(pair for pair, place in texts if place in places)
    ]


def share_rows(shares: Sequence[GapShare], places: Places, labels: Mapping[str, str]) -> list[list[str]]:
    """A line ``CSAD, share of the gap from Vanilla to Oracle`` for each gap of which there is one in these places."""
    texts = {
        ((share.method, share.low, share.high), (share.column, share.metric)): _share_text(share) for share in shares
    }
    rows = []
    for gap in dict.fromkeys(gap for gap, place in texts if place in places):
        method, low, high = (labels.get(name, name) for name in gap)
        name = f"{method}, share of the gap from {low} to {high}"
        rows.append([name, *(texts.get((gap, place), MISSING) for place in places)])
    return rows


def _difference_text(difference: CellDifference) -> str:
    """``+.120 [+.031, +.200]``."""
    return f"{signed(difference.mean)} [{', '.join(map(signed, difference.interval))}]"


def _share_text(share: GapShare) -> str:
    """``.620 [.410, .851]``."""
    return f"{spelled(share.value)} [{', '.join(map(spelled, share.interval))}]"


METHOD, PAPER, INTERVAL = "Method", "paper", "95 %"
DEVIATION, ERROR = "standard deviation", "standard error"
ABOVE, BELOW, EQUAL = "▲", "▼", "="
LEGEND = (
    f"Below a method: the paper's result and, in brackets, ours minus the paper's, both with three digits. {ABOVE}"
    f": ours is above; {BELOW}: below; {EQUAL}: equal; {MISSING}: no result."
)


@dataclass(frozen=True)
class Cell:
    """The figure of one method in fractions; ``std`` is over n − 1 and None for a single run.

    ``values`` are the figures of the runs by seed: methods are compared seed by seed.
    """

    method: str
    column: str
    metric: str
    mean: float
    std: float | None
    n: int
    paper: float | None
    values: Mapping[str, float] = field(default_factory=dict)
    interval: Sequence[float] | None = None  # (low, high), of a bootstrap over tested rows and runs


@dataclass(frozen=True)
class ResultTable:
    """Cells and all that a reader must know of them; ``labels`` are the printed names of methods and metrics."""

    table: str
    title: str
    selection: str
    command: str
    environment: Mapping[str, Any]
    cells: Sequence[Cell]
    labels: Mapping[str, str] = field(default_factory=dict)
    column_title: str = ""
    notes: Sequence[str] = ()
    spread: str = DEVIATION  # what is printed after ±, or ERROR: of the mean
    differences: Sequence[CellDifference] = ()
    shares: Sequence[GapShare] = ()
    people: bool = False  # whether rows of one person were drawn together for the intervals


def cell_of(method: str, column: str, metric: str, by_seed: Mapping[int, float], paper: float | None) -> Cell:
    """The cell of the figures of one or more runs."""
    values = list(by_seed.values())
    if not values or not all(map(finite, values)):
        raise ValueError(f"{metric} of {method} for {column} needs one number per run, and has {values}")
    spread = stdev(values) if len(values) > 1 else None
    named = {str(seed): value for seed, value in by_seed.items()}  # as JSON will have it
    return Cell(method, column, metric, fmean(values), spread, len(values), paper, named)


def as_json(table: ResultTable) -> dict[str, Any]:
    """The table as a JSON object, from which ``from_json`` gives the same table back."""
    return {
        "table": table.table,
        "selection": table.selection,
        "command": table.command,
        "environment": dict(table.environment),
        "rows": [_cell_as_json(cell) for cell in table.cells],
        "notes": list(table.notes),
        "title": table.title,
        "column_title": table.column_title,
        "labels": dict(table.labels),
        "spread": table.spread,
        **({"differences": [asdict(difference) for difference in table.differences]} if table.differences else {}),
        **({"shares": [asdict(share) for share in table.shares]} if table.shares else {}),
        **({"people": True} if table.people else {}),
    }


def _cell_as_json(cell: Cell) -> dict[str, Any]:
    facts = asdict(cell)
    return facts if cell.interval else {name: fact for name, fact in facts.items() if name != "interval"}


def from_json(value: Mapping[str, Any]) -> ResultTable:
    """The table that ``as_json`` was given."""
    facts = {"title": value["table"], **value, "notes": tuple(value.get("notes", ()))}
    facts["labels"] = {METRICS.canonical(name): label for name, label in facts.get("labels", {}).items()}
    cells = tuple(Cell(**_renamed(row)) for row in facts.pop("rows"))
    differences = tuple(CellDifference(**_renamed(row)) for row in facts.pop("differences", ()))
    shares = tuple(GapShare(**_renamed(row)) for row in facts.pop("shares", ()))
    return ResultTable(cells=cells, differences=differences, shares=shares, **facts)


def _renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table's file with the present name of its metric, which an earlier version may have written."""
    return {**row, "metric": METRICS.canonical(row["metric"])}


def as_rows(table: ResultTable) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of text: one for each method and, below it, one for the paper's figures."""
    by_place = {(cell.method, cell.column, cell.metric): cell for cell in table.cells}
    if len(by_place) < len(table.cells):
        raise ValueError(f"table {table.table} has two cells for the same method, column and metric")
    methods, columns, metrics = (list(dict.fromkeys(key[part] for key in by_place)) for part in range(3))
    # The metrics of a single column are side by side; otherwise each has its lines, so that no line grows too wide.
    turned = len(columns) == 1 < len(metrics)
    blocks = [metrics] if turned else [[metric] for metric in metrics]
    runs = max((cell.n for cell in table.cells), default=0)
    rows = []
    for block in blocks:
        suffix = "" if len(blocks) == 1 else f", {metric_label(table, block[0])}"
        for method in methods:
            cells = [by_place.get((method, column, metric)) for column in columns for metric in block]
            ours = [_ours(cell, runs, table.spread) for cell in cells]
            rows.append([table.labels.get(method, method) + suffix, *ours])
            below = {PAPER: [_paper(cell) for cell in cells], INTERVAL: [_interval(cell) for cell in cells]}
            rows += [[name, *texts] for name, texts in below.items() if any(texts)]
        places = [(column, metric) for column in columns for metric in block]
        lines = difference_rows(table.differences, places, table.labels)
        lines += share_rows(table.shares, places, table.labels)
        rows += [[name + suffix, *texts] for name, *texts in lines]
    if turned:
        return [METHOD, *(metric_label(table, metric) for metric in metrics)], rows
    return [table.column_title or METHOD, *columns], rows


def captions(table: ResultTable) -> list[str]:
    """The lines below the table: what a cell is, how it was computed, the notes and what the marks mean."""
    columns, metrics, runs = ({getattr(cell, part) for cell in table.cells} for part in ("column", "metric", "n"))
    kind = f"mean ± {table.spread} over {max(runs)} runs" if max(runs, default=1) > 1 else "one run each"
    if len(runs) > 1:
        kind += ", fewer if a cell shows its n"
    if len(metrics) == 1:
        kind = f"{metric_label(table, *metrics)}, {kind}"
    facts = {
        "Cells": kind,
        table.column_title or "Column": columns.pop() if len(columns) == 1 < len(metrics) else "",
        "Model selection": table.selection,
        "Environment": ", ".join(f"{name} {value}" for name, value in table.environment.items()),
        "Command": table.command,
    }
    legend = [LEGEND] if any(cell.paper is not None for cell in table.cells) else []
    legend += [_bootstrap_caption(table, max(runs))] if any(cell.interval for cell in table.cells) else []
    legend += [GAP] if table.shares else []
    return [*(f"{name}: {words}" for name, words in facts.items() if words), *table.notes, *legend]


def _bootstrap_caption(table: ResultTable, runs: int) -> str:
    """What the intervals are of."""
    rows = f"tested rows{', all those of a person together,' if table.people else ''}"
    if runs < 2:
        return (
            f"In brackets: 95 % intervals from one run; {rows} were drawn with replacement, the same for all methods."
        )
    few = f"they are widened as {runs} runs require (Student's t)"
    return f"In brackets: 95 % intervals; runs and {rows} were drawn with replacement, the same for all methods; {few}."


def as_markdown(table: ResultTable) -> str:
    """The title, the table and its captions in GitHub's Markdown."""
    headings, rows = as_rows(table)
    head, *lines = [[escaped(text) for text in row] for row in [headings, *rows]]
    body = markdown_table(head, lines, [":--", *(":-:" for _ in headings[1:])])
    notes = [f"- {escaped(caption)}" for caption in captions(table)]
    return "\n".join([f"### {escaped(table.title)}", "", body, "", *notes]) + "\n"


def _ours(cell: Cell | None, runs: int, kind: str) -> str:
    """``.957 ± .004``, and the number of runs if it is below ``runs``."""
    if cell is None:
        return MISSING
    width = cell.std if cell.std is None or kind == DEVIATION else cell.std / cell.n**0.5
    spread = "" if width is None else f" ± {spelled(width)}"
    return spelled(cell.mean) + spread + (f" (n = {cell.n})" if cell.n < runs else "")


def _interval(cell: Cell | None) -> str:
    """``[.479, .591]``; empty if there is none."""
    if cell is None or cell.interval is None:
        return ""
    return f"[{', '.join(map(spelled, cell.interval))}]"


def _paper(cell: Cell | None) -> str:
    """``▲ .943 (+.014)``: the paper's figure, whether ours is above and by how much; empty if there is none."""
    if cell is None or cell.paper is None:
        return ""
    paper = rounded(cell.paper)
    more = rounded(cell.mean) - paper
    mark, plus = (ABOVE, "+") if more > 0 else (BELOW, "") if more < 0 else (EQUAL, "")
    return f"{mark} {figure(paper)} ({plus}{figure(more)})"


def metric_label(table: ResultTable, metric: str) -> str:
    """A metric's name as it is printed."""
    return table.labels.get(metric, METRICS.short(metric))


# Each sign and what it is in a formula.
SIGNS = (
    r"α\alpha β\beta γ\gamma δ\delta ε\epsilon ζ\zeta η\eta θ\theta ι\iota κ\kappa λ\lambda μ\mu ν\nu ξ\xi π\pi ρ\rho "
    r"σ\sigma τ\tau υ\upsilon φ\phi χ\chi ψ\psi ω\omega Γ\Gamma Δ\Delta Θ\Theta Λ\Lambda Ξ\Xi Π\Pi Σ\Sigma Φ\Phi Ψ\Psi "
    r"Ω\Omega ▲\bigtriangleup ▼\bigtriangledown ±\pm −- ×\times →\to ≤\leq ≥\geq ≈\approx << >> || "
    r"↑\uparrow ↓\downarrow ⁰^{0} ¹^{1} ²^{2} ³^{3} ⁴^{4} ⁵^{5} ⁶^{6} ⁷^{7} ⁸^{8} ⁹^{9}"
)
LATEX = {
    **{pair[0]: f"${pair[1:]}$" for pair in SIGNS.split()},
    **{letter: f"\\{letter}" for letter in "&%#_{}"},
    **{letter: f"{{{letter}}}" for letter in "[*"},  # a line break just before would take these for its own
    **{"\\": r"\textbackslash{}", "$": r"\textdollar{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\ldots{}", "‘": "`", "’": "'", "“": "``", "”": "''"},
}


def as_latex(table: ResultTable) -> str:
    """A LaTeX ``table`` that needs no package but booktabs."""
    (stub, *columns), rows = as_rows(table)
    lines = [r"\toprule"]
    if stub != METHOD and columns:
        lines.append(f" & \\multicolumn{{{len(columns)}}}{{c}}{{{_latex(stub)}}} \\\\")
        lines.append(f"\\cmidrule(lr){{2-{len(columns) + 1}}}")
    lines += [" & ".join(map(_latex, [METHOD, *columns])) + r" \\", r"\midrule"]
    for place, row in enumerate(rows):
        small = "\\footnotesize " if row[0] in (PAPER, INTERVAL) else ""
        lines += [r"\addlinespace"] if place and not small else []
        lines.append(" & ".join(small + _latex(text) for text in row) + r" \\")
    parts = [
        r"% \usepackage{booktabs}; names with rare accents also need \usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{_latex(table.title)}}}",
        f"  \\begin{{tabular}}{{l{'c' * len(columns)}}}",
        *(f"    {line}" for line in [*lines, r"\bottomrule"]),
        r"  \end{tabular}",
        r"  \par\smallskip\raggedright\footnotesize",
        *(f"  {_latex(caption)}\\par" for caption in captions(table)),
        r"\end{table}",
    ]
    return "\n".join(parts) + "\n"


def _latex(text: str) -> str:
    """Text on one line in which nothing is markup and every sign is one that LaTeX knows, ``?`` if need be."""
    known = (LATEX.get(letter, letter if letter < "\u0180" else "?") for letter in " ".join(text.split()))
    # Signs side by side are one formula, digits side by side one exponent; two hyphens are no dash.
    return re.sub("-(?=-)", "-{}", "".join(known).replace("$$", "").replace("}^{", ""))
