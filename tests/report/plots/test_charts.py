"""Every plot is well-formed, escapes its text, has a text alternative, and bears missing numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest

from csad.report.plots.canvas import tick_names, ticks
from csad.report.plots.charts import Spot, heat_map, line_chart, picture_grid, scatter

WILD = "<b>&\"'</b>"
NAN = math.nan
PICTURES = np.random.default_rng(0).integers(0, 256, (5, 8, 6, 3), dtype=np.uint8)


def wild_heat_map() -> str:
    values = [[0.0, None], [NAN, 1.0]]
    return heat_map(values, [WILD, "b"], ["0", WILD], title=WILD, describe=WILD, row_swatches=[(1, 2, 3)] * 2)


def wild_line_chart() -> str:
    curves = {WILD: [(0, 1.0), (1, NAN), (2, math.inf), (3, -2.0)], "one point": [(1, 1.0)], "empty": []}
    breaks = [(0.0, WILD), (NAN, "never")]
    return line_chart(curves, title=WILD, describe=WILD, x_label=WILD, y_label=WILD, breaks=breaks)


def wild_picture_grid() -> str:
    return picture_grid(PICTURES, 3, title=WILD, describe=WILD)


def texts(plot: str) -> list[str]:
    return [(element.text or "") for element in ElementTree.fromstring(plot).iter("text")]


@pytest.mark.parametrize("draw", [wild_heat_map, wild_line_chart, wild_picture_grid])
def test_a_plot_of_wild_names_and_missing_numbers_is_sound(draw: Callable[[], str]) -> None:
    plot = draw()
    root = ElementTree.fromstring(plot)
    assert root.get("role") == "img"
    assert (root[0].tag, root[0].text) == ("title", WILD)
    assert (root[1].tag, root[1].text) == ("desc", WILD)
    assert "<b>" not in plot
    assert "http" not in plot
    # A NaN in an attribute would leave a shape that no browser draws.
    assert not [value for element in root.iter() for value in element.attrib.values() if "nan" in value.lower()]
    assert root.get("viewBox")
    assert root.get("width") == "100%"


def test_a_heat_map_writes_the_per_cent_of_every_cell_and_a_dash_for_none() -> None:
    plot = heat_map([[0.0, 0.126], [None, 1.0]], ["r", "s"], ["c", "d"], title="t", describe="d")
    shown = texts(plot)
    assert [words for words in shown if words in {"0", "13", "–", "100"}] == ["0", "13", "–", "100"]
    assert "no sample" in shown


def test_a_heat_map_without_gaps_has_no_entry_for_them_in_its_legend() -> None:
    assert "no sample" not in texts(heat_map([[0.5]], ["r"], ["c"], title="t", describe="d"))


def test_a_heat_map_shows_the_swatch_of_each_row() -> None:
    plot = heat_map([[0.5]], ["r"], ["c"], title="t", describe="d", row_swatches=[(12, 34, 56)])
    assert "rgb(12,34,56)" in plot


def test_a_long_curve_is_thinned_to_means_of_its_buckets() -> None:
    curve = [(float(step), 1.0 if step % 2 else -1.0) for step in range(4000)]
    plot = line_chart({"a": curve}, title="t", describe="d", x_label="x", y_label="y")
    points = [line.get("points", "").split() for line in ElementTree.fromstring(plot).iter("polyline")]
    drawn = max(points, key=len)
    assert len(drawn) == 200
    assert len({point.split(",")[1] for point in drawn}) == 1


def test_curves_differ_without_colour() -> None:
    curves = {name: [(0.0, 0.0), (1.0, 1.0)] for name in "abcde"}
    plot = line_chart(curves, title="t", describe="d", x_label="x", y_label="y")
    lines = list(ElementTree.fromstring(plot).iter("polyline"))
    assert len({line.get("stroke-dasharray") for line in lines}) == 5
    assert set("abcde") <= set(texts(plot))


def test_a_chart_of_nothing_says_so() -> None:
    plot = line_chart({"a": [(0.0, NAN)]}, title="t", describe="d", x_label="x", y_label="y")
    assert texts(plot) == ["No finite value to draw."]


def test_stage_names_that_would_meet_stand_in_different_rows() -> None:
    breaks = [(0.0, "warm up"), (1.0, "debias"), (99.0, "last")]
    curve = [(float(step), 0.5) for step in range(100)]
    plot = line_chart({"a": curve}, title="t", describe="d", x_label="x", y_label="y", breaks=breaks)
    height = {element.text: element.get("y") for element in ElementTree.fromstring(plot).iter("text")}
    assert height["warm up"] != height["debias"]
    assert height["warm up"] == height["last"]


def test_a_grid_holds_all_pictures_in_one_image() -> None:
    root = ElementTree.fromstring(picture_grid(PICTURES, 3, title="t", describe="d"))
    assert len(list(root.iter("image"))) == 1


def test_an_axis_of_equal_values_begins_at_nought() -> None:
    gaps = [Spot(name, (0.4, 0.5, 0.6), (1.0, 1.0, 1.0)) for name in "ab"]
    plot = scatter(gaps, title="t", describe="d", x_label="accuracy", y_label="gap")
    assert {"0.0", "1.0"} <= set(texts(plot))
    assert "1.5" not in texts(plot)


@pytest.mark.parametrize("low, high", [(0, 1), (-3.2, 5.9), (0, 12345), (2, 2), (0, 0), (1e-9, 2e-9), (-1e8, 1e8)])
def test_ticks_are_few_even_and_embrace_the_range(low: float, high: float) -> None:
    places = ticks(low, high)
    assert places[0] <= low
    assert places[-1] >= high
    assert 2 <= len(places) <= 8
    np.testing.assert_allclose(np.diff(places), places[1] - places[0])
    assert len(set(tick_names(places))) == len(places)


def test_ticks_are_written_with_the_decimals_of_their_step() -> None:
    assert tick_names([-0.5, 0.0, 0.5]) == ["−0.5", "0.0", "0.5"]
    assert tick_names([0.0, 1000.0, 2000.0]) == ["0", "1\u202f000", "2\u202f000"]


def test_rows_of_a_heat_map_have_room_for_their_names() -> None:
    for name in ("over 31 to 37", "over 1200 to 45000"):
        drawn = heat_map([[0.5]], [name], ["yes"], title="t", describe="d")
        assert f">{name}<" in drawn
