"""The demonstration, whole: what the README's first command promises."""

import json
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """The real command with its real settings, once: the longest test there is, about a minute and a half."""
    place = tmp_path_factory.mktemp("demonstration")
    command = [sys.executable, "-m", "csad", "demo", "--json", "--quiet"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    return place, json.loads(done.stdout)


def test_csad_beats_vanilla_by_25_points_with_as_many_target_updates(demonstration):
    _, summary = demonstration
    vanilla, csad = summary["methods"]["vanilla"], summary["methods"]["csad"]
    assert csad["accuracy"] - vanilla["accuracy"] == pytest.approx(summary["gain"])
    assert summary["gain"] >= 0.25
    assert csad["target_updates"] == vanilla["target_updates"] > 0


def test_it_ends_with_the_report_of_both_models_and_the_pictures(demonstration):
    place, summary = demonstration
    page = (place / summary["report"]).read_text()
    for figures in summary["methods"].values():
        assert f"{100 * figures['accuracy']:.1f}" in page
    assert page.count("<svg") >= 6
    for section in ("verdict", "before-after", "pictures", "cells", "probes", "attention", "rows", "curves", "limits"):
        assert f'id="{section}"' in page
    assert "The diagonal holds the pairs of target and colour" in page


def test_the_summary_has_the_verdict_on_each_model(demonstration):
    _, summary = demonstration
    assert list(summary["verdicts"]) == ["csad seed 0", "vanilla seed 0"]
    assert summary["verdicts"]["vanilla seed 0"]["state"] == "leaks"


def test_the_page_asks_for_no_network(demonstration):
    place, summary = demonstration
    page = (place / summary["report"]).read_text()
    assert "http://" not in page
    assert "https://" not in page


def test_a_second_call_trains_nothing_again(demonstration):
    place, summary = demonstration
    stamps = {path: path.stat().st_mtime_ns for path in place.rglob("state.safetensors")}
    again = subprocess.run(
        [sys.executable, "-m", "csad", "demo", "--json"], cwd=place, capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout) == summary
    assert {path: path.stat().st_mtime_ns for path in place.rglob("state.safetensors")} == stamps
    assert len(stamps) == 2
