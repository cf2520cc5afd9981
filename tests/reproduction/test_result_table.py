"""Tables of results: figures, marks and gaps as a reader expects them, and text that no form takes for markup."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest

from csad.reproduction.result_table import (
    Cell,
    CellDifference,
    ResultTable,
    as_json,
    as_latex,
    as_markdown,
    as_rows,
    captions,
    cell_of,
    difference_rows,
    from_json,
)

WILD = r"a_b 50 % & #1 {x} ~y ^z \n $5 |p| <q> [r] *s* __t__ &lt; σ²⁰ 漢 -- …"
TABLE = ResultTable(
    table="colored-mnist",
    title="Colored MNIST",
    selection="last epoch",
    command="csad reproduce colored-mnist --seeds 3",
    environment={"torch": "2.11", "device": "cpu"},
    cells=(
        Cell("vanilla", "0.020", "accuracy", 0.4701, 0.0123, 3, 0.476),
        Cell("vanilla", "0.025", "accuracy", 0.5521, 0.0101, 3, 0.542),
        Cell("csad", "0.020", "accuracy", 0.9572, 0.0036, 3, 0.943),
    ),
    labels={"csad": "CSAD", "vanilla": "Vanilla"},
    column_title="Color variance σ²",
    notes=("Colours are drawn once.",),
)


def one_cell(mean: float, paper: float | None = None, std: float | None = None, n: int = 1) -> list[str]:
    """What the lines of a table with this one cell show."""
    _, rows = as_rows(replace(TABLE, cells=(Cell("csad", "0.020", "accuracy", mean, std, n, paper),)))
    return [row[1] for row in rows]


def wild_table() -> ResultTable:
    cells = (Cell(WILD, WILD, WILD, 0.5, 0.1, 2, 0.4), Cell("[b", "*", WILD, 0.5, 0.1, 3, None))
    return ResultTable(WILD, WILD, WILD, WILD, {WILD: WILD}, cells, {WILD: WILD}, WILD, (WILD, "two\n\nlines"))


def test_the_markdown_reads_as_written_here() -> None:
    assert as_markdown(TABLE) == (
        "### Colored MNIST\n"
        "\n"
        "| Color variance σ² | 0.020 | 0.025 |\n"
        "| :-- | :-: | :-: |\n"
        "| Vanilla | .470 ± .012 | .552 ± .010 |\n"
        "| paper | ▼ .476 (−.006) | ▲ .542 (+.010) |\n"
        "| CSAD | .957 ± .004 | – |\n"
        "| paper | ▲ .943 (+.014) |  |\n"
        "\n"
        "- Cells: accuracy, mean ± standard deviation over 3 runs\n"
        "- Model selection: last epoch\n"
        "- Environment: torch 2.11, device cpu\n"
        "- Command: csad reproduce colored-mnist --seeds 3\n"
        "- Colours are drawn once.\n"
        "- Below a method: the paper's result and, in brackets, ours minus the paper's, both with three digits. "
        "▲: ours is above; ▼: below; =: equal; –: no result.\n"
    )


def test_the_latex_reads_as_written_here() -> None:
    lines = as_latex(TABLE).splitlines()
    assert lines[1:11] == [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{Colored MNIST}",
        r"  \begin{tabular}{lcc}",
        r"    \toprule",
        r"     & \multicolumn{2}{c}{Color variance $\sigma^{2}$} \\",
        r"    \cmidrule(lr){2-3}",
        r"    Method & 0.020 & 0.025 \\",
        r"    \midrule",
        r"    Vanilla & .470 $\pm$ .012 & .552 $\pm$ .010 \\",
    ]
    below, above = r"\footnotesize $\bigtriangledown$ .476 ($-$.006)", r"\footnotesize $\bigtriangleup$ .542 (+.010)"
    assert lines[11] == rf"    \footnotesize paper & {below} & {above} \\"
    assert lines[12:23] == [
        r"    \addlinespace",
        r"    CSAD & .957 $\pm$ .004 & \textendash{} \\",
        r"    \footnotesize paper & \footnotesize $\bigtriangleup$ .943 (+.014) & \footnotesize  \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \par\smallskip\raggedright\footnotesize",
        r"  Cells: accuracy, mean $\pm$ standard deviation over 3 runs\par",
        r"  Model selection: last epoch\par",
        r"  Environment: torch 2.11, device cpu\par",
        r"  Command: csad reproduce colored-mnist -{}-seeds 3\par",
        r"  Colours are drawn once.\par",
    ]
    assert all(sign in lines[23] for sign in (r" $\bigtriangleup$: ", r" $\bigtriangledown$: ", r" \textendash{}: "))
    assert lines[23].endswith(r"\par")
    assert lines[24:] == [r"\end{table}"]


def test_the_terminal_gets_headings_and_lines_of_equal_length() -> None:
    headings, rows = as_rows(TABLE)
    assert headings == ["Color variance σ²", "0.020", "0.025"]
    assert rows == [
        ["Vanilla", ".470 ± .012", ".552 ± .010"],
        ["paper", "▼ .476 (−.006)", "▲ .542 (+.010)"],
        ["CSAD", ".957 ± .004", "–"],
        ["paper", "▲ .943 (+.014)", ""],
    ]


@pytest.mark.parametrize(
    "mean, paper, ours, beside",
    [
        (0.9425, 0.943, ".943", "= .943 (.000)"),
        (0.94249, 0.943, ".942", "▼ .943 (−.001)"),
        (0.9434999, 0.943, ".943", "= .943 (.000)"),
        (0.9435, 0.943, ".944", "▲ .943 (+.001)"),
        (0.0625, 0.062, ".063", "▲ .062 (+.001)"),  # exact in binary: round() would go to the even .062
        (1.0005, 1.0, "1.001", "▲ 1.000 (+.001)"),
        (0.9996, 1.0, "1.000", "= 1.000 (.000)"),
        (0.0, 0.001, ".000", "▼ .001 (−.001)"),
        (-0.25, 0.9, "−.250", "▼ .900 (−1.150)"),
    ],
)
def test_a_half_rounds_away_from_zero_before_the_paper_is_compared(
    mean: float, paper: float, ours: str, beside: str
) -> None:
    assert one_cell(mean, paper) == [ours, beside]


def test_the_error_of_binary_fractions_does_not_decide_a_half() -> None:
    cell = cell_of("csad", "0.020", "accuracy", {0: 0.942, 1: 0.943}, 0.943)
    assert cell.mean < 0.9425
    assert as_rows(replace(TABLE, cells=[cell]))[1] == [["CSAD", ".943 ± .001"], ["paper", "= .943 (.000)"]]


def test_a_cell_holds_the_mean_and_the_deviation_over_n_minus_one() -> None:
    cell = cell_of("csad", "0.020", "accuracy", {0: 0.8, 1: 0.9, 2: 1.0}, None)
    assert (cell.mean, cell.std) == (pytest.approx(0.9), pytest.approx(0.1))
    assert (cell.method, cell.column, cell.metric, cell.n, cell.paper) == ("csad", "0.020", "accuracy", 3, None)


def test_a_single_run_has_no_deviation() -> None:
    assert cell_of("csad", "0.020", "accuracy", {7: 0.9}, 0.8) == Cell(
        "csad", "0.020", "accuracy", 0.9, None, 1, 0.8, {"7": 0.9}
    )
    assert one_cell(0.9, 0.8) == [".900", "▲ .800 (+.100)"]
    alone = replace(TABLE, cells=[Cell("csad", "0.020", "auc", 0.9, None, 1, None)])
    assert captions(alone)[0] == "Cells: auc, one run each"


@pytest.mark.parametrize("values", [[], [0.5, math.nan]])
def test_a_cell_needs_one_number_per_run(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"accuracy of csad for 0\.020 needs one number per run"):
        cell_of("csad", "0.020", "accuracy", dict(enumerate(values)), None)


def test_without_any_figure_of_the_paper_only_ours_are_shown() -> None:
    alone = replace(TABLE, cells=[replace(cell, paper=None) for cell in TABLE.cells])
    assert as_rows(alone)[1] == [["Vanilla", ".470 ± .012", ".552 ± .010"], ["CSAD", ".957 ± .004", "–"]]
    assert captions(alone)[-1] == "Colours are drawn once."


def test_a_cell_with_fewer_runs_than_the_others_says_so() -> None:
    short = replace(TABLE, cells=[*TABLE.cells, Cell("csad", "0.025", "accuracy", 0.95, None, 1, None)])
    assert as_rows(short)[1][2] == ["CSAD", ".957 ± .004", ".950 (n = 1)"]
    expected = "Cells: accuracy, mean ± standard deviation over 3 runs, fewer if a cell shows its n"
    assert captions(short)[0] == expected


def test_the_error_of_the_mean_may_be_shown_in_place_of_the_deviation() -> None:
    shown = replace(TABLE, cells=[Cell("csad", "0.020", "accuracy", 0.95, 0.04, 16, None)], spread="standard error")
    assert as_rows(shown)[1] == [["CSAD", ".950 ± .010"]]
    assert captions(shown)[0] == "Cells: accuracy, mean ± standard error over 16 runs"


def test_two_cells_in_one_place_are_an_error() -> None:
    with pytest.raises(ValueError, match="two cells for the same method, column and metric"):
        as_rows(replace(TABLE, cells=TABLE.cells * 2))


def test_the_metrics_of_a_single_column_stand_side_by_side() -> None:
    cells = [
        Cell("vanilla", "test", "accuracy", 0.8, 0.01, 2, 0.8),
        Cell("vanilla", "test", "gap_gender_rms", 0.25, 0.02, 2, None),
        Cell("csad", "test", "auc", 0.9, 0.03, 2, None),
    ]
    labels = {"csad": "CSAD", "auc": "AUC"}
    adult = replace(TABLE, cells=cells, labels=labels, column_title="Split")
    assert as_rows(adult) == (
        ["Method", "accuracy", "gap gender rms", "AUC"],
        [
            ["vanilla", ".800 ± .010", ".250 ± .020", "–"],
            ["paper", "= .800 (.000)", "", ""],
            ["CSAD", "–", "–", ".900 ± .030"],
        ],
    )
    assert captions(adult)[:2] == ["Cells: mean ± standard deviation over 2 runs", "Split: test"]
    assert "multicolumn" not in as_latex(adult)


def test_several_metrics_of_several_columns_have_lines_of_their_own() -> None:
    more = [replace(cell, metric="worst_group", mean=cell.mean / 2, paper=None) for cell in TABLE.cells]
    _, rows = as_rows(replace(TABLE, cells=[*TABLE.cells, *more]))
    assert [row[0] for row in rows] == [
        "Vanilla, accuracy",
        "paper",
        "CSAD, accuracy",
        "paper",
        "Vanilla, worst group",
        "CSAD, worst group",
    ]
    assert rows[-1] == ["CSAD, worst group", ".479 ± .004", "–"]


def test_the_json_has_the_agreed_keys_in_their_order() -> None:
    value = as_json(TABLE)
    assert list(value)[:6] == ["table", "selection", "command", "environment", "rows", "notes"]
    assert json.dumps(value["rows"][2]) == (
        '{"method": "csad", "column": "0.020", "metric": "accuracy", '
        '"mean": 0.9572, "std": 0.0036, "n": 3, "paper": 0.943, "values": {}}'
    )


@pytest.mark.parametrize("table", [TABLE, wild_table()], ids=["plain", "wild"])
def test_a_table_comes_back_from_its_json(table: ResultTable) -> None:
    assert from_json(json.loads(json.dumps(as_json(table)))) == table


def test_a_json_without_the_optional_keys_is_read_too() -> None:
    value = {name: as_json(TABLE)[name] for name in ("table", "selection", "command", "environment", "rows")}
    read = from_json(value)
    assert (read.title, read.cells, read.notes) == ("colored-mnist", TABLE.cells, ())


@pytest.mark.parametrize(
    "text, written",
    [
        ("a_b", r"a\_b"),
        ("5 % & more #1", r"5 \% \& more \#1"),
        ("{x}~y^z", r"\{x\}\textasciitilde{}y\textasciicircum{}z"),
        (r"\end", r"\textbackslash{}end"),
        ("$5σ", r"\textdollar{}5$\sigma$"),
        ("σ² = 10¹² → λ", r"$\sigma^{2}$ = 10$^{12}$ $\to$ $\lambda$"),
        ("[a] *", "{[}a] {*}"),
        ("EB1→EB2", r"EB1$\to$EB2"),
        ("a – b --c ---", r"a \textendash{} b -{}-c -{}-{}-"),
        ("Schölkopf 漢", "Schölkopf ?"),
        ("two\n\nlines", "two lines"),
    ],
)
def test_latex_takes_no_text_for_markup(text: str, written: str) -> None:
    assert f"\\caption{{{written}}}\n" in as_latex(replace(TABLE, title=text))


def test_wild_latex_is_balanced_and_every_line_of_the_table_has_its_cells() -> None:
    latex = as_latex(wild_table())
    bare = re.sub(r"\\[&%#_{}]", "", latex)
    assert bare.count("{") == bare.count("}")
    assert all(line.count("$") % 2 == 0 and "$$" not in line for line in bare.splitlines())
    assert all(letter < "\u0180" for letter in latex)
    cells = [line.count("&") for line in bare.splitlines() if line.endswith(r" \\")]
    assert cells == [1, 2, 2, 2, 2]  # the first spans two columns
    assert not re.search(r"\\\\\s*[\[*]", latex)


@pytest.mark.parametrize(
    "text, written",
    [
        ("a|b", r"a\|b"),
        ("debias_weight", "debias_weight"),
        ("__t__ _u", r"\_\_t\_\_ \_u"),
        ("*a* `b` <i> [c] ~d~ #1 $5", r"\*a\* \`b\` \<i> \[c\] \~d\~ \#1 \$5"),
        ("R&D &lt;", r"R&D \&lt;"),
        ("back\\slash", r"back\\slash"),
        ("two\nlines", "two lines"),
    ],
)
def test_markdown_takes_no_text_for_markup(text: str, written: str) -> None:
    assert as_markdown(replace(TABLE, title=text)).startswith(f"### {written}\n")
    assert f"| {written} | .957" in as_markdown(replace(TABLE, labels={"csad": text}))


def test_wild_markdown_has_as_many_cells_in_every_line() -> None:
    lines = [line for line in as_markdown(wild_table()).splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [4] * 5


def test_a_table_without_cells_still_stands() -> None:
    empty = replace(TABLE, cells=())
    assert as_rows(empty) == (["Color variance σ²"], [])
    assert "| Color variance σ² |\n| :-- |\n" in as_markdown(empty)
    assert "\\toprule\n    Method \\\\\n    \\midrule\n    \\bottomrule" in as_latex(empty)


def test_differences_stand_where_there_are_some_and_say_nothing_elsewhere() -> None:
    one = CellDifference("csad", "vanilla", "0.020", "accuracy", 0.1, (0.05, 0.15))
    labels = TABLE.labels
    assert difference_rows([one], [("0.020", "accuracy"), ("0.025", "accuracy")], labels) == [
        ["CSAD − Vanilla", "+.100 [+.050, +.150]", "–"]
    ]
    assert difference_rows([one], [("0.020", "auc"), ("0.025", "auc")], labels) == []


@pytest.mark.parametrize(
    ("people", "runs", "drawn", "width"),
    [
        (False, 3, "; runs and tested rows were drawn with replacement", "3 runs require"),
        (True, 10, "; runs and tested rows, all those of a person together, were drawn with replacement", ""),
        (False, 1, "; tested rows were drawn with replacement", "intervals from one run;"),
    ],
)
def test_intervals_say_what_was_drawn(people: bool, runs: int, drawn: str, width: str) -> None:
    cell = Cell("csad", "0.020", "accuracy", 0.9, 0.01, runs, None, interval=(0.8, 0.95))
    table = replace(TABLE, cells=(cell,), people=people)
    assert drawn in captions(table)[-1]
    assert width in captions(table)[-1]
    assert from_json(as_json(table)).people == people
