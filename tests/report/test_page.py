"""The page as a whole: one sound file with the numbers that were given, whatever the names and gaps."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from csad.report import Contestant, Probe, demo_page
from csad.report.words import across_seeds, verdict

VOID = {"meta", "br", "img", "hr", "link", "input"}
NO_PICTURES = np.zeros((0, 8, 8, 3), dtype=np.uint8)
COLORS = [(220, 20, 60), (0, 128, 128)]
VANILLA = Contestant(
    name="vanilla",
    accuracy=0.4123,
    cells=[[0.991, 0.123], [None, 0.987]],
    curves={"target": [(0, 2.3), (1, 0.1)]},
    breaks=[(0, "target")],
    probes=[Probe("h", "red", 0.971, 0.125), Probe("h_y", "red", 0.934, 0.125)],
    target_updates=1234,
    seconds=4.2,
)
CSAD = replace(
    VANILLA,
    name="csad",
    accuracy=0.8341,
    probes=[Probe("h", "red", 0.522, 0.125), Probe("h_y", "red", 0.313, math.nan)],
    curves={name: [(0, 1.0), (9, 0.5)] for name in ("target", "bias", "estimator", "debias")},
)


class Balance(HTMLParser):
    """Follows open elements and collects the shown text and all addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.words: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.words.append(data)


def page(*contestants: Contestant, **changes: object) -> str:
    pictures = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)
    parts: dict[str, object] = {
        "title": "Coloured digits",
        "train_pictures": pictures,
        "test_pictures": pictures,
        "colors": COLORS,
        "classes": ["0", "1"],
        "facts": {"command": "csad demo"},
        **changes,
    }
    return demo_page(contestants=contestants, **parts)  # type: ignore[arg-type]


def read(html: str) -> Balance:
    """The parsed page, once it is known to be balanced."""
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return parser


def plain(html: str) -> str:
    return re.sub(r"\s+", " ", " ".join(read(html).words))


def test_the_page_is_balanced_and_holds_all_it_needs() -> None:
    html = page(VANILLA, CSAD, seeds=[{"seed": 0, "vanilla": 0.4, "csad": 0.8}])
    parsed = read(html)
    assert all(address.startswith("data:") for address in parsed.addresses)
    assert not {"script", "link", "iframe"} & set(parsed.seen)
    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in html
    assert "@import" not in html


def test_the_numbers_on_the_page_are_those_given() -> None:
    words = plain(page(VANILLA, CSAD, facts={"selection rule": "the last step"}))
    for number in ("41.2 %", "83.4 %", "97.1 %", "93.4 %", "52.2 %", "31.3 %", "12.5 %", "1 234", "4.2"):
        assert number in words
    own, other = "98.9 %", "12.3 %"
    assert own in words
    assert other in words
    assert "selection rule the last step" in words


def test_parts_come_in_the_order_a_reader_asks_for_them() -> None:
    html = page(VANILLA, CSAD, seeds=[{"seed": 0, "vanilla": 0.4}])
    headings = re.findall(r"<section>\s*<h2>(.*?)</h2>", html)
    assert headings == [
        "The problem",
        "Accuracy by colour and digit",
        "What leaks",
        "How training went",
        "Across seeds",
        "Facts",
        "Limits",
    ]


def test_a_page_without_any_optional_part_still_stands() -> None:
    html = page(train_pictures=NO_PICTURES, test_pictures=NO_PICTURES, colors=[], classes=[], facts={})
    assert re.findall(r"<section>\s*<h2>(.*?)</h2>", html) == ["Limits"]
    assert "nothing to compare" in plain(html)


def test_a_contestant_without_cells_curves_or_probes_still_has_its_card() -> None:
    bare = replace(VANILLA, cells=[], curves={}, breaks=[], probes=[], accuracy=math.nan, seconds=math.nan)
    words = plain(page(bare))
    assert "vanilla" in words
    assert "nan" not in words


@pytest.mark.parametrize("number", [1, 3, 8])
def test_any_number_of_contestants_fits(number: int) -> None:
    html = page(*(replace(CSAD, name=f"method {place}") for place in range(number)))
    assert html.count('<article class="card">') == number
    read(html)


def test_names_and_texts_are_escaped_everywhere() -> None:
    wild = '<script>alert("&")</script>'
    probes = [Probe(wild, wild, 0.5, 0.1)]
    odd = replace(CSAD, name=wild, warnings=[wild], breaks=[(0, wild)], curves={wild: [(0, 1)]}, probes=probes)
    seeds = [{"seed": wild, wild: 0.5}]
    html = page(odd, title=wild, classes=[wild, "1"], facts={wild: wild}, seeds=seeds)
    assert "script" not in read(html).seen
    assert "<script" not in html
    assert wild in unescape(html)


def test_more_colours_than_classes_are_named_by_their_hexadecimal_code() -> None:
    tall = replace(CSAD, cells=[[0.5, 0.5]] * 3)
    assert "#0a0b0c" in plain(page(tall, colors=[*COLORS, (10, 11, 12)]))


def test_warnings_stand_on_the_card() -> None:
    assert "Note. It did not settle." in plain(page(replace(CSAD, warnings=["It did not settle."])))


def test_seeds_give_a_mean_and_a_deviation_over_n_minus_one() -> None:
    seeds = [{"seed": 3, "csad": 0.80}, {"seed": 5, "csad": 0.90}, {"seed": 8, "csad": np.float32("nan")}]
    words = plain(page(CSAD, seeds=seeds))
    assert "mean 85.0 %" in words
    assert "standard deviation 7.1 %" in words
    assert "Over 3 seeds: csad 85.0 % ± 7.1." in words
    assert "One seed ran" not in words


def test_one_seed_is_said_to_be_one() -> None:
    assert "One seed ran" in plain(page(CSAD))
    assert across_seeds([{"seed": 0, "csad": 0.5}]) == ""


@pytest.mark.parametrize(
    "accuracies, sentence",
    [
        ([("vanilla", 0.41), ("csad", 0.83)], "csad is right 83 % of the time, vanilla 41 %: 42 points more."),
        ([("vanilla", 0.83), ("csad", 0.41)], "vanilla 83 %: 42 points fewer. Debiasing did not help here."),
        ([("vanilla", 0.405), ("csad", 0.4149)], "less than a point apart, so nothing was gained."),
        ([("vanilla", 0.415), ("csad", 0.426)], "csad is right 43 % of the time, vanilla 42 %: 1 point more."),
        ([("csad", 0.83)], "csad is right 83 % of the time. No other model ran to compare it with."),
        ([("vanilla", 0.4), ("csad", 0.8), ("lff", 0.6)], "vanilla 40 % and lff 60 %: 20 points more than lff."),
        ([("vanilla", math.nan), ("csad", 0.8)], "No other model ran to compare it with."),
        ([], "No model has a test accuracy: there is nothing to compare."),
    ],
)
def test_the_verdict_says_what_the_numbers_say(accuracies: list[tuple[str, float]], sentence: str) -> None:
    assert verdict(accuracies).replace("\u00a0", " ").endswith(sentence)
