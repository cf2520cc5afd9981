"""Weights beyond the first five: tried only where they may pay, never twice, and never without an end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import csad
from csad.errors import Interrupted
from csad.runs.planned_run import PreparedRun
from csad.sweeps.train_stack import StackTrainer
from csad.sweeps.tuning import tune
from csad.sweeps.tuning.rule import MULTIPLIERS, Trial, decide, weights_on, why_higher
from tests.support.choosing_data import BRIEF, dataset
from tests.support.messages import noticed

VANILLA = Trial(None, 0.80, 0.70)
DIVERGES = 2e38


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the runs of each program that is trained from here on."""
    found: list[list[str]] = []
    train = StackTrainer.train

    def noted(self: StackTrainer, runs: list[PreparedRun]) -> list[str]:
        found.append([run.request.name for run in runs])
        return train(self, runs)

    monkeypatch.setattr(StackTrainer, "train", noted)
    return found


def higher(*tried: tuple[float, float, float], lost: tuple[float, ...] = ()) -> str:
    made = [Trial(*one) for one in tried]
    return why_higher(decide(VANILLA, made, cost=0.02, score="balanced accuracy", rows=90, lost=lost))


def test_the_ladder_ends_at_a_thousand_times_the_default() -> None:
    assert weights_on(3.0, MULTIPLIERS[0]) == [0.3, 0.9, 3.0, 9.0, 30.0]
    assert [weights_on(3.0, rungs) for rungs in MULTIPLIERS[1:]] == [[90.0, 300.0], [900.0, 3000.0]]


def test_larger_weights_are_tried_while_the_largest_is_cheap_and_all_cheap_ones_leak() -> None:
    why = higher((3, 0.79, 0.60), (30, 0.78, 0.52))
    assert all(words in why for words in ("largest weight, 30,", "at most 0.02", "still leaks (AUC 0.520"))
    assert higher((3, 0.79, 0.52), (30, 0.78, 0.60))  # the least of the cheap ones counts, whichever it is


def test_where_the_largest_costs_too_much_or_one_has_reached_chance_the_ladder_ends() -> None:
    assert higher((3, 0.79, 0.60), (30, 0.77, 0.52)) == ""
    assert higher((3, 0.79, 0.60), (30, 0.78, 0.51)) == ""
    assert higher((3, 0.78, 0.505), (30, 0.79, 0.60)) == ""
    assert higher((3, 0.70, 0.60), (30, 0.71, 0.52)) == ""


def test_beyond_a_weight_that_has_diverged_nothing_is_tried() -> None:
    assert higher((3, 0.79, 0.60), lost=(30,)) == ""
    assert higher((30, 0.79, 0.60), lost=(3,))


def test_what_is_tried_beyond_is_told_and_kept_and_has_an_end(
    tmp_path: Path, heard: Any, trained: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "MULTIPLIERS", ((0.001, 0.002), (0.003,), (0.004, 0.005)))  # too little to change a thing
    run = csad.train(dataset(), settings=BRIEF, out=tmp_path / "run", device="cpu", listener=heard)
    weights = [0.003, 0.006, 0.009, 0.012, 0.015]
    assert [one["debias_weight"] for one in run.result["choice"]["tried"]] == weights
    names = [f"debias_weight={weight:g}" for weight in weights]
    assert trained == [["vanilla"], names[:2], names[2:3], names[3:]]
    assert noticed(heard.said, "tuning-started", setting="debias_weight", weights="0.003, 0.006")
    more = [text for text in heard.said if text.code == "larger-weights-tried"]
    assert [text.facts["weights"] for text in more] == ["0.009", "0.012, 0.015"]
    assert heard.said[-1].code == "no-larger-weights-tried"
    for text, largest in zip((*more, heard.said[-1]), (0.006, 0.009, 0.015), strict=True):
        assert f" {largest:g}, costs at most 0.02, but every" in text.facts["problem"]
    assert json.loads((tmp_path / "run" / "choice.json").read_text()) == run.result["choice"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_choice_that_was_stopped_on_a_further_rung_goes_on_there(
    tmp_path: Path, trained: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "MULTIPLIERS", ((0.001, DIVERGES), (0.002,), (0.003,)))
    monkeypatch.setattr(tune, "why_higher", lambda choice: "It leaks")
    finish = StackTrainer._finish

    def stop(self: StackTrainer, ended: Any, together: int) -> None:
        if ended[0].run.request.name == "debias_weight=0.006":
            raise KeyboardInterrupt
        finish(self, ended, together)

    out, data = tmp_path / "run", dataset()
    with monkeypatch.context() as patch:
        patch.setattr(StackTrainer, "_finish", stop)
        with pytest.raises(Interrupted, match="--resume"):
            csad.train(data, settings=BRIEF, out=out, device="cpu")
    assert trained == [["vanilla"], ["debias_weight=0.003", "debias_weight=6e+38"], ["debias_weight=0.006"]]
    trained.clear()
    run = csad.train(data, settings=BRIEF, out=out, device="cpu", resume=True)
    assert trained == [["debias_weight=0.006"], ["debias_weight=0.009"]]  # not even the one that has diverged
    found = run.result["choice"]
    assert ([one["debias_weight"] for one in found["tried"]], found["lost"]) == ([0.003, 0.006, 0.009], [6e38])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_others_have_put_beside_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "MULTIPLIERS", ((0.001,),))
    beside = tmp_path / "run.choosing"
    (beside / "debias_weight=7").mkdir(parents=True)
    (beside / "debias_weight=7" / "mine.txt").write_text("mine")
    csad.train(dataset(), settings=BRIEF, out=tmp_path / "run", device="cpu", force=True)
    assert [path.name for path in beside.rglob("*")] == ["debias_weight=7", "mine.txt"]
