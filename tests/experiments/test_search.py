"""A search for settings: by which figures runs are judged, and how a page shows them."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
RESULT = {"train": {"a": 1.0, "b": 1.0}, "EB2": {"a": 0.5, "b": 0.1}, "test": {"a": 0.75, "b": 0.2}}


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("judges", "figures"),
    [
        (["test"], (0.75, {"a": 0.75, "b": 0.2})),
        (["EB1", "EB2", "test"], (0.625, {"EB2": 0.5, "test": 0.75})),
    ],
)
def test_one_split_judges_by_its_first_metric_and_several_by_their_mean(judges, figures):
    assert module(ROOT / "benchmarks" / "search.py").judged(RESULT, judges, ["a", "b"]) == figures


def test_a_page_names_what_was_trained_on_where_the_same_photos_judge_and_are_judged_by():
    tried = [
        ("0", "EB1", {"EB2": 0.5, "test": 0.6}),
        ("0", "EB2", {"EB1": 0.7, "test": 0.8}),
        ("1", "EB1", {"EB2": 1, "test": 1}),
        ("1", "EB2", {"EB1": 0.25, "test": 1}),
        ("1", "EB2", {"EB1": 0.75, "test": 1}),
    ]
    runs = [{"values": {"data.setting": on, "λ": weight}, "figures": figures} for weight, on, figures in tried]
    shown = module(ROOT / "docs" / "searches.py").figures_table(runs, "data.setting").splitlines()
    assert shown[0] == "| λ | EB1→EB2 | EB1→test | EB2→EB1 | EB2→test |"
    assert shown[2:] == ["| 0 | 0.500 | 0.600 | 0.700 | 0.800 |", "| 1 | 1.000 | 1.000 | 0.500 | 1.000 |"]
