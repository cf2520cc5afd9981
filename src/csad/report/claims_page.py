"""The page of the paper's claims: results come in, Markdown with a verdict on each goes out."""

from __future__ import annotations

from collections.abc import Mapping

from csad.report import markdown
from csad.report.claims import CLAIMS, TABLE_1, Results, finding
from csad.report.digits import signed
from csad.report.tables import ResultTable

APART = 0.02  # ours and the paper's differ by more than that: worth a line

HEAD = """# What holds of the paper's claims about Colored MNIST

Written by `make docs` from the result files beside this one. Two rows of a table are compared in one column, seed by
seed: the mean difference and, in brackets, its 95 % interval (Student's t). A comparison holds where the whole interval
lies above 0, or above minus the margin where the claim has one; else it fails where the interval lies wholly below 0
(8b, 8d, 10a: below minus the margin); else these seeds cannot tell.

A claim made of many comparisons holds if all of them hold; that needs no correction, since each has to by itself. It
fails if one of them fails even after Holm's correction for their number: of 84 comparisons, two may lie below 0 by
chance. With few seeds that is a hard test, so those that lie below 0 only by themselves are named as well.
"""


def claims_page(results: Results, why: Mapping[str, str]) -> str:
    """Each claim with its verdict, then what lies apart from the paper; ``why`` has a sentence for some of its rows."""
    verdicts = []
    for claim in CLAIMS:
        found = finding(claim, results)
        verdicts.append([claim.number, claim.words, f"**{found.state}**", found.words])
    table = results.tables.get(TABLE_1)
    parts = [
        HEAD,
        markdown.table(["", "claim", "verdict", "figures"], verdicts),
        f"\n## Apart from the paper by more than {APART}\n",
        apart(table, why) if table else f"Not measured: `{TABLE_1}.json` is not there.",
    ]
    return "\n".join(parts) + "\n"


def apart(table: ResultTable, why: Mapping[str, str]) -> str:
    """The cells that are far from the paper's, ours minus the paper's, one line for each row that has any."""
    # At three digits, the paper's precision.
    gaps = {(c.method, c.column): round(round(c.mean, 3) - c.paper, 3) for c in table.cells if c.paper is not None}
    far = {place: gap for place, gap in gaps.items() if abs(gap) > APART}
    told = f"{len(far)} of the {len(gaps)} cells for which the paper has a number"
    if not far:
        return f"{told}."
    columns = list(dict.fromkeys(column for _, column in gaps))
    lines = []
    for row in dict.fromkeys(row for row, _ in far):
        shown = [signed(far[row, column]) if (row, column) in far else "" for column in columns]
        lines.append([table.labels.get(row, row), *shown, why.get(row, "")])
    return f"{told}; ours minus the paper's:\n\n{markdown.table([table.column_title, *columns, ''], lines)}"
