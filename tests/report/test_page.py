"""The page and the card of runs: the verdict first, the same figures in both, nothing of the user's unasked."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from csad.auditing.metrics.metric import METRICS
from csad.messages import message
from csad.report.card import model_card
from csad.report.findings import Findings
from csad.report.page import limits, run_page
from csad.report.wording import collapse
from tests.support.balance import Balance
from tests.support.run_findings import (
    COLORS,
    CSAD,
    CSAD_AUDIT,
    FINDINGS,
    GRIDS,
    PICTURES,
    ROWS,
    SERIES,
    VANILLA,
    audit_of,
    summary,
)


def parsed(page: str) -> Balance:
    found = Balance()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def test_the_page_is_sound_and_asks_for_nothing_from_elsewhere() -> None:
    page = run_page(replace(FINDINGS, attention=PICTURES, shown=GRIDS, color_maps=COLORS))
    found = parsed(page)
    assert page.startswith("<!doctype html>")
    assert "script" not in found.seen
    assert all(address.startswith("data:") for address in found.addresses)
    assert not re.search(r"https?://|@import|url\(", page)


def test_the_parts_come_in_the_order_of_what_matters() -> None:
    page = run_page(replace(FINDINGS, attention=PICTURES, color_maps=COLORS))
    parts = ["verdict", "before-after", "pictures", "trade-off", "cells", "probes", "columns", "attention", "curves",
             "warnings", "settings", "data", "limits"]  # fmt: skip
    assert re.findall(r'<(?:header|section) id="([\w-]+)"', page) == parts


def test_the_verdict_is_the_headline_in_each_of_its_three_states() -> None:
    for state, words in {
        "leaks": "The model leaks: probes can predict sex from the prediction.",
        "no evidence of leakage": "No evidence that probes can predict sex from the prediction.",
        "cannot tell": "These rows do not show whether probes can predict sex from the prediction.",
    }.items():
        alone = summary("csad seed 0", audit_of(state, (0.9, 0.6, 0.55), 0.8, 0.7))
        page = run_page(Findings("a title", [alone]))
        assert f"<h1>{words}</h1>" in page
        assert f"**{words}**" in model_card(Findings("a title", [alone]))
        assert "What is said of sex from prediction." in page


def test_before_and_after_stand_side_by_side_with_their_figures() -> None:
    text = " ".join(" ".join(parsed(run_page(FINDINGS)).words).split())
    before, after = text.index("vanilla seed 0 before"), text.index("csad seed 0 after")
    assert before < text.index("87.1") < after < text.index("86.2")
    assert "41.2" in text[before:after]  # accuracy in the worst cell
    assert "−0.009 (−0.020" in text


def test_every_plot_has_a_title_and_a_description_for_those_who_cannot_see_it() -> None:
    page = run_page(replace(FINDINGS, attention=PICTURES, shown=GRIDS, color_maps=COLORS))
    plots = re.findall(r'<svg class="plot" role="img"[^>]*>(<title>.+?</title><desc>.+?</desc>)?', page)
    assert len(plots) == page.count("<svg")
    assert len(plots) >= 10
    assert all(plots)


def test_the_trade_off_tells_accuracy_and_leakage_of_every_run() -> None:
    other = summary("kim seed 0", audit_of("leaks", (0.9, 0.7, 0.66), 0.8, 0.5))
    page = run_page(replace(FINDINGS, runs=[CSAD, VANILLA, other]))
    assert "vanilla seed 0: 0.871 and 0.810; csad seed 0: 0.862 and 0.510; kim seed 0: 0.800 and 0.660" in page


def test_the_weights_that_were_tried_stand_on_page_and_card() -> None:
    tried = {"debias_weight": 3.0, "score": 0.812, "leakage": 0.554}
    stopped = {"debias_weight": 10.0, "score": 0.8, "leakage": 0.5, "epoch": 4}
    choice = {"why": "3 is taken.", "score": "balanced accuracy", "tried": [tried, stopped],
              "vanilla": {"debias_weight": None, "score": 0.82, "leakage": 0.7}}  # fmt: skip
    findings = replace(FINDINGS, runs=[replace(CSAD, choice=choice), VANILLA])
    assert "<td>0.812</td><td>0.554</td>" in run_page(findings)
    assert "3 is taken." in run_page(findings)
    assert "| 3 | 0.812 | 0.554 |" in model_card(findings)
    assert "| 10, after epoch 4 | 0.800 | 0.500 |" in model_card(findings)
    assert "that were tried" in run_page(findings)
    assert "that were tried" not in run_page(FINDINGS)


def test_a_single_run_says_what_it_lacks_instead_of_an_empty_plot() -> None:
    page = run_page(replace(FINDINGS, runs=[CSAD], before=None, importance=[]))
    assert "A trade-off needs at least two runs" in page
    assert "No model without debiasing was compared" in page
    assert 'id="columns"' not in page


def test_columns_are_ranked_by_what_they_are_worth_to_either_run() -> None:
    page = run_page(FINDINGS)
    assert "vanilla seed 0 relies most on title, age; csad seed 0 relies most on age, title." in page
    rows = page[page.index('id="columns"') :]
    assert rows.index(">title<") < rows.index(">age<")
    assert "−0.0010 ± 0.0010" in page


def test_where_it_looks_is_told_in_words_too() -> None:
    page = run_page(replace(FINDINGS, attention=PICTURES))
    assert "csad seed 0 puts half of its attention on 6 % of the area" in page.replace("\u00a0", " ")
    assert "csad seed 0 puts half of its attention on" in run_page(replace(FINDINGS, attention=SERIES))


def test_rows_are_on_the_page_only_where_they_were_asked_for_and_never_on_the_card() -> None:
    shown = replace(FINDINGS, shown=ROWS)
    assert "No row of the data is shown" in run_page(FINDINGS)
    assert "4711" in run_page(shown)
    assert "--show-data" in run_page(shown)
    assert "--show-data" not in run_page(FINDINGS)
    assert "4711" not in model_card(shown)


def test_pictures_by_target_are_on_the_page_only_if_data_were_asked_for() -> None:
    page = run_page(replace(FINDINGS, shown=GRIDS))
    assert "From left to right, 2 columns each: low, high." in page
    assert "This part shows pictures from the data" in page
    assert "--show-data" not in run_page(replace(FINDINGS, color_maps=COLORS))
    assert 'id="pictures"' not in run_page(replace(FINDINGS, shown=ROWS))


def test_color_maps_tell_what_training_showed_only_where_each_target_had_a_color() -> None:
    paired = run_page(replace(FINDINGS, color_maps=COLORS)).replace("\u00a0", " ")
    assert "The diagonal holds the pairs of target and colour that are frequent in training." in paired
    assert paired.count("The mean accuracy of the cells is 87.5 % on the diagonal and 25.0 % elsewhere.") == 2
    assert paired.count("rgb(200,10,10)") == 2
    apart = run_page(replace(FINDINGS, color_maps=replace(COLORS, paired=False)))
    assert "iagonal" not in apart


def test_a_model_that_says_one_thing_only_is_called_collapsed() -> None:
    audit: dict[str, Any] = audit_of("no evidence of leakage", (0.9, 0.5, 0.5), 0.6, 0.0)
    audit["figures"] |= {f"recall_{k}": {"value": v, "low": None, "high": None} for k, v in enumerate((1.0, 0.01))}
    collapsed = summary("csad seed 0", audit)
    warning = collapse(collapsed.audit)
    assert warning == message("model-collapsed", target="low")
    page = unescape(run_page(Findings("a title", [collapsed])))
    assert page.index(warning) < page.index('id="before-after"')
    assert collapse(CSAD.audit) == ""


def test_warnings_of_the_training_stand_beside_the_verdict_and_below() -> None:
    warned = replace(CSAD, warnings=["The target branch has fallen to chance."])
    page = run_page(replace(FINDINGS, runs=[warned, VANILLA]))
    assert page.count("The target branch has fallen to chance.") == 2
    assert "no training collapsed or stalled" in run_page(FINDINGS)


def test_cells_of_few_rows_are_named_among_the_limits() -> None:
    assert "cells with fewer than 30 rows is unreliable: high, sex f." in run_page(FINDINGS)
    assert "The audit was made for this page." in run_page(FINDINGS)


def test_a_target_that_is_a_number_has_no_cells_and_its_own_figure() -> None:
    audit = audit_of("leaks", (0.9, 0.8, 0.7), 0.8, 0.7)
    audit |= {"targets": [], "cells": [], "alignment": []}
    audit["figures"] = {"mean_squared_error": {"value": 0.456, "low": 0.4, "high": 0.5}}
    pair = [summary("csad seed 0", audit), summary("vanilla seed 0", audit)]
    page = run_page(Findings("a title", pair, pair[1]))
    assert "mean squared error" in page
    assert "0.456 (0.400" in page
    assert 'id="cells"' not in page
    assert "Further left means smaller errors" in page
    assert "Further right is more accurate" in run_page(FINDINGS)
    assert "worst cell" not in page
    assert "0.456" in model_card(Findings("a title", pair, pair[1]))


def test_names_that_look_like_markup_are_only_words() -> None:
    audit = copy.deepcopy(CSAD_AUDIT)
    audit["targets"] = ["low", "<b>|`x`"]
    for cell in audit["cells"]:
        cell["target"] = cell["target"].replace("high", "<b>|`x`")
    bad = "<script>alert(1)</script>"
    findings = replace(FINDINGS, title=bad, runs=[summary("csad seed 0", audit), VANILLA], data={bad: bad})
    page, card = run_page(findings), model_card(findings)
    assert "<script" not in page
    assert "<b>" not in page
    parsed(page)
    assert r"\<script>" in card
    assert not re.search(r"(?<!\\)<script", card)
    widths = {line.count(" | ") for line in card.splitlines() if line.startswith("| ") and "target" in line}
    assert widths == {3}


def test_pages_and_cards_hold_no_control_characters() -> None:
    wild = "a\x1b]0;owned\x07\x9b1m\u202eb\nc"
    findings = replace(FINDINGS, title=wild, data={wild: wild}, notes=[wild])
    page, card = run_page(findings), model_card(findings)
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page + card)
    assert "a\\x1b]0;owned\\x07\\x9b1m\\u202eb\nc" in page
    assert "# Model card: a\\\\x1b\\]0;owned\\\\x07\\\\x9b1m\\\\u202eb c\n" in card


def test_the_card_holds_the_figures_of_the_page() -> None:
    card = model_card(FINDINGS)
    for heading in (
        "Model",
        "Runs",
        "Metrics, compared with vanilla seed 0",
        "How well probes predict the bias",
        "Data",
        "Settings",
        "Limits",
    ):
        assert f"\n## {heading}\n" in card
    assert "| accuracy | 0.862 | 0.871 | −0.009" in card.replace("\u00a0", " ")
    assert "| f | high | 12 | 0.733 (0.683 … 0.783) |" in card.replace("\u00a0", " ")


@pytest.mark.parametrize(
    "name, words",
    [
        ("equalized_odds_sex", "equalized odds gap, sex"),
        ("gap_age_band_max", "greatest recall gap, age_band"),
        ("recall_1", "recall of high"),
        ("recall_7", "recall of 7"),
        ("conflicting_sex", "accuracy on rows that conflict with sex"),
        ("something_new", "something new"),
    ],
)
def test_figures_have_names_that_people_know(name: str, words: str) -> None:
    assert METRICS.label(name, ["low", "high"]) == words


def test_that_one_seed_ran_is_told_only_where_that_is_so() -> None:
    def seeded(seed: str) -> Findings:
        other = replace(CSAD, name=f"csad seed {seed}", facts={**CSAD.facts, "seed": seed})
        return replace(FINDINGS, runs=[replace(CSAD, facts={**CSAD.facts, "seed": "0"}), other, VANILLA])

    assert any("one seed only" in limit for limit in limits(FINDINGS))
    assert not any("one seed only" in limit for limit in limits(seeded("1")))
