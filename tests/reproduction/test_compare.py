"""Methods compared row by row: intervals against those of another way, and a table whose runs keep their answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import csad
from csad.auditing.metrics.classification import accuracy
from csad.auditing.metrics.groups import conflicting_cells
from csad.auditing.metrics.intervals import bootstrap_difference
from csad.reproduction.compare import ColumnCells, PairedBootstrap, closed, compared
from csad.reproduction.reproduce import reproduce
from csad.reproduction.result_table import ResultTable, as_json, as_markdown, as_rows, cell_of, from_json
from csad.sweeps.row_predictions import RowPredictions, people_digest
from tests.support.messages import noticed, refused
from tests.support.own_data import toy_table

ROWS = 400
generator = np.random.default_rng(7)
Y = generator.integers(2, size=ROWS)
MALE = generator.integers(2, size=ROWS)

TOYS = """
[rows.plain]
label = "Plain"
method = "vanilla"

[rows.other]
label = "Other"
method = "vanilla"
set = { "train.pretrain_rate" = 1e-4 }
"""
QUICK = {"train.target_epochs": 2, "train.epochs": 1, "train.batch_size": 32, "data.rows": 64}


def answers(right: float, seed: int = 0) -> RowPredictions:
    """What a model said that is right of such a share of the rows."""
    return told(np.where(np.random.default_rng(seed).random(ROWS) < right, Y, 1 - Y))


def told(said: Any, *, persons: Any = None, people: str = "", rows: int = ROWS) -> RowPredictions:
    """What was said of the first of the rows."""
    said, labels = said[:rows], {"Male": MALE[:rows]}
    word = f"{rows} rows"
    return RowPredictions(said, np.eye(2)[said], Y[:rows], labels, np.full(rows, -1), persons, people or word, word)


def test_one_run_of_each_has_the_interval_of_a_paired_bootstrap() -> None:
    one, two = answers(0.9, 1), answers(0.7, 2)
    low, high = PairedBootstrap({"one": {0: one}, "two": {0: two}}, ["accuracy"]).difference(
        "one", "two", "accuracy"
    ) or (0, 0)
    expected = bootstrap_difference(accuracy, one.predicted, two.predicted, Y, repeats=4000, seed=3)
    assert (low, high) == pytest.approx(expected, abs=0.008)


def test_the_same_answers_differ_by_nothing_though_each_has_an_interval() -> None:
    draws = PairedBootstrap({"one": {0: answers(0.8)}, "two": {0: answers(0.8)}}, ["accuracy"], repeats=200)
    assert draws.difference("one", "two", "accuracy") == (0.0, 0.0)
    low, high = draws.interval("one", "accuracy") or (0, 0)
    share = float((answers(0.8).predicted == Y).mean())
    half = 1.96 * (share * (1 - share) / ROWS) ** 0.5
    assert (low, high) == pytest.approx((share - half, share + half), abs=0.012)


def test_runs_that_differ_make_the_interval_wider_than_their_rows_alone_do() -> None:
    alike = {seed: answers(0.8, 1) for seed in range(3)}
    unlike = {0: answers(0.6, 1), 1: answers(0.8, 1), 2: answers(1.0, 1)}
    widths = []
    for runs in (alike, unlike):
        low, high = PairedBootstrap({"one": runs}, ["accuracy"], repeats=300).interval("one", "accuracy") or (0, 0)
        widths.append(high - low)
    assert widths[1] > 2 * widths[0]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is drawn once: what comes out is the figure of a run, not an interval."""
    monkeypatch.setattr("csad.reproduction.compare.drawn_times", lambda units, generator: np.ones(units, int))


@pytest.mark.usefixtures("undrawn")
def test_as_many_runs_are_drawn_as_there_are() -> None:
    runs = {0: told(np.where(np.arange(ROWS) % 4 > 0, Y, 1 - Y)), 1: told(Y), 2: told(1 - Y)}  # .75, 1 and 0
    draws = PairedBootstrap({"one": runs}, ["accuracy"], repeats=300)
    found = {round(own["accuracy"], 4) for own in draws.draws["one"]}
    assert found == {round((a + b + c) / 3, 4) for a in (0.75, 1, 0) for b in (0.75, 1, 0) for c in (0.75, 1, 0)}


