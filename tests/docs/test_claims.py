"""Claims of the paper: intervals as one reckons them by hand, each verdict where it belongs, and gaps told as gaps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from claims import (
    BOUNDS,
    CLAIMS,
    LEAKAGE,
    RIVALS,
    TABLE_1,
    VARIANTS,
    WEIGHT,
    Results,
    claims_page,
    finding,
)
from paired import CANNOT_TELL, FAILS, HOLDS, NOT_MEASURED, Comparison, Finding, judged

from csad.auditing.metrics.intervals import holm
from csad.report.formatting import signed
from csad.reproduction.result_table import Cell, ResultTable, cell_of

SEEDS = (10, 11, 12)
SPREAD = (-0.001, 0.0, 0.001)
COLUMNS = ("0.020", "0.050")
Lines = Mapping[str, Sequence[float]]  # row → mean in each column


def cells_of(lines: Lines, columns: Sequence[str] = COLUMNS, metric: str = "accuracy") -> list[Cell]:
    """Cells whose three runs lie around each mean; the noise runs the other way in the next row and the next column."""
    found = []
    for k, (row, means) in enumerate(lines.items()):
        for n, (column, mean) in enumerate(zip(columns, means, strict=True)):
            runs = {seed: mean + (-1) ** (k + n) * noise for seed, noise in zip(SEEDS, SPREAD, strict=True)}
            found.append(cell_of(row, column, metric, runs, None))
    return found


def table_of(name: str, cells: Sequence[Cell]) -> ResultTable:
    return ResultTable(name, name, "", "", {}, cells, {"csad": "CSAD"}, "σ²")


def look(number: str, *tables: ResultTable, inference: Sequence[Mapping[str, object]] = ()) -> Finding:
    """What the tables say of the claim of that number."""
    claim = next(claim for claim in CLAIMS if claim.number == number)
    return finding(claim, Results({table.table: table for table in tables}, inference))


def table_1(lines: Lines) -> ResultTable:
    return table_of(TABLE_1, cells_of(lines))


GOOD = {**dict.fromkeys(VARIANTS, (0.95, 0.98)), **dict.fromkeys(RIVALS, (0.8, 0.9)), "vanilla": (0.5, 0.8)}


def test_an_interval_is_the_one_reckoned_by_hand() -> None:
    # Mean .02, standard deviation .01, standard error .01 / √3 = .0057735, t(.975, 2) = 4.302653: ± .0248414.
    three = Comparison("a − b", "0.020", (0.01, 0.02, 0.03))
    assert three.interval == pytest.approx((0.02 - 0.0248414, 0.02 + 0.0248414), abs=1e-7)
    # For two degrees of freedom the t distribution has a closed form: ½ − t / (2 √(2 + t²)), here t = √12.
    assert replace(three, values=(-0.01, -0.02, -0.03)).p == pytest.approx(0.5 - 12**0.5 / (2 * 14**0.5))
    # Mean .02, standard error .01, t(.975, 1) = 12.706205.
    two = Comparison("a − b", "0.020", (0.01, 0.03))
    assert two.interval == pytest.approx((0.02 - 0.12706205, 0.02 + 0.12706205), abs=1e-7)
    assert str(three) == "a − b at 0.020: +.020 [−.005, +.045]"


@pytest.mark.parametrize(
    "values, state",
    [
        ((0.019, 0.020, 0.021), HOLDS),
        ((-0.019, -0.020, -0.021), FAILS),
        ((0.01, 0.02, 0.03), CANNOT_TELL),
        ((0.02, 0.02, 0.02), HOLDS),
        ((0.0, 0.0, 0.0), CANNOT_TELL),
        ((-0.5, -0.5), FAILS),
        ((0.3,), CANNOT_TELL),
    ],
)
def test_one_comparison_is_judged_by_where_its_interval_lies(values: Sequence[float], state: str) -> None:
    assert judged([Comparison("a − b", "", values)]).state == state


def test_a_single_seed_has_no_interval() -> None:
    assert judged([Comparison("a − b", "x", (0.3,))]).words == "a − b at x: +.300 (one seed, no interval); n = 1."


@pytest.mark.parametrize(
    "values, state",
    [
        ((-0.003, -0.002, -0.001), HOLDS),  # − .002 ± .0024841: above − .005
        ((-0.004, -0.002, 0.000), CANNOT_TELL),  # − .002 ± .0049683
        ((-0.011, -0.010, -0.009), FAILS),
        ((-0.0031, -0.0030, -0.0029), HOLDS),  # surely worse, and surely by less than the margin
    ],
)
def test_a_margin_lets_a_little_less_count_as_no_worse(values: Sequence[float], state: str) -> None:
    assert judged([Comparison("a − b", "", values, holds_above=-0.005)]).state == state


def test_holm_multiplies_the_smallest_by_all_and_never_falls() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.01, 0.011]) == pytest.approx([0.02, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]


def test_one_chance_failure_among_many_does_not_decide() -> None:
    good = [Comparison("a − b", str(k), (0.019, 0.020, 0.021)) for k in range(83)]
    unlucky = Comparison("a − b", "83", (-0.005, -0.004, -0.003))  # t = − 6.9, p = .010
    assert judged([unlucky]).state == FAILS
    found = judged([*good, unlucky])
    assert found.state == CANNOT_TELL
    assert found.words.startswith("83 of 84 hold, 1 cannot be told. Below only by themselves: a − b at 83. ")


def test_a_failure_that_no_chance_explains_decides_and_is_named() -> None:
    good = [Comparison("a − b", str(k), (0.019, 0.020, 0.021)) for k in range(81)]
    open_one = Comparison("a − b", "81", (0.01, 0.02, 0.03))
    bad = [Comparison("a − c", str(k), (-0.30001, -0.3, -0.29999)) for k in range(2)]
    found = judged([*good, open_one, *bad])
    assert found.state == FAILS
    assert found.words == (
        "81 of 84 hold, 2 fail (a − c at 0, 1), 1 cannot be told. "
        "Smallest: a − c at 0: −.300 [−.300, −.300]. Largest: a − b at 0: +.020 [+.018, +.022]; n = 3."
    )


def test_figures_have_a_sign_and_no_leading_zero() -> None:
    assert [signed(value) for value in (0.0314, -0.002, -1.2, 0.0)] == ["+.031", "−.002", "−1.200", "+.000"]


def test_every_variant_must_beat_every_rival() -> None:
    found = look("1", table_1(GOOD))
    assert found.state == HOLDS
    assert found.words.startswith("24 of 24 hold. Smallest: csad − alvi at 0.050: +.080 ")
    kim = cell_of("kim", "0.050", "accuracy", dict(zip(SEEDS, (0.996, 0.999, 1.002), strict=True)), None)
    others = [cell for cell in cells_of(GOOD) if (cell.method, cell.column) != ("kim", "0.050")]
    worse = look("1", table_of(TABLE_1, [*others, kim]))
    assert worse.state == CANNOT_TELL  # by themselves below 0, but not among 24
    assert "20 of 24 hold, 4 cannot be told. Below only by themselves: csad − kim at 0.050;" in worse.words
    assert look("1", table_1({**GOOD, "kim": (0.8, 1.5)})).state == FAILS


def test_the_gain_grows_along_a_line_through_each_seeds_gains() -> None:
    # Gains .45 ± .002 at .02 and .18 ∓ .002 at .05: growth by .09 ± .00133 for each .01, and 2.4841 × .00133 = .0033.
    lines = {"vanilla": (0.5, 0.8), "csad": (0.95, 0.98)}
    found = look("2", table_1(lines))
    assert found == Finding(HOLDS, "growth of csad − vanilla for each .01 less of σ²: +.090 [+.087, +.093]; n = 3.")
    assert look("2", table_1({**lines, "csad": (0.6, 0.98)})).state == FAILS
    assert look("2", table_1({"vanilla": (0.5, 0.5), "csad": (0.6, 0.6)})).state == CANNOT_TELL


@pytest.mark.parametrize("struc, state", [((0.95, 0.98), HOLDS), ((0.95, 0.97), FAILS), ((0.947, 0.98), CANNOT_TELL)])
def test_structure_may_be_half_a_point_worse_than_content(struc: Sequence[float], state: str) -> None:
    # Neighbours' noise adds up: ± .0049683 around each difference.
    lines = {"csad-content": (0.95, 0.98), "csad-struc": struc, "csad": (0.97, 0.99)}
    assert look("4", table_1(lines)).state == state
    assert look("5", table_1(lines)).state == HOLDS


def test_content_must_beat_jsd_without_a_margin() -> None:
    assert look("3", table_1({"csad-content": (0.95, 0.98), "ad-jsd": (0.90, 0.97)})).state == HOLDS
    assert look("3", table_1({"csad-content": (0.95, 0.98), "ad-jsd": (0.90, 0.98)})).state == CANNOT_TELL


def test_bounds_are_compared_across_and_within_samples() -> None:
    near = {f"{bound}-near": (0.9, 0.95) for bound in ("cs", "jsd", "nce", "mine")}
    same = {f"{bound}-same": (0.7, 0.8) for bound in ("cs", "jsd", "nce", "mine")}
    table = table_of(BOUNDS, cells_of({**near, **same, "cs-near": (0.94, 0.99)}))
    assert look("6", table).words.startswith("8 of 8 hold.")
    assert look("7", table).words.startswith("4 of 4 hold.")


def leakage(h: Sequence[float]) -> ResultTable:
    chance = cells_of({"csad": (0.2, 0.2), "vanilla": (0.2, 0.2)}, metric="bias_chance")
    from_h = cells_of({"vanilla": (0.9, 0.9), "csad": h}, metric="bias_from_h")
    from_h_y = cells_of({"vanilla": (0.9, 0.9), "csad": (0.21, 0.21)}, metric="bias_from_h_y")
    return table_of(LEAKAGE, [*chance, *from_h, *from_h_y])


def test_the_bias_must_be_read_less_than_in_vanilla_and_no_more_than_by_chance() -> None:
    clean, leaking = leakage((0.23, 0.21)), leakage((0.23, 0.5))
    assert [look(f"8{part}", clean).state for part in "abcd"] == [HOLDS] * 4
    assert [look(f"8{part}", leaking).state for part in "abcd"] == [HOLDS, FAILS, HOLDS, HOLDS]
    assert "1 fails (chance 0.200 − probe 0.500 at 0.050)" in look("8b", leaking).words
    assert look("8b", leakage((0.249, 0.21))).state == CANNOT_TELL


@pytest.mark.parametrize(
    "parameters, ms, state", [(100, 1.04, HOLDS), (100, 0.5, HOLDS), (100, 1.06, FAILS), (101, 1.0, FAILS)]
)
def test_inference_may_cost_no_parameter_and_hardly_any_time(parameters: int, ms: float, state: str) -> None:
    vanilla = {"method": "vanilla", "parameters": 100, "ms": 1.0}
    csad = {"method": "csad", "parameters": parameters, "ms": ms}
    assert look("9", inference=[vanilla, csad]).state == state
    assert look("9", inference=[vanilla]) == Finding(NOT_MEASURED, "`inference.json` has no csad.")


def weights(sigma_020: Sequence[float]) -> ResultTable:
    lines = {"sigma-050": (0.81, 0.97, 0.7), "sigma-020": sigma_020}
    return table_of(WEIGHT, cells_of(lines, ("0.001", "1", "100")))


@pytest.mark.parametrize(
    "sigma_020, small, large",
    [
        ((0.51, 0.95, 0.1), HOLDS, HOLDS),
        ((0.60, 0.95, 0.74), FAILS, HOLDS),
        ((0.40, 0.95, 0.80), FAILS, FAILS),
        ((0.549, 0.95, 0.751), CANNOT_TELL, CANNOT_TELL),
        ((0.51, 0.60, 0.45), HOLDS, HOLDS),  # not far below the best, but below one half
    ],
)
def test_weights_too_small_and_too_large(sigma_020: Sequence[float], small: str, large: str) -> None:
    tables = weights(sigma_020), table_1({"vanilla": (0.5, 0.8)})
    assert (look("10a", *tables).state, look("10b", *tables).state) == (small, large)


def test_a_weight_far_above_vanilla_has_changed_something_too() -> None:
    assert look("10a", weights((0.9, 0.95, 0.1)), table_1({"vanilla": (0.5, 0.8)})).state == FAILS


def test_what_is_not_there_is_named_and_not_judged() -> None:
    for claim in CLAIMS:
        found = finding(claim, Results())
        assert found.state == NOT_MEASURED
        assert re.fullmatch(r"`[a-z-]+\.json` is not there\.", found.words)
    half = table_1({row: means for row, means in GOOD.items() if row not in ("alvi", "kim")})
    assert look("1", half) == Finding(NOT_MEASURED, "`colored-mnist.json` has no accuracy by seed of alvi, kim.")
    assert look("3", half).state == CANNOT_TELL
    one_less = table_of(TABLE_1, [c for c in half.cells if (c.method, c.column) != ("ad-jsd", "0.050")])
    assert look("3", one_less).words == "`colored-mnist.json` has no accuracy by seed of ad-jsd at 0.050."
    assert look("10a", weights((0.5, 0.9, 0.1))).words == "`colored-mnist.json` is not there."
    assert look("2", table_of(TABLE_1, [c for c in half.cells if c.column == "0.020"])).state == NOT_MEASURED


def test_cells_without_figures_by_seed_or_a_common_seed_are_not_compared() -> None:
    table = table_1({"csad-content": (0.95, 0.98), "ad-jsd": (0.90, 0.97)})
    bare = [replace(cell, values={}) for cell in table.cells]
    assert look("3", replace(table, cells=bare)).state == NOT_MEASURED
    others = [replace(c, values={"7": c.mean}) if c.method == "ad-jsd" else c for c in table.cells]
    assert look("3", replace(table, cells=others)).words == "csad-content − ad-jsd at 0.020: no seed is on both sides."


def test_only_seeds_that_both_rows_have_are_compared() -> None:
    table = table_1({"csad-content": (0.95, 0.98), "ad-jsd": (0.90, 0.97)})
    fewer = [replace(c, values=dict(list(c.values.items())[:2])) if c.method == "ad-jsd" else c for c in table.cells]
    assert look("3", replace(table, cells=fewer)).words.endswith("n = 2.")


def test_the_page_is_well_formed_with_and_without_results() -> None:
    wild = [replace(cell, paper=0.9) for cell in table_1({"csad": (0.95, 0.915), "a|b": (0.88, 0.9)}).cells]
    some = Results({TABLE_1: table_of(TABLE_1, wild)})
    for page in (claims_page(Results(), {}), claims_page(some, {"csad": "Trained | longer."})):
        tables = re.findall(r"(?:^\|.*\n)+", page, flags=re.M)
        assert tables
        for lines in (text.splitlines() for text in tables):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
            assert set(lines[1]) <= set("|:- ")
        assert page.startswith("# ")
        assert page.endswith("\n")
        assert "\n\n\n" not in page
        assert all(f"\n| {claim.number} | {claim.words} | **" in page for claim in CLAIMS)


def test_cells_far_from_the_paper_have_a_line_for_each_row() -> None:
    papers = {"vanilla": (0.52, 0.83), "csad": (0.93, 0.98), "oracle": (None, None)}
    lines = {"vanilla": (0.5, 0.8), "csad": (0.951, 0.98), "oracle": (0.99, 0.99)}
    cells = [replace(c, paper=papers[c.method][COLUMNS.index(c.column)]) for c in cells_of(lines)]
    page = claims_page(Results({TABLE_1: table_of(TABLE_1, cells)}), {"vanilla": "Trained for longer."})
    assert page.split("more than 0.02\n\n")[1] == (
        "2 of the 4 cells for which the paper has a number; ours minus the paper's:\n"
        "\n"
        "| σ² | 0.020 | 0.050 |  |\n"
        "| :-- | :-- | :-- | :-- |\n"
        "| vanilla |  | −.030 | Trained for longer. |\n"
        "| CSAD | +.021 |  |  |\n"
    )
    close = [replace(cell, paper=cell.mean) for cell in cells]
    page = claims_page(Results({TABLE_1: table_of(TABLE_1, close)}), {})
    assert page.endswith("0 of the 6 cells for which the paper has a number.\n")
