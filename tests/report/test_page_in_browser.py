"""The page as a browser shows it: nothing asked of the network, the verdict at once, charts drawn, dark legible."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from csad.report.page import run_page
from csad.report.wording import headline
from tests.support.browser import HOW, Browser, found_browser
from tests.support.run_findings import COLORS as COLOR_MAPS
from tests.support.run_findings import FINDINGS, GRIDS, PICTURES

SIZES = {"desk": (1280, 800), "phone": (390, 844)}
# Of each element that holds words: these, its colour and what lies behind it. Numbers in cells of a heat map lie on
# rectangles, not in them: test_contrast.py measures those.
COLORS = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('title, desc')
    && !/on-(low|high)/.test(e.getAttribute('class') || '')
    && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
  let back = e, color = 'rgba(0, 0, 0, 0)';
  while (back && color === 'rgba(0, 0, 0, 0)') {
    color = getComputedStyle(back).backgroundColor;
    back = back.parentElement;
  }
  const own = getComputedStyle(e);
  return [e.textContent.trim().slice(0, 40), e.tagName === 'text' ? own.fill : own.color, color];
})
"""
PLOTS = """
[...document.querySelectorAll('svg.plot')].filter(e => !e.closest('details')).map(e => {
  const box = e.getBoundingClientRect(), marks = e.querySelectorAll('path, rect, line, polyline, image').length;
  const small = Math.min(...[...e.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize)
    * t.getScreenCTM().a).filter(Boolean));
  const title = e.querySelector('title').textContent;
  const words = [...e.querySelectorAll('text')].filter(t => t.textContent).map(t => t.getBoundingClientRect());
  const out = Math.max(0, ...words.map(word => Math.max(word.right - box.right, box.left - word.left)));
  return {title, width: box.width, height: box.height, right: box.right, marks, small, out};
})
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = found_browser()
    if program is None:
        if os.environ.get("CSAD_PAGE_TEST"):
            pytest.fail(HOW)
        pytest.skip(HOW)
    with Browser(program) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page") / "report.html"
    place.write_text(
        run_page(replace(FINDINGS, attention=PICTURES, shown=GRIDS, color_maps=COLOR_MAPS)), encoding="utf-8"
    )
    return place


def luminance(color: str) -> float:
    """WCAG 2's relative luminance of rgb(r, g, b)."""
    assert color.startswith("rgb("), color
    shares = [int(part) / 255 for part in color[4:-1].split(",")]
    r, g, b = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    bright, dim = sorted(map(luminance, (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_the_page_asks_nothing_of_the_network_and_complains_of_nothing(browser: Browser, page: Path) -> None:
    browser.requests.clear()
    browser.complaints.clear()
    browser.open(page, *SIZES["desk"])
    assert browser.value("document.querySelectorAll('section').length") > 9
    assert {request for request in browser.requests if not request.startswith("data:")} == {page.as_uri()}
    assert browser.complaints == []


def test_a_page_that_does_ask_or_complain_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<!doctype html><img src='http://localhost:9/x.png'><script>console.error('oh'); no()</script>")
    browser.requests.clear()
    browser.complaints.clear()
    browser.open(bad, *SIZES["desk"])
    assert "http://localhost:9/x.png" in browser.requests
    assert len(browser.complaints) >= 2
    browser.requests.clear()
    browser.complaints.clear()


@pytest.mark.parametrize("size", SIZES)
def test_the_verdict_is_seen_without_scrolling_and_nothing_runs_off_to_the_side(
    browser: Browser, page: Path, size: str
) -> None:
    width, height = SIZES[size]
    browser.open(page, width, height)
    for what in (".badge", "h1", "header .lead"):
        box: Any = browser.value(f"document.querySelector('{what}').getBoundingClientRect().toJSON()")
        assert box["top"] >= 0, what
        assert box["bottom"] <= height, what
        assert box["right"] <= width, what
    assert browser.value("document.querySelector('h1').textContent") == headline(FINDINGS.main.audit)
    assert browser.value("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("size", SIZES)
def test_charts_are_drawn_as_wide_as_there_is_room_with_letters_to_read(
    browser: Browser, page: Path, size: str
) -> None:
    width, height = SIZES[size]
    browser.open(page, width, height)
    plots = browser.value(PLOTS)
    assert len(plots) >= 10
    for plot in plots:
        assert plot["width"] > 200, plot
        assert plot["height"] > 60, plot
        assert plot["right"] <= width, plot
        assert plot["marks"] > 0, plot
        assert plot["out"] < 8, plot  # how far words stand out of the plot
        assert plot["small"] is None or plot["small"] >= 9, plot


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_words_stand_out_from_what_lies_behind_them(browser: Browser, page: Path, scheme: str) -> None:
    browser.open(page, *SIZES["desk"], scheme)
    found = browser.value(COLORS)
    assert len(found) > 150
    dark = luminance(browser.value("getComputedStyle(document.body).backgroundColor")) < 0.1
    assert dark == (scheme == "dark")
    for words, color, behind in found:
        assert contrast(color, behind) >= 4.5, (words, color, behind)


def test_it_prints_on_white_paper_with_all_details_open(browser: Browser, page: Path) -> None:
    browser.open(page, *SIZES["desk"], "dark")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.value("Math.min(...[...document.querySelectorAll('details table')].map(t => t.offsetHeight))") > 20
    browser.ask("Emulation.setEmulatedMedia", media="")
