"""The epoch that a run takes by a figure of its validation rows: alone, in a stack, stopped and gone on with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from choosing_data import BRIEF, dataset
from listeners import Heard, StopAt
from torch import nn

import csad
from csad.errors import InputError, Interrupted
from csad.experiments.sweep import sweep
from csad.training.log import Log

BY = "worst_group"
LONGER = BRIEF | {"epochs": 5, "rate": 0.03, "debias_weight": 3.0, "select_by": BY}
TABLE = {f"train.{name}": value for name, value in LONGER.items() if name not in ("inner_steps", "debias_weight")}


def seen(log: Log, figure: str = BY) -> list[float]:
    """The figure, epoch by epoch."""
    return [line["validation"][figure] for line in log.lines if figure in line.get("validation", {})]


@cache
def unstopped() -> csad.Run:
    """A run that takes an epoch before its last."""
    return csad.train(dataset(), settings=LONGER, device="cpu")


def test_the_best_epoch_is_taken_and_is_the_run_that_so_many_epochs_give(tmp_path: Path) -> None:
    data = dataset()
    run = csad.train(data, settings=LONGER, out=tmp_path / "run", device="cpu")
    values = seen(run.log)
    epoch = int(np.argmax(values)) + 1
    assert len(values) == 5
    assert epoch < 5, "these data are made so that the last epoch is not the best"
    assert run.result["selection"] == f"epoch {epoch} of 5, with the highest worst_group on the validation split"
    assert run.result["metrics"]["validation"][BY] == max(values)
    shorter = csad.train(data, settings=LONGER | {"epochs": epoch, "select_by": ""}, device="cpu")
    assert shorter.result["selection"] == "last epoch"
    x = data.splits["test"].x
    given = [one.predict_proba(x) for one in (run, csad.load(tmp_path / "run", device="cpu"), unstopped(), shorter)]
    for other in given[1:]:
        np.testing.assert_array_equal(given[0], other)


def test_of_epochs_that_are_as_good_the_first_is_taken() -> None:
    still = {"train.epochs": 3, "train.rate": 1e-9, "train.select_by": BY}
    run = csad.train("toy-table", "vanilla", settings=still, device="cpu")
    assert len(set(seen(run.log))) == 1
    assert run.result["selection"].startswith("epoch 1 of 3")


def test_a_finished_run_keeps_its_log_and_no_other_epochs_weights(tmp_path: Path) -> None:
    run = csad.train(dataset(), settings=LONGER, out=tmp_path / "run", device="cpu")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"config.toml", "rows.json", "log.jsonl", "checkpoint", "result.json"}
    assert seen(Log(tmp_path / "run" / "log.jsonl")) == seen(run.log)
    again = csad.train(dataset(), settings=LONGER, out=tmp_path / "run", device="cpu", resume=True)
    assert (again.result["metrics"], again.result["selection"]) == (run.result["metrics"], run.result["selection"])


def test_while_it_trains_only_the_best_so_far_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.training.stages.SAVE_EVERY", 0.0)
    held: list[list[str]] = []
    save = csad.training.stages.Training._save

    def noted(self: Any) -> None:
        save(self)
        if self.place.stage == len(self.stages) - 1 and self.place.epoch:
            held.append([path.stem for path in (tmp_path / "run" / "epochs").glob("*")])

    monkeypatch.setattr("csad.training.stages.Training._save", noted)
    run = csad.train(dataset(), settings=LONGER, out=tmp_path / "run", device="cpu")
    values = seen(run.log)
    assert held == [[str(int(np.argmax(values[:count])) + 1)] for count in range(1, 6)]


@pytest.mark.parametrize("step", [60, 69, 76])  # the middle of an epoch, the end of one, and of the last
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(tmp_path: Path, step: int) -> None:
    out, data = tmp_path / "run", dataset()
    with pytest.raises(Interrupted):
        csad.train(data, settings=LONGER, out=out, device="cpu", listener=StopAt(step))
    run = csad.train(data, settings=LONGER, out=out, device="cpu", resume=True)
    assert run.result["metrics"] == unstopped().result["metrics"]
    assert run.result["selection"] == unstopped().result["selection"]
    assert seen(run.log) == seen(unstopped().log)


def test_a_run_that_was_stopped_before_its_result_was_written_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, data = tmp_path / "run", dataset()

    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("csad.experiments.folder.Folder.write_result", stop)
        with pytest.raises(KeyboardInterrupt):
            csad.train(data, settings=LONGER, out=out, device="cpu")
    run = csad.train(data, settings=LONGER, out=out, device="cpu", resume=True)
    assert run.result["metrics"] == unstopped().result["metrics"]
    assert seen(run.log) == seen(unstopped().log)


@pytest.mark.parametrize("method", ["csad", "vanilla"])
def test_runs_of_a_stack_each_take_their_own_epoch_by_their_own_rows(tmp_path: Path, method: str) -> None:
    given, out = TABLE | {"train.select_by": "auc"}, tmp_path / "all"
    made = sweep("toy-table", method, settings=given | {"data.seed": [1, 2, 3]}, out=out, device="cpu", teller=Heard())
    taken = []
    for number, run in zip([1, 2, 3], made.runs, strict=True):
        alone = csad.train("toy-table", method, settings=given | {"data.seed": number}, device="cpu", listener=Heard())
        assert run["result"]["stacked"] == 3
        assert run["result"]["selection"] == alone.result["selection"]
        np.testing.assert_allclose(seen(Log(out / run["name"] / "log.jsonl"), "auc"), seen(alone.log, "auc"), atol=0.01)
        found, expected = (one["metrics"]["test"] for one in (run["result"], alone.result))
        assert found["auc"] == pytest.approx(expected["auc"], abs=0.01)
        taken.append(alone.result["selection"])
        assert not (out / run["name"] / "epochs").exists()
    assert len(set(taken)) > 1, "these data are made so that not all take the same epoch"


def test_a_net_that_is_trained_by_itself_among_many_takes_its_epoch_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("programs", "many"):
        monkeypatch.setattr(f"csad.experiments.{place}.why_not_stacked", lambda method: "it cannot be")
    heard, given = Heard(), TABLE | {"train.select_by": "auc"}
    made = sweep("toy-table", "vanilla", settings=given, seeds=[0, 1], out=tmp_path / "all", device="cpu", teller=heard)
    assert heard.warnings == ["This run is trained by itself: it cannot be."] * 2
    for run in made.runs:
        values = seen(Log(made.out / run["name"] / "log.jsonl"), "auc")
        assert run["result"]["metrics"]["validation"]["auc"] == max(values)
        assert run["result"]["selection"].startswith(f"epoch {int(np.argmax(values)) + 1} of 5")


def test_of_a_number_the_smallest_error_is_taken() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(400, 4)).astype(np.float32)
    y = (x[:, 0] + generator.normal(size=400)).astype(np.float32)
    rows = {"train": slice(200), "validation": slice(200, 300), "test": slice(300, 400)}
    splits = {name: csad.Samples(x[own], y[own], (x[own, 1] > 0).astype(int)) for name, own in rows.items()}
    data = csad.Dataset(csad.Task("number", (4,), csad.Number(), (csad.Classes(2),), ("sex",)), splits)
    given = BRIEF | {"epochs": 6, "rate": 0.05, "select_by": "mean_squared_error"}
    run = csad.train(data, "vanilla", settings={k: v for k, v in given.items() if k != "inner_steps"}, device="cpu")
    values = seen(run.log, "mean_squared_error")[-6:]
    epoch = int(np.argmin(values)) + 1
    assert run.result["selection"] == f"epoch {epoch} of 6, with the lowest mean_squared_error on the validation split"
    assert run.result["metrics"]["validation"]["mean_squared_error"] == pytest.approx(min(values))


def test_a_module_of_ones_own_with_dropout_is_looked_at_too() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Tanh())
    run = csad.train(dataset(), backbone=net, settings=LONGER, device="cpu")
    assert run.result["metrics"]["validation"][BY] == max(seen(run.log))


def test_what_no_longer_gives_numbers_is_never_taken() -> None:
    from csad.experiments.selection import BestEpochs

    data = dataset()
    best = BestEpochs([unstopped().method], [data])
    rows = len(data.splits["validation"])
    assert best.figures(0, torch.full((rows, 2), float("nan"))) == {}
    assert best.figures(0, torch.zeros(rows, 2)).keys() == {BY}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"train.select_by": "unbaised"},
            "No figure of the validation split by which an epoch can be taken is called 'unbaised'. Nearest: unbiased.",
        ),
        ({"train.select_by": "ece"}, "is called 'ece'"),  # of which the lowest is not the best model
        ({"train.select_by": "mean_squared_error"}, "is called 'mean_squared_error'"),
        ({"train.select_by": "auc", "train.epochs": 0}, "that stage has no epoch: set train.epochs to 1 or more"),
    ],
)
def test_a_figure_by_which_no_epoch_can_be_taken_is_told_before_training(
    tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told.replace(".", r"\.")):
        csad.train("toy-table", settings=given, out=tmp_path / "run", device="cpu")
    with pytest.raises(InputError, match=told.replace(".", r"\.")):
        sweep("toy-table", settings=given, seeds=[0, 1], out=tmp_path / "all", device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_without_validation_rows_no_epoch_can_be_taken() -> None:
    small = {"data.people": 300, "data.per_cell": 2}
    with pytest.raises(InputError, match="there is no validation split: hold some rows out, or leave it out"):
        csad.train("mpower-simulated", settings=small | {"train.select_by": "auc"}, device="cpu")


def test_a_weight_that_is_to_be_chosen_says_when_to_stop() -> None:
    given = {name: value for name, value in LONGER.items() if name != "debias_weight"}
    with pytest.raises(InputError, match=r"give debias_weight, or leave train\.select_by out"):
        csad.train(dataset(), settings=given, device="cpu")
