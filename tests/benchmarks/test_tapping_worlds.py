"""The program that says in which simulated world age misleads."""

import json
import sys

import pytest

from tests.support.scripts import script


@pytest.fixture
def worlds():
    return script("benchmarks/tapping_worlds.py")


def test_who_learns_where_the_young_are_ill_is_misled_and_where_age_tells_nothing_is_not(worlds):
    misled = worlds.compared("large", 1.0, -2.0, 2000)
    assert misled["even"] - misled["biased"] > 0.1
    spared = worlds.compared("large", 1.0, 0.0, 2000)
    assert abs(spared["even"] - spared["biased"]) < 0.02


def test_tested_are_only_ages_that_mpower_tests_and_age_tells_nothing_there(worlds, monkeypatch):
    seen = []
    monkeypatch.setattr(worlds, "auc", lambda learned, tested, world: seen.append((learned, tested)) or 0.5)
    worlds.compared("small", 1.0, 4.0, 4000)
    (biased, tested), (even, again) = seen
    assert tested == again
    assert min(person.age for person in tested) == 45
    for people in (tested, even):
        old = [person.parkinson for person in people if person.age >= 65]
        young = [person.parkinson for person in people if person.age < 55]
        assert abs(sum(old) / len(old) - sum(young) / len(young)) < 0.1
    assert min(person.age for person in biased if person.parkinson) > 45
    assert [person.nature for person in biased] == [person.nature for person in even]


def test_all_worlds_and_effects_are_written(worlds, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(worlds, "WORLDS", [(1.0, -1.0)])
    monkeypatch.setattr(sys, "argv", ["tapping_worlds.py", "--people", "300", "--out", str(tmp_path / "worlds.json")])
    worlds.main()
    told = json.loads((tmp_path / "worlds.json").read_text())
    assert told["people"] == 300
    assert [(row["effect"], row["age_bias"]) for row in told["rows"]] == [
        (e, -1.0) for e in ("small", "medium", "large")
    ]
    assert len(capsys.readouterr().out.splitlines()) == 3
