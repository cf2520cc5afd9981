"""A search for settings: by which figures runs are judged, and how a page shows them."""

import pytest

from csad.errors import InputError
from tests.support.scripts import script

RESULT = {"train": {"a": 1.0, "b": 1.0}, "EB2": {"a": 0.5, "b": 0.1}, "test": {"a": 0.75, "b": 0.2}}


@pytest.mark.parametrize(
    ("judges", "figures"),
    [
        (["test"], (0.75, {"a": 0.75, "b": 0.2})),
        (["EB1", "EB2", "test"], (0.625, {"EB2": 0.5, "test": 0.75})),
    ],
)
def test_one_split_judges_by_its_first_metric_and_several_by_their_mean(judges, figures):
    assert script("benchmarks/search.py").judged(RESULT, judges, ["a", "b"]) == figures


def test_a_part_of_a_sweep_has_its_own_runs_alone_and_its_lines_say_which(tmp_path):
    common = {"task": "toy-table", "metrics": ["accuracy"], "set": {"train.target_epochs": 1, "train.epochs": 0}}
    told = {"method": "vanilla", "set": {"data.seed": "1,2", "train.batch_size": "64,128"}}
    lines = script("benchmarks/search.py").search("v", told, common, {"data.seed": "2"}, tmp_path, None)
    assert [line["values"] for line in lines] == [
        {"data.seed": "2", "train.batch_size": "64"}, {"data.seed": "2", "train.batch_size": "128"},
    ]  # fmt: skip


def test_a_part_that_is_no_setting_is_told_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["search.py", "wiki", "v1", "--only", "EB1"])
    with pytest.raises(SystemExit) as left:
        script("benchmarks/search.py").main()
    assert left.value.code == 2
    assert str(InputError("setting-not-name-value", value="EB1")) in capsys.readouterr().err


def test_a_page_names_what_was_trained_on_and_each_figure_stands_under_its_own_head():
    tried = [
        ("0", "EB1", {"EB2": 0.5, "test": 0.6}),
        ("0", "EB2", {"EB1": 0.7, "test": 0.8}),
        ("1", "EB2", {"EB1": 0.25, "test": 1}),
        ("1", "EB2", {"EB1": 0.75, "test": 1}),
    ]
    runs = [
        {"values": {"data.setting": on, "λ": weight}, "figures": figures, "seed": 0} for weight, on, figures in tried
    ]
    told = {"question": "?", "finding": "!", "set": {}}
    shown = [line for line in script("docs/searches.py").fairface("f", told, runs).splitlines() if line[:1] == "|"]
    assert shown[0] == "| λ | EB1→EB2 | EB1→test | EB2→EB1 | EB2→test |"
    assert shown[2:] == ["| 0 | 0.500 | 0.600 | 0.700 | 0.800 |", "| 1 | – | – | 0.500 | 1.000 |"]


def test_a_page_of_one_judge_has_its_metrics_as_heads_and_means_over_seeds():
    runs = [{"values": {"λ": "1"}, "figures": {"bias_conflicting": k}, "seed": k} for k in (0, 1)]
    told = {"question": "?", "finding": "!", "set": {}}
    shown = [line for line in script("docs/searches.py").celeba("c", told, runs).splitlines() if line[:1] == "|"]
    assert shown == ["| λ | bias conflicting |", "| --- | --- |", "| 1 | 0.500 |"]


def test_a_page_of_worlds_says_how_far_even_people_teach_better():
    rows = [
        {"effect": effect, "age_effect": 1.0, "age_bias": -1.0, "biased": biased, "even": 0.7}
        for effect, biased in (("small", 0.6), ("large", 0.75))
    ]
    assert script("docs/searches.py").worlds_table(rows).splitlines() == [
        "| data.age_effect | data.age_bias | small | large |",
        "| --- | --- | --- | --- |",
        "| 1 | -1 | +.100 | −.050 |",
    ]
