"""The page docs/results/claims.md: a verdict on each of the paper's claims about Colored MNIST."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean, linear_regression
from typing import Any, NamedTuple

from paired import FAILS, HOLDS, NOT_MEASURED, Comparison, Finding, judged

from csad.report.formatting import markdown_table, signed
from csad.reproduction.result_table import ResultTable

TABLE_1, BOUNDS = "colored-mnist", "colored-mnist-bounds"
LEAKAGE, WEIGHT = "colored-mnist-leakage", "colored-mnist-weight"
TABLES = (TABLE_1, BOUNDS, LEAKAGE, WEIGHT)
INFERENCE = "inference"

VARIANTS = ("csad", "csad-content", "csad-struc", "ad-jsd")
RIVALS = ("alvi", "kim", "ragonesi")
WEIGHT_ROWS = {"sigma-020": "0.020", "sigma-050": "0.050"}  # row → the column of Table 1 with its σ²

# Margins, which the claims state.
NO_WORSE = 0.005
NEAR_CHANCE = 0.05
SAME_TIME = 0.05
UNCHANGED = 0.05
DESTROYED, FAR_BELOW = 0.5, 0.2

Figures = Mapping[str, float]  # by seed


@dataclass(frozen=True)
class Results:
    """What was measured, as far as it is there: tables by name, and the lines of the inference benchmark."""

    tables: Mapping[str, ResultTable] = field(default_factory=dict)
    inference: Sequence[Mapping[str, Any]] = ()


Look = Callable[[Results], Finding]


class Claim(NamedTuple):
    """A claim in words, and what looks for it in the results."""

    number: str
    words: str
    look: Look


class Missing(Exception):
    """Says what would have to be measured first."""


def finding(claim: Claim, results: Results) -> Finding:
    """What the results say of a claim, or what they lack for it."""
    try:
        return claim.look(results)
    except Missing as missing:
        return Finding(NOT_MEASURED, f"{missing}.")


def figures(
    results: Results, name: str, rows: Iterable[str], metric: str = "accuracy"
) -> dict[str, dict[str, Figures]]:
    """The figures of some rows of a table, by column, row and seed."""
    if name not in results.tables:
        raise Missing(f"`{name}.json` is not there")
    cells = results.tables[name].cells
    values = {(cell.column, cell.method): cell.values for cell in cells if cell.metric == metric and cell.values}
    columns, rows = dict.fromkeys(cell.column for cell in cells), list(dict.fromkeys(rows))
    lacking = [row for row in rows if not any((column, row) in values for column in columns)]
    partial = [row for row in rows if row not in lacking]
    lacking += [f"{row} at {column}" for row, column in product(partial, columns) if (column, row) not in values]
    if lacking:
        raise Missing(f"`{name}.json` has no {metric} by seed of {', '.join(lacking)}")
    return {column: {row: values[column, row] for row in rows} for column in columns}


def compared(
    what: str, where: str, more: Figures, less: Figures, *, holds_above: float = 0.0, fails_below: float = 0.0
) -> Comparison:
    """``more`` minus ``less``, over the seeds that both have."""
    shared = sorted(more.keys() & less.keys())
    if not shared:
        raise Missing(f"{what} at {where}: no seed is on both sides")
    return Comparison(what, where, [more[seed] - less[seed] for seed in shared], holds_above, fails_below)


def above(name: str, pairs: Iterable[tuple[str, str]], metric: str = "accuracy", margin: float = 0.0) -> Look:
    """Of each pair the first row lies above the second in every column, or below it by no more than the margin."""
    compared_rows = list(pairs)

    def look(results: Results) -> Finding:
        by_column = figures(results, name, (row for pair in compared_rows for row in pair), metric)
        comparisons = [
            compared(f"{more} − {less}", column, by_row[more], by_row[less], holds_above=-margin)
            for more, less in compared_rows
            for column, by_row in by_column.items()
        ]
        return judged(comparisons)

    return look


def gain_grows(results: Results) -> Finding:
    """The smaller σ², the larger the gain over vanilla: a line through each seed's gains rises as σ² falls."""
    by_column = figures(results, TABLE_1, ("csad", "vanilla"))
    seeds = set.intersection(*(set(by_seed) for by_row in by_column.values() for by_seed in by_row.values()))
    if len(by_column) < 2 or not seeds:
        raise Missing(f"`{TABLE_1}.json` has no seed of csad and vanilla at two σ² or more")
    falling = [-100 * float(column) for column in by_column]  # in steps of .01
    gains = [
        [by_row["csad"][seed] - by_row["vanilla"][seed] for by_row in by_column.values()] for seed in sorted(seeds)
    ]
    slopes = [linear_regression(falling, of_seed).slope for of_seed in gains]
    return judged([Comparison("growth of csad − vanilla for each .01 less of σ²", "", slopes)])


