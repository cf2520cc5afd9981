"""The trade-off: which points no other beats, and that all are drawn, named and readable."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st

from csad.reproduction.result_table import ERROR, ResultTable, cell_of
from csad.reproduction.tradeoff import Point, tradeoff, undominated

SVG = "{http://www.w3.org/2000/svg}"
LABELS = {"plain": "Plain", "weak": "Ours, λ = 1", "strong": "Ours, λ = 10", "ba": "BA ↑", "gap": "Gap ↓"}
MEANS = {"plain": (0.83, 0.18, 0.09), "weak": (0.82, 0.12, 0.10), "strong": (0.80, 0.06, 0.04), "<&>": (0.79, 0.2, 0.2)}


def table() -> ResultTable:
    cells = [
        cell_of(row, "Adult", metric, {0: mean - 0.01, 1: mean + 0.01}, None)
        for row, means in MEANS.items()
        for metric, mean in zip(("ba", "gap", "other"), means, strict=True)
    ]
    return ResultTable("t", "Trade-off of <all>", "last epoch", "csad", {}, cells, LABELS, spread=ERROR)


def test_a_point_is_undominated_if_no_other_is_as_good_in_both_and_better_in_one() -> None:
    a, b, c, d = Point("a", 0.8, 0.1), Point("b", 0.9, 0.2), Point("c", 0.8, 0.2), Point("d", 0.7, 0.1)
    assert [point.row for point in undominated([b, c, d, a])] == ["a", "b"]
    assert undominated([a, a._replace(row="twin")]) == [a, a._replace(row="twin")]
    assert undominated([]) == []


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_every_point_is_matched_by_an_undominated_one(places: list[tuple[int, int]]) -> None:
    points = [Point(str(number), x, y) for number, (x, y) in enumerate(places)]
    best = undominated(points)
    assert all(any(one.x >= point.x and one.y <= point.y for one in best) for point in points)
    assert [one.x for one in best] == sorted(one.x for one in best)


def test_the_picture_is_a_file_of_its_own_with_a_panel_for_each_figure() -> None:
    root = ElementTree.fromstring(tradeoff(table(), "ba", ["gap", "other"]))
    assert root.tag == f"{SVG}svg"
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert words.count("BA ↑") == 2
    assert {"Gap ↓", "other", "Plain", "Ours", "<&>", "undominated", "λ = 1", "λ = 10"} <= set(words)
    assert words.count("Ours") == 1  # one series, joined, its strengths beside the points
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert titles[0] == "Trade-off of <all>"
    assert titles[1:].count("strong") == 2
    described = next(root.iter(f"{SVG}desc")).text
    assert described == "Undominated in Gap ↓: strong, weak, plain; other: strong, plain."


def test_a_row_without_one_of_the_figures_is_left_out() -> None:
    whole = table()
    cells = [cell for cell in whole.cells if (cell.method, cell.metric) != ("plain", "gap")]
    root = ElementTree.fromstring(tradeoff(ResultTable(**{**vars(whole), "cells": cells}), "ba", ["gap"]))
    assert "Plain" not in [element.text for element in root.iter(f"{SVG}text")]