def test_people_who_are_tested_in_several_splits_come_as_often_in_each() -> None:
    """Two runs tested on the same people in another order tell no more than one; on other people they do."""
    persons = np.arange(ROWS)
    said = answers(0.8).predicted
    widths = []
    for people in ("all", "others"):
        turned = RowPredictions(
            said[::-1], np.eye(2)[said[::-1]], Y[::-1], {}, np.full(ROWS, -1), persons[::-1], people, "turned"
        )
        low, high = PairedBootstrap(
            {"one": {0: told(said, persons=persons, people="all"), 1: turned}}, ["accuracy"], repeats=2000
        ).interval("one", "accuracy") or (0, 0)
        widths.append(high - low)
    assert 1.08 < widths[0] / widths[1] < 1.24  # √(4 / 3), since half of the draws have one of the runs twice


def test_rows_of_people_that_a_split_does_not_test_are_not_drawn_there() -> None:
    """Of the first half and of the last: numbers of people need not begin at 0, nor be next to one another."""
    halves = {k: np.arange(ROWS)[k * ROWS // 2 : (k + 1) * ROWS // 2] for k in (0, 1)}
    runs = {}
    for k, own in halves.items():
        said = Y[own] if k else 1 - Y[own]
        runs[k] = RowPredictions(
            said, np.eye(2)[said], Y[own], {}, np.full(len(own), -1), 3 * own + 5, "all", f"half {k}"
        )
    draws = PairedBootstrap({"one": {0: runs[0]}, "two": {1: runs[1]}}, ["accuracy"], repeats=50)
    assert draws.interval("one", "accuracy") == (0.0, 0.0)
    assert draws.interval("two", "accuracy") == (1.0, 1.0)


def test_people_are_the_same_however_they_are_divided_into_splits() -> None:
    def data(test: slice, y: Any = Y) -> csad.Dataset:
        whole = csad.Samples(np.zeros((ROWS, 2), np.float32), y, MALE, {"person": np.arange(ROWS) // 2})
        train = np.setdiff1d(np.arange(ROWS), np.arange(ROWS)[test])
        splits = {"train": whole.rows(train), "test": whole.rows(np.arange(ROWS)[test])}
        return csad.Dataset(csad.Task("t", (2,), csad.Classes(2), (csad.Classes(2),), ("Male",)), splits)

    word = people_digest(data(slice(0, 100)))
    assert word == people_digest(data(slice(100, 300)))
    assert word != people_digest(data(slice(0, 100), 1 - Y))


def test_cells_against_the_bias_are_those_of_the_split_whatever_rows_are_drawn() -> None:
    y, male = np.repeat([0, 0, 1, 1], [40, 10, 10, 40]), np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
    against = np.where(y == male, -1, 2 * y + male)
    said = np.where((y == 1) & (male == 0), 0, y)  # wrong of one of the two cells that are against the bias
    one = RowPredictions(said, np.eye(2)[said], y, {"Male": male}, against, None, "", "")
    few = np.flatnonzero((against >= 0) | (np.arange(100) < 2))  # among these the bias goes the other way
    assert one.figures(few, ["bias_conflicting"])["bias_conflicting"] == 0.5
    assert conflicting_cells(y[few], {"Male": male[few]}).tolist() != against[few].tolist()


def test_a_small_gap_is_divided_by_as_it_is() -> None:
    assert closed(0.502, 0.500, 0.505) == pytest.approx(0.4)


def test_rows_of_one_person_are_drawn_together() -> None:
    """Ten rows each, all right or all wrong: as few people as there are, so wide is the interval."""
    persons = np.arange(ROWS) // 10
    said = np.where(np.random.default_rng(0).random(ROWS // 10)[persons] < 0.8, Y, 1 - Y)
    widths = []
    for one in (told(said), told(said, persons=persons)):
        low, high = PairedBootstrap({"one": {0: one}}, ["accuracy"], repeats=500).interval("one", "accuracy") or (0, 0)
        widths.append(high - low)
    assert 2.5 < widths[1] / widths[0] < 4  # √10


def test_runs_that_were_tested_on_other_rows_have_their_own_drawn() -> None:
    """As in tables whose seeds choose a split: as many rows as each has, the same for both methods."""
    right, wrong = answers(1.0).predicted, answers(0.0).predicted
    runs = {0: told(right, rows=100), 1: told(right, rows=300)}
    draws = PairedBootstrap(
        {"one": runs, "two": {seed: told(wrong, rows=len(own.y)) for seed, own in runs.items()}}, ["accuracy"]
    )
    assert draws.difference("one", "two", "accuracy") == (1.0, 1.0)


def test_a_run_of_whose_people_a_draw_has_none_does_not_count_there() -> None:
    """Ten runs that each test one of ten people: a draw has six or seven of these."""
    persons = np.arange(ROWS) // (ROWS // 10)
    runs = {}
    for k in range(10):
        own = np.flatnonzero(persons == k)
        said = Y[own] if k % 2 else 1 - Y[own]
        runs[k] = RowPredictions(
            said, np.eye(2)[said], Y[own], {}, np.full(len(own), -1), persons[own], "all", f"one {k}"
        )
    low, high = PairedBootstrap({"one": runs}, ["accuracy"], repeats=200).interval("one", "accuracy") or (0, 0)
    assert 0 <= low < 0.5 < high <= 1


def test_no_interval_of_a_figure_reaches_beyond_what_figures_can_be() -> None:
    runs = {0: told(Y), 1: told(np.where(np.arange(ROWS) % 10 > 0, Y, 1 - Y))}
    for rows, end in ((runs, 1.0), ({seed: told(1 - one.predicted) for seed, one in runs.items()}, 0.0)):
        draws = PairedBootstrap({"one": rows}, ["accuracy"], repeats=100)
        cell = cell_of(
            "one", "some", "accuracy", {k: float((one.predicted == Y).mean()) for k, one in rows.items()}, None
        )
        found = ColumnCells("some", {("one", "accuracy"): cell}, draws).interval("one", "accuracy") or (0, 0)
        assert end in found
        assert 0 <= found[0] < cell.mean < found[1] <= 1


def test_runs_that_close_the_same_share_of_unlike_gaps_do_not_widen_its_interval() -> None:
    class Drawn(PairedBootstrap):
        def __init__(self) -> None:
            pass

        def difference(self, method: str, other: str, metric: str) -> tuple[float, float]:
            return 0.2, 0.3

        def share(self, method: str, gap: tuple[str, str], metric: str) -> tuple[float, float]:
            return 0.4, 0.6

    gaps = {0: 0.2, 1: 0.3, 2: 0.25}
    levels = {"low": 0.0, "own": 0.5, "high": 1.0}
    cells = {
        (name, "auc"): cell_of(name, "some", "auc", {k: 0.5 + level * gap for k, gap in gaps.items()}, None)
        for name, level in levels.items()
    }
    share = ColumnCells("some", cells, Drawn()).share("own", ("low", "high"), "auc")
    assert share is not None
    assert (share.value, *share.interval) == pytest.approx((0.5, 0.4, 0.6))


def test_a_figure_that_no_draw_has_gets_no_interval() -> None:
    assert (
        PairedBootstrap({"one": {0: answers(0.8)}}, ["bias_from_h_y"], repeats=5).interval("one", "bias_from_h_y")
        is None
    )


def test_a_lost_run_counts_for_neither_method_s_mean() -> None:
    draws = PairedBootstrap(
        {"one": {0: answers(0.8), 1: answers(0.8)}, "two": {1: answers(0.8)}}, ["accuracy"], repeats=100
    )
    assert draws.difference("one", "two", "accuracy") == (0.0, 0.0)


def test_a_table_tells_how_far_a_method_is_above_each_other() -> None:
    runs = {"csad": {0: answers(0.9, 1)}, "vanilla": {0: answers(0.6, 2)}}
    cells = [
        cell_of(name, "EB1", metric, {0: float((own[0].predicted == Y).mean())}, None)
        for name, own in runs.items()
        for metric in ("accuracy", "bias_from_h_y")
    ]
    labels = {"csad": "CSAD", "vanilla": "Vanilla"}
    plain = ResultTable("t", "T", "last epoch", "csad …", {}, cells, labels, notes=())
    table = compared(plain, "csad", {"EB1": runs})
    (difference,) = table.differences
    assert (difference.method, difference.other, difference.metric) == ("csad", "vanilla", "accuracy")
    assert difference.mean == pytest.approx(cells[0].mean - cells[2].mean)
    assert difference.interval[0] < difference.mean < difference.interval[1]
    _, rows = as_rows(table)
    lines = {row[0]: row[1:] for row in rows}
    assert [lines["CSAD − Vanilla"][0][:2], lines["CSAD − Vanilla"][1]] == ["+.", "–"]
    assert [lines["95 %"][0][:2], lines["95 %"][1]] == ["[.", ""]
    assert "drawn with replacement" in as_markdown(table)
    assert as_json(from_json(as_json(table))) == as_json(table)


def gap_table(low: float, own: float, high: float) -> ResultTable:
    """A table of three methods that are right of such shares of the rows; in another column the high one is the low."""
    runs = {"low": {0: answers(low, 1)}, "own": {0: answers(own, 2)}, "high": {0: answers(high, 3)}}
    columns = {"some": runs, "none": {**runs, "high": runs["low"]}, "one method": {"own": runs["own"]}}
    cells = [
        cell_of(name, column, "accuracy", {0: float((one[0].predicted == Y).mean())}, None)
        for column, methods in columns.items()
        for name, one in methods.items()
    ]
    labels = {"low": "Low", "own": "Own", "high": "High"}
    plain = ResultTable("t", "T", "last epoch", "csad …", {}, cells, labels, notes=())
    return compared(plain, "own", columns, ("low", "high"))


def test_a_table_tells_which_share_of_a_gap_is_closed_where_there_is_one() -> None:
    table = gap_table(0.6, 0.75, 0.9)
    (share,) = table.shares
    mean = {cell.method: cell.mean for cell in table.cells if cell.column == "some"}
    assert (share.method, share.low, share.high, share.column) == ("own", "low", "high", "some")
    assert share.value == pytest.approx((mean["own"] - mean["low"]) / (mean["high"] - mean["low"]))
    assert 0 < share.interval[0] < share.value < share.interval[1] < 1
    lines = {row[0]: row[1:] for row in as_rows(table)[1]}
    shown, none, alone = lines["Own, share of the gap from Low to High"]
    assert shown.startswith(f"{share.value:.3f} [".removeprefix("0"))
    assert [none, alone] == ["–", "–"]
    assert "Share of the gap: " in as_markdown(table)
    assert as_json(from_json(as_json(table))) == as_json(table)


def test_the_interval_of_a_share_is_that_of_its_three_figures_drawn_together() -> None:
    methods = {"low": {0: answers(0.6, 1)}, "own": {0: answers(0.75, 2)}, "high": {0: answers(0.9, 3)}}
    low, high = PairedBootstrap(methods, ["accuracy"]).share("own", ("low", "high"), "accuracy") or (0, 0)
    generator = np.random.default_rng(5)
    drawn = []
    for _ in range(4000):
        rows = generator.integers(ROWS, size=ROWS)
        own, least, most = (float((methods[name][0].predicted == Y)[rows].mean()) for name in ("own", "low", "high"))
        drawn.append((own - least) / (most - least))
    assert (low, high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.03)


def test_no_share_is_told_of_a_gap_that_is_the_other_way_round() -> None:
    assert gap_table(0.9, 0.75, 0.6).shares == []
    assert "share of the gap" not in as_markdown(gap_table(0.9, 0.75, 0.6))


@pytest.mark.usefixtures("undrawn")
def test_the_gap_that_a_table_names_has_its_share(declare: Callable[[str], None], tmp_path: Path) -> None:
    declare(toy_table(TOYS, split="validation", compared="other", gap=["other", "plain"]))
    longer = QUICK | {"data.rows": 400, "train.target_epochs": 10}  # which the row of the larger rate makes use of
    table = reproduce("toys", settings=longer, seeds=1, out=tmp_path / "out", device="cpu").table
    assert table.shares
    for one in table.shares:
        assert (one.method, one.low, one.high, one.value) == ("other", "other", "plain", 0)


@pytest.mark.usefixtures("undrawn")
def test_the_figures_of_a_run_follow_from_the_answers_that_it_keeps(
    declare: Callable[[str], None], tmp_path: Path
) -> None:
    metrics = ["accuracy", "auc", "unbiased", "bias_conflicting"]
    declare(toy_table(TOYS, metrics=metrics, split="validation", compared="other"))
    table = reproduce("toys", settings=QUICK, seeds=1, out=tmp_path / "out", device="cpu").table
    assert {cell.metric for cell in table.cells} == set(metrics)
    for cell in table.cells:
        assert cell.interval == pytest.approx((cell.mean, cell.mean), abs=1e-9), cell
    for one in table.differences:
        assert one.interval == pytest.approx((one.mean, one.mean), abs=1e-9), one


def test_intervals_without_the_row_that_is_compared_are_explained_too(
    declare: Callable[[str], None], tmp_path: Path
) -> None:
    declare(toy_table(TOYS, split="validation", compared="other"))
    table = reproduce("toys", rows=["plain"], settings=QUICK, seeds=1, out=tmp_path / "out", device="cpu").table
    assert not table.differences
    assert all(cell.interval for cell in table.cells)
    assert "drawn with replacement" in as_markdown(table)


def test_columns_of_another_split_have_their_answers_measured_from_the_weights_that_were_kept(
    declare: Callable[[str], None], tmp_path: Path, heard: Any
) -> None:
    options: dict[str, Any] = {"settings": QUICK, "seeds": 1, "out": tmp_path / "out", "device": "cpu"}
    facts = {"column": "", "columns": ["one", "two"], "split": ["validation", "test"], "compared": "other"}
    declare(toy_table(TOYS, **facts))
    reproduce("toys", columns=["one"], keep_weights=True, **options)
    reproduce("toys", keep_weights=True, listener=heard, **options)
    assert noticed(heard.said, "measured-from-kept-weights", missing="row predictions")


def test_answers_that_cannot_be_read_are_named(declare: Callable[[str], None], tmp_path: Path) -> None:
    options: dict[str, Any] = {"settings": QUICK, "seeds": 1, "out": tmp_path / "out", "device": "cpu"}
    declare(toy_table(TOYS, split="validation", compared="other"))
    reproduce("toys", **options)
    first = next((tmp_path / "out").rglob("answers/validation.safetensors"))
    first.write_bytes(b"not these")
    with refused("predictions-file-unreadable", file=first):
        reproduce("toys", **options)


def test_finished_runs_without_answers_are_completed(
    declare: Callable[[str], None], tmp_path: Path, heard: Any
) -> None:
    """By their weights where those were kept; then nothing is trained, and the figures stay."""
    options: dict[str, Any] = {"settings": QUICK, "seeds": 1, "out": tmp_path / "out", "device": "cpu"}
    declare(toy_table(TOYS, metrics=["accuracy"], split="validation"))
    before = reproduce("toys", keep_weights=True, **options).table
    assert not list((tmp_path / "out").rglob("answers/*"))
    declare(toy_table(TOYS, metrics=["accuracy"], split="validation", compared="other"))
    after = reproduce("toys", keep_weights=True, listener=heard, **options).table
    assert [cell.values for cell in after.cells] == [cell.values for cell in before.cells]
    assert noticed(heard.said, "measured-from-kept-weights", missing="row predictions")