def less_read(metric: str) -> Look:
    """A probe reads less of the bias from CSAD's features than from vanilla's."""
    return above(LEAKAGE, [("vanilla", "csad")], metric)


def at_chance(metric: str) -> Look:
    """A probe reads no more of the bias from CSAD's features than chance and a margin."""

    def look(results: Results) -> Finding:
        probes, chances = (figures(results, LEAKAGE, ("csad",), name) for name in (metric, "bias_chance"))
        comparisons = []
        for column in probes:
            probe, chance = probes[column]["csad"], chances[column]["csad"]
            what = f"chance {fmean(chance.values()):.3f} − probe {fmean(probe.values()):.3f}"
            margins = {"holds_above": -NEAR_CHANCE, "fails_below": -NEAR_CHANCE}
            comparisons.append(compared(what, column, chance, probe, **margins))
        return judged(comparisons)

    return look


def no_cost(results: Results) -> Finding:
    """At test time CSAD has vanilla's parameters and takes vanilla's time."""
    if not results.inference:
        raise Missing(f"`{INFERENCE}.json` is not there")
    lines = {line["method"]: line for line in results.inference}
    if lacking := [name for name in ("vanilla", "csad") if name not in lines]:
        raise Missing(f"`{INFERENCE}.json` has no {', '.join(lacking)}")
    vanilla, csad = lines["vanilla"], lines["csad"]
    share = csad["ms"] / vanilla["ms"]
    holds = csad["parameters"] == vanilla["parameters"] and share <= 1 + SAME_TIME
    words = [f"{line['method']}: {line['parameters']} parameters, {line['ms']:.3f} ms" for line in (csad, vanilla)]
    return Finding(HOLDS if holds else FAILS, f"{'; '.join(words)}; {share:.3f} times vanilla's time.")


def small_weight(results: Results) -> Finding:
    """The smallest λ gives what vanilla gives, up to a margin either way."""
    by_weight, table_1 = figures(results, WEIGHT, WEIGHT_ROWS), figures(results, TABLE_1, ("vanilla",))
    least, comparisons = min(by_weight, key=float), []
    for row, column in WEIGHT_ROWS.items():
        if column not in table_1:
            raise Missing(f"`{TABLE_1}.json` has no column {column}")
        csad, vanilla = by_weight[least][row], table_1[column]["vanilla"]
        margins = {"holds_above": -UNCHANGED, "fails_below": -UNCHANGED}
        comparisons += [
            compared(f"λ {least} − vanilla", column, csad, vanilla, **margins),
            compared(f"vanilla − λ {least}", column, vanilla, csad, **margins),
        ]
    return judged(comparisons)


def large_weight(results: Results) -> Finding:
    """The largest λ ends below a mark, or far below the best λ."""
    by_weight = figures(results, WEIGHT, WEIGHT_ROWS)
    most, comparisons = max(by_weight, key=float), []
    for row, column in WEIGHT_ROWS.items():
        means = {weight: fmean(by_row[row].values()) for weight, by_row in by_weight.items()}
        best = max(means, key=lambda weight: means[weight])
        marks = {seed: max(DESTROYED, value - FAR_BELOW) for seed, value in by_weight[best][row].items()}
        what = f"mark − λ {most} ({means[most]:.3f}; best: {means[best]:.3f} with λ {best})"
        comparisons.append(compared(what, column, marks, by_weight[most][row]))
    return judged(comparisons)


