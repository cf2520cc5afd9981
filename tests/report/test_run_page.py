"""The page and the card of runs: the verdict first, the same figures in both, nothing of the user's unasked."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import pytest
from run_findings import CSAD, FINDINGS, PICTURES, ROWS, SERIES, VANILLA, audit_of, told
from test_page import Balance

from csad.report import audit_words as said
from csad.report.card import model_card
from csad.report.findings import Findings
from csad.report.limits import limits
from csad.report.run_page import run_page


def parsed(page: str) -> Balance:
    found = Balance()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def test_the_page_is_sound_and_asks_for_nothing_from_elsewhere() -> None:
    page = run_page(replace(FINDINGS, attention=PICTURES, shown=ROWS))
    found = parsed(page)
    assert page.startswith("<!doctype html>")
    assert "script" not in found.seen
    assert all(address.startswith("data:") for address in found.addresses)
    assert not re.search(r"https?://|@import|url\(", page)


def test_the_parts_come_in_the_order_of_what_matters() -> None:
    page = run_page(replace(FINDINGS, attention=PICTURES))
    parts = ["verdict", "before-after", "trade-off", "cells", "probes", "columns", "attention", "curves", "warnings",
             "settings", "data", "limits"]  # fmt: skip
    assert re.findall(r'<(?:header|section) id="([\w-]+)"', page) == parts


def test_the_verdict_is_the_headline_in_each_of_its_three_states() -> None:
    for state, words in {
        "leaks": "It leaks: sex can be told from the prediction.",
        "no evidence of leakage": "No evidence that the prediction leaks sex.",
        "cannot tell": "Whether the prediction leaks sex cannot be told from these rows.",
    }.items():
        alone = told("csad seed 0", audit_of(state, (0.9, 0.6, 0.55), 0.8, 0.7))
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
    page = run_page(replace(FINDINGS, attention=PICTURES, shown=ROWS))
    plots = re.findall(r'<svg class="plot" role="img"[^>]*>(<title>.+?</title><desc>.+?</desc>)?', page)
    assert len(plots) == page.count("<svg")
    assert len(plots) >= 10
    assert all(plots)


def test_the_trade_off_tells_accuracy_and_leakage_of_every_run() -> None:
    other = told("kim seed 0", audit_of("leaks", (0.9, 0.7, 0.66), 0.8, 0.5))
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
    assert "Weights of debiasing" not in run_page(FINDINGS)


def test_a_single_run_says_what_it_lacks_instead_of_an_empty_plot() -> None:
    page = run_page(replace(FINDINGS, runs=[CSAD], before=None, importance=[]))
    assert "A trade-off needs two runs or more" in page
    assert "No model without debiasing stands beside" in page
    assert "Which columns it goes by" not in page


def test_columns_are_ranked_by_what_they_are_worth_to_either_run() -> None:
    page = run_page(FINDINGS)
    assert "vanilla seed 0 goes most by title, age; csad seed 0 goes most by age, title." in page
    rows = page[page.index('id="columns"') :]
    assert rows.index(">title<") < rows.index(">age<")
    assert "−0.0010 ± 0.0010" in page


def test_where_it_looks_is_told_in_words_too() -> None:
    page = run_page(replace(FINDINGS, attention=PICTURES))
    assert "Half of what csad seed 0 looks at lies in 6 % of the area" in page.replace("\u00a0", " ")
    assert "Half of what csad seed 0 looks at" in run_page(replace(FINDINGS, attention=SERIES))


def test_rows_are_on_the_page_only_where_they_were_asked_for_and_never_on_the_card() -> None:
    shown = replace(FINDINGS, shown=ROWS)
    assert "No row of the data is shown" in run_page(FINDINGS)
    assert "4711" in run_page(shown)
    assert "as --show-data asked" in run_page(shown)
    assert "4711" not in model_card(shown)


def test_a_model_that_says_one_thing_only_is_called_collapsed() -> None:
    audit: dict[str, Any] = audit_of("no evidence of leakage", (0.9, 0.5, 0.5), 0.6, 0.0)
    audit["figures"] |= {f"recall_{k}": {"value": v, "low": None, "high": None} for k, v in enumerate((1.0, 0.01))}
    assert "It says low of nearly every row" in said.collapse(audit)
    page = run_page(Findings("a title", [told("csad seed 0", audit)]))
    assert page.index("It says low of nearly every row") < page.index('id="before-after"')
    assert said.collapse(dict(CSAD.audit)) == ""


def test_warnings_of_the_training_stand_beside_the_verdict_and_below() -> None:
    warned = replace(CSAD, warnings=["The target branch has fallen to chance."])
    page = run_page(replace(FINDINGS, runs=[warned, VANILLA]))
    assert page.count("The target branch has fallen to chance.") == 2
    assert "no training was seen to collapse" in run_page(FINDINGS)


def test_cells_of_few_rows_are_named_among_the_limits() -> None:
    assert "Cells of fewer than 30 rows say little: high, sex f." in run_page(FINDINGS)
    assert "The audit was made for this page." in run_page(FINDINGS)


def test_a_target_that_is_a_number_has_no_cells_and_its_own_figure() -> None:
    audit = audit_of("leaks", (0.9, 0.8, 0.7), 0.8, 0.7)
    audit |= {"targets": [], "cells": [], "alignment": []}
    audit["figures"] = {"mean_squared_error": {"value": 0.456, "low": 0.4, "high": 0.5}}
    pair = [told("csad seed 0", audit), told("vanilla seed 0", audit)]
    page = run_page(Findings("a title", pair, pair[1]))
    assert "mean squared error" in page
    assert "0.456 (0.400" in page
    assert 'id="cells"' not in page
    assert "Further left errs less" in page
    assert "Further right is more often right" in run_page(FINDINGS)
    assert "worst cell" not in page
    assert "0.456" in model_card(Findings("a title", pair, pair[1]))


def test_names_that_look_like_markup_are_only_words() -> None:
    audit = copy.deepcopy(dict(CSAD.audit))
    audit["targets"] = ["low", "<b>|`x`"]
    for cell in audit["cells"]:
        cell["target"] = cell["target"].replace("high", "<b>|`x`")
    bad = "<script>alert(1)</script>"
    findings = replace(FINDINGS, title=bad, runs=[replace(CSAD, audit=audit), VANILLA], data={bad: bad})
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
    for heading in ("Model", "Runs", "Figures", "What can be read of the bias", "Data", "Settings", "Limits"):
        assert f"\n## {heading}\n" in card
    assert "| accuracy | 0.871 | 0.862 | −0.009" in card.replace("\u00a0", " ")
    assert "| f | high | 12 | 0.733 (0.683 … 0.783) |" in card.replace("\u00a0", " ")


@pytest.mark.parametrize(
    "name, words",
    [
        ("equalised_odds_sex", "equalised odds gap, sex"),
        ("gap_age_band_max", "greatest recall gap, age_band"),
        ("recall_1", "right of high"),
        ("recall_7", "right of 7"),
        ("conflicting_sex", "accuracy on rows that go against sex"),
        ("something_new", "something new"),
    ],
)
def test_figures_have_names_that_people_know(name: str, words: str) -> None:
    assert said.figure_label(name, ["low", "high"]) == words


def test_that_one_seed_ran_is_told_only_where_that_is_so() -> None:
    def seeded(seed: str) -> Findings:
        other = replace(CSAD, name=f"csad seed {seed}", facts={**CSAD.facts, "seed": seed})
        return replace(FINDINGS, runs=[replace(CSAD, facts={**CSAD.facts, "seed": "0"}), other, VANILLA])

    assert any("One seed of each method ran" in limit for limit in limits(FINDINGS))
    assert not any("One seed of each method ran" in limit for limit in limits(seeded("1")))
