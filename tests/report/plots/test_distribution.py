"""The distribution of a number over groups: counts in bins, and that all groups are drawn, named and told."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from csad.report.plots.distribution import counts, distribution

SVG = "{http://www.w3.org/2000/svg}"
PANELS = {
    "train": {"ill": [60, 61, 64.5, 65, 70], "<well>": [22, 31, 59.9]},
    "test": {"ill": [60, 44], "<well>": []},
}


def test_a_number_on_an_edge_belongs_to_the_bin_above_it() -> None:
    edges = np.array([55.0, 60.0, 65.0, 70.0])
    assert counts(np.array([55, 59.9, 60, 64.9, 65, 69.9]), edges).tolist() == [2, 2, 2]
    assert counts(np.array([]), edges).tolist() == [0, 0, 0]


def drawn() -> ElementTree.Element:
    return ElementTree.fromstring(distribution(PANELS, title="Ages of <all>", x_label="age", y_label="people"))


def test_every_group_is_an_outline_in_every_panel_that_tells_them_apart_without_colour() -> None:
    root = drawn()
    lines = list(root.iter(f"{SVG}polyline"))
    assert len(lines) == 4
    assert len({(line.get("stroke"), line.get("stroke-dasharray")) for line in lines}) == 2
    assert len({line.get("stroke-dasharray") for line in lines}) == 2


def test_an_outline_is_as_high_as_its_counts() -> None:
    first = next(drawn().iter(f"{SVG}polyline"))
    heights = [float(point.split(",")[1]) for point in (first.get("points") or "").split()]
    floor = heights[0]
    # Bins of five from 20: three people of 60 … 64, one of 65 … 69, one of 70 … 74.
    steps = [round((floor - height) / (floor - min(heights)) * 3, 6) for height in heights[1:-1:2]]
    assert steps == [0] * 8 + [3, 1, 1]


def test_the_picture_tells_its_figures_and_names_in_words() -> None:
    root = drawn()
    words = " ".join("".join(element.itertext()) for element in root.iter(f"{SVG}text"))
    for word in (
        "ill",
        "<well>",
        "age",
        "people",
        "train: 5 (mean 64.1) and 3 (mean 37.6)",
        "test: 2 (mean 52.0) and none",
    ):
        assert word in words
    assert root.find(f"{SVG}title") is not None
    assert "train: ill 5 (mean 64.1)" in (root.find(f"{SVG}desc").text or "")  # type: ignore[union-attr]