CLAIMS = (
    Claim(
        "1",
        "All variants of CSAD, AD-JSD among them, beat Alvi et al., Kim et al. and Ragonesi et al. at every σ²",
        above(TABLE_1, product(VARIANTS, RIVALS)),
    ),
    Claim("2", "The gain of CSAD over vanilla grows as σ² falls (a line through each seed's gains)", gain_grows),
    Claim("3", "CSAD-Content beats AD-JSD at every σ²", above(TABLE_1, [("csad-content", "ad-jsd")])),
    Claim(
        "4",
        f"CSAD-Struc is no worse than CSAD-Content at any σ² (margin {NO_WORSE})",
        above(TABLE_1, [("csad-struc", "csad-content")], margin=NO_WORSE),
    ),
    Claim(
        "5",
        f"CSAD is no worse than CSAD-Content and CSAD-Struc at any σ² (margin {NO_WORSE})",
        above(TABLE_1, [("csad", "csad-content"), ("csad", "csad-struc")], margin=NO_WORSE),
    ),
    Claim(
        "6",
        "Pairs across samples beat pairs within one sample, with each of four bounds",
        above(BOUNDS, [(f"{bound}-near", f"{bound}-same") for bound in ("cs", "jsd", "nce", "mine")]),
    ),
    Claim(
        "7",
        "I_CS beats I_JSD and MINE over the same pairs",
        above(BOUNDS, [("cs-near", "jsd-near"), ("cs-near", "mine-near")]),
    ),
    Claim("8a", "Less of the bias can be read from h than in vanilla", less_read("bias_from_h")),
    Claim("8b", f"No more of it can be read from h than chance (margin {NEAR_CHANCE})", at_chance("bias_from_h")),
    Claim("8c", "Less of the bias can be read from h_y than in vanilla", less_read("bias_from_h_y")),
    Claim("8d", f"No more of it can be read from h_y than chance (margin {NEAR_CHANCE})", at_chance("bias_from_h_y")),
    Claim("9", f"No cost at test time: vanilla's parameters, its time plus {100 * SAME_TIME:g} % at most", no_cost),
    Claim("10a", f"Too small a λ changes nothing: the smallest is as vanilla (margin {UNCHANGED})", small_weight),
    Claim(
        "10b",
        f"Too large a λ destroys the target: the largest is below {DESTROYED}, or below the best λ by {FAR_BELOW}",
        large_weight,
    ),
)


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
        result = finding(claim, results)
        verdicts.append([claim.number, claim.words, f"**{result.state}**", result.words])
    table = results.tables.get(TABLE_1)
    parts = [
        HEAD,
        markdown_table(["", "claim", "verdict", "figures"], verdicts),
        f"\n## Apart from the paper by more than {APART}\n",
        apart(table, why) if table else f"Not measured: `{TABLE_1}.json` is not there.",
    ]
    return "\n".join(parts) + "\n"


def apart(table: ResultTable, why: Mapping[str, str]) -> str:
    """The cells that are far from the paper's, ours minus the paper's, one line for each row that has any."""
    # At three digits, the paper's precision.
    gaps = {(c.method, c.column): round(round(c.mean, 3) - c.paper, 3) for c in table.cells if c.paper is not None}
    far = {place: gap for place, gap in gaps.items() if abs(gap) > APART}
    summary = f"{len(far)} of the {len(gaps)} cells for which the paper has a number"
    if not far:
        return f"{summary}."
    columns = list(dict.fromkeys(column for _, column in gaps))
    lines = []
    for row in dict.fromkeys(row for row, _ in far):
        shown = [signed(far[row, column]) if (row, column) in far else "" for column in columns]
        lines.append([table.labels.get(row, row), *shown, why.get(row, "")])
    return f"{summary}; ours minus the paper's:\n\n{markdown_table([table.column_title, *columns, ''], lines)}"
