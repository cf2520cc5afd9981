"""A table of results beside the paper's: plain cells come in; JSON, Markdown or lines for a terminal go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, stdev
from typing import Any

from csad.report import markdown
from csad.report.differences import GAP, Difference, Share, difference_rows, share_rows
from csad.report.digits import MISSING, figure, rounded, spelled
from csad.report.drawing import finite

METHOD, PAPER, INTERVAL = "Method", "paper", "95 %"
DEVIATION, ERROR = "standard deviation", "standard error"
ABOVE, BELOW, EQUAL = "▲", "▼", "="
LEGEND = (
    "Below a method: the paper's figure and, in brackets, ours minus the paper's, both at three digits. "
    f"{ABOVE} ours is above, {BELOW} below, {EQUAL} equal; {MISSING} no figure."
)


@dataclass(frozen=True)
class Cell:
    """What the runs of one method came to, in fractions; ``std`` is over n − 1 and None for a single run.

    ``values`` are the runs' own figures by seed: methods are compared seed by seed.
    """

    method: str
    column: str
    metric: str
    mean: float
    std: float | None
    n: int
    paper: float | None
    values: Mapping[str, float] = field(default_factory=dict)
    interval: Sequence[float] | None = None  # (low, high), of tested rows and runs that are drawn anew


@dataclass(frozen=True)
class ResultTable:
    """Cells and all that a reader must know of them; ``labels`` say how a method or a metric is printed."""

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
    differences: Sequence[Difference] = ()
    shares: Sequence[Share] = ()
    people: bool = False  # whether rows of one person were drawn together for the intervals


def cell_of(method: str, column: str, metric: str, by_seed: Mapping[int, float], paper: float | None) -> Cell:
    """The cell of the figures that one or more runs gave."""
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
        "rows": [_told(cell) for cell in table.cells],
        "notes": list(table.notes),
        "title": table.title,
        "column_title": table.column_title,
        "labels": dict(table.labels),
        "spread": table.spread,
        **({"differences": [asdict(one) for one in table.differences]} if table.differences else {}),
        **({"shares": [asdict(one) for one in table.shares]} if table.shares else {}),
        **({"people": True} if table.people else {}),
    }


def _told(cell: Cell) -> dict[str, Any]:
    facts = asdict(cell)
    return facts if cell.interval else {name: fact for name, fact in facts.items() if name != "interval"}


def from_json(value: Mapping[str, Any]) -> ResultTable:
    """The table that ``as_json`` was given."""
    facts = {"title": value["table"], **value, "notes": tuple(value.get("notes", ()))}
    cells = tuple(Cell(**row) for row in facts.pop("rows"))
    differences = tuple(Difference(**one) for one in facts.pop("differences", ()))
    shares = tuple(Share(**one) for one in facts.pop("shares", ()))
    return ResultTable(cells=cells, differences=differences, shares=shares, **facts)


def as_rows(table: ResultTable) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of text: one for each method and, below it, one for the paper's figures."""
    found = {(cell.method, cell.column, cell.metric): cell for cell in table.cells}
    if len(found) < len(table.cells):
        raise ValueError(f"table {table.table} has two cells for the same method, column and metric")
    methods, columns, metrics = (list(dict.fromkeys(key[part] for key in found)) for part in range(3))
    # The metrics of a single column stand side by side; else each metric has its lines, so that no line grows too wide.
    turned = len(columns) == 1 < len(metrics)
    blocks = [metrics] if turned else [[metric] for metric in metrics]
    runs = max((cell.n for cell in table.cells), default=0)
    rows = []
    for block in blocks:
        beside = "" if len(blocks) == 1 else f", {metric_label(table, block[0])}"
        for method in methods:
            cells = [found.get((method, column, metric)) for column in columns for metric in block]
            ours = [_ours(cell, runs, table.spread) for cell in cells]
            rows.append([table.labels.get(method, method) + beside, *ours])
            below = {PAPER: [_paper(cell) for cell in cells], INTERVAL: [_interval(cell) for cell in cells]}
            rows += [[what, *told] for what, told in below.items() if any(told)]
        places = [(column, metric) for column in columns for metric in block]
        lines = difference_rows(table.differences, places, table.labels)
        lines += share_rows(table.shares, places, table.labels)
        rows += [[name + beside, *told] for name, *told in lines]
    if turned:
        return [METHOD, *(metric_label(table, metric) for metric in metrics)], rows
    return [table.column_title or METHOD, *columns], rows


def captions(table: ResultTable) -> list[str]:
    """The lines below the table: what a cell is, how it came about, the notes and what the marks mean."""
    columns, metrics, runs = ({getattr(cell, part) for cell in table.cells} for part in ("column", "metric", "n"))
    kind = f"mean ± {table.spread} over {max(runs)} runs" if max(runs, default=1) > 1 else "a single run each"
    if len(runs) > 1:
        kind += ", fewer where a cell says so"
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
    legend += [_drawn(table, max(runs))] if any(cell.interval for cell in table.cells) else []
    legend += [GAP] if table.shares else []
    return [*(f"{name}: {words}" for name, words in facts.items() if words), *table.notes, *legend]


def _drawn(table: ResultTable, runs: int) -> str:
    """What the intervals are of."""
    rows = f"tested rows{', all those of a person together,' if table.people else ''}"
    if runs < 2:
        return f"In brackets 95 % intervals: {rows} were drawn with replacement, the same for all methods; of one run."
    few = f"they reach as far as {runs} runs call for (Student's t)"
    return f"In brackets 95 % intervals: runs and {rows} were drawn with replacement, the same for all methods; {few}."


def as_markdown(table: ResultTable) -> str:
    """The title, the table and its captions in GitHub's Markdown."""
    headings, rows = as_rows(table)
    head, *lines = [[markdown.escaped(text) for text in row] for row in [headings, *rows]]
    body = markdown.table(head, lines, [":--", *(":-:" for _ in headings[1:])])
    notes = [f"- {markdown.escaped(caption)}" for caption in captions(table)]
    return "\n".join([f"### {markdown.escaped(table.title)}", "", body, "", *notes]) + "\n"


def _ours(cell: Cell | None, runs: int, kind: str) -> str:
    """``.957 ± .004``, and the number of runs where it falls short of ``runs``."""
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
    """``▲ .943 (+.014)``: the paper's figure, where ours stands to it and by how much; empty if there is none."""
    if cell is None or cell.paper is None:
        return ""
    paper = rounded(cell.paper)
    more = rounded(cell.mean) - paper
    mark, plus = (ABOVE, "+") if more > 0 else (BELOW, "") if more < 0 else (EQUAL, "")
    return f"{mark} {figure(paper)} ({plus}{figure(more)})"


def metric_label(table: ResultTable, metric: str) -> str:
    """A metric's name as it is printed."""
    return table.labels.get(metric, metric.replace("_", " "))
