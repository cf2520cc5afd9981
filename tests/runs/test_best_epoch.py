"""The epoch that a run takes by a figure of its validation rows: alone, in a stack, stopped and gone on with."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import csad
from csad.errors import Interrupted
from csad.messages import message
from csad.reproduction.reproduce import reproduce
from csad.runs.best_epoch import LAST, BestEpochs, best_epoch, selection_of
from csad.sweeps.sweep import sweep
from csad.training.fit import Training
from csad.training.log import Log
from tests.support.choosing_data import BRIEF, dataset
from tests.support.listeners import Heard, StopAt
from tests.support.messages import Refusal, refused
from tests.support.own_data import toy_table
from tests.support.quick import QUICK

BY = "worst_group"
KIND = "validation metric for train.select_by"
LONGER = BRIEF | {"epochs": 5, "rate": 0.03, "debias_weight": 3.0, "select_by": BY}
TABLE = {f"train.{name}": value for name, value in LONGER.items() if name not in ("inner_steps", "debias_weight")}


def seen(log: Log) -> list[float]:
    """The figure, epoch by epoch."""
    return [line["validation"]["select_by"] for line in log.lines if "select_by" in line.get("validation", {})]


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
    monkeypatch.setattr("csad.training.fit.SAVE_EVERY", 0.0)
    held: list[list[str]] = []
    save = Training._save

    def noted(self: Any) -> None:
        save(self)
        if self.place.stage == len(self.stages) - 1 and self.place.epoch:
            held.append([path.stem for path in (tmp_path / "run" / "epochs").glob("*")])

    monkeypatch.setattr("csad.training.fit.Training._save", noted)
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
        patch.setattr("csad.runs.folder.Folder.write_result", stop)
        with pytest.raises(KeyboardInterrupt):
            csad.train(data, settings=LONGER, out=out, device="cpu")
    run = csad.train(data, settings=LONGER, out=out, device="cpu", resume=True)
    assert run.result["metrics"] == unstopped().result["metrics"]
    assert seen(run.log) == seen(unstopped().log)


@pytest.mark.parametrize("method", ["csad", "vanilla"])
def test_runs_of_a_stack_each_take_their_own_epoch_by_their_own_rows(tmp_path: Path, method: str) -> None:
    given, out = TABLE | {"train.select_by": "auc"}, tmp_path / "all"
    made = sweep(
        "toy-table", method, settings=given | {"data.seed": [1, 2, 3]}, out=out, device="cpu", listener=Heard()
    )
    taken = []
    for number, run in zip([1, 2, 3], made.runs, strict=True):
        alone = csad.train("toy-table", method, settings=given | {"data.seed": number}, device="cpu", listener=Heard())
        assert run["result"]["stacked"] == 3
        assert run["result"]["selection"] == alone.result["selection"]
        np.testing.assert_allclose(seen(Log(out / run["name"] / "log.jsonl")), seen(alone.log), atol=0.01)
        found, expected = (one["metrics"]["test"] for one in (run["result"], alone.result))
        assert found["auc"] == pytest.approx(expected["auc"], abs=0.01)
        taken.append(alone.result["selection"])
        assert not (out / run["name"] / "epochs").exists()
    assert len(set(taken)) > 1, "these data are made so that not all take the same epoch"


def test_a_net_that_is_trained_by_itself_among_many_takes_its_epoch_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("train_stack", "campaign"):
        monkeypatch.setattr(f"csad.sweeps.{place}.why_not_stacked", lambda method: "it cannot be")
    heard, given = Heard(), TABLE | {"train.select_by": "auc"}
    made = sweep(
        "toy-table", "vanilla", settings=given, seeds=[0, 1], out=tmp_path / "all", device="cpu", listener=heard
    )
    assert heard.warnings == [message("run-trained-alone", reason="it cannot be")] * 2
    for run in made.runs:
        values = seen(Log(made.out / run["name"] / "log.jsonl"))
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
    values = seen(run.log)
    epoch = int(np.argmin(values)) + 1
    assert run.result["selection"] == f"epoch {epoch} of 6, with the lowest mean_squared_error on the validation split"
    assert run.result["metrics"]["validation"]["mean_squared_error"] == pytest.approx(min(values))


def test_a_module_of_ones_own_with_dropout_is_looked_at_too() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Tanh())
    run = csad.train(dataset(), backbone=net, settings=LONGER, device="cpu")
    assert run.result["metrics"]["validation"][BY] == max(seen(run.log))


def test_what_no_longer_gives_numbers_is_never_taken() -> None:
    data = dataset()
    best = BestEpochs([unstopped().method], [data], [0.5])
    rows = len(data.splits["validation"])
    assert best.metrics(0, torch.full((rows, 2), float("nan"))) == {}
    assert best.metrics(0, torch.zeros(rows, 2)).keys() == {"select_by"}
    log = Log()
    log.write({"stage": "debias", "epoch": 0, "step": 0, "validation": {"accuracy": 0.9, BY: 0.9}})
    assert best_epoch(unstopped().method, log) is None
    assert selection_of(unstopped().method, log).startswith(f"{LAST}: no epoch gave")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"train.select_by": "unbaised"}, Refusal("misspelled-name", kind=KIND, name="unbaised", nearest="unbiased")),
        ({"train.select_by": "ece"}, Refusal("unknown-name", kind=KIND, name="ece")),  # its least is not the best
        ({"train.select_by": "mean_squared_error"}, Refusal("unknown-name", kind=KIND, name="mean_squared_error")),
        ({"train.select_by": "auc", "train.epochs": 0}, Refusal("select-by-without-epochs", metric="auc")),
    ],
)
def test_a_figure_by_which_no_epoch_can_be_taken_is_told_before_training(
    tmp_path: Path, given: dict[str, Any], expected: Refusal
) -> None:
    with refused(expected):
        csad.train("toy-table", settings=given, out=tmp_path / "run", device="cpu")
    with refused(expected):
        sweep("toy-table", settings=given, seeds=[0, 1], out=tmp_path / "all", device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_without_validation_rows_no_epoch_can_be_taken() -> None:
    small = {"data.people": 300, "data.per_cell": 2}
    with refused("select-by-without-validation", metric="auc"):
        csad.train("mpower-simulated", settings=small | {"train.select_by": "auc"}, device="cpu")


def test_a_weight_that_is_to_be_chosen_says_when_to_stop() -> None:
    given = {name: value for name, value in LONGER.items() if name != "debias_weight"}
    with refused("select-by-with-tuning", setting="debias_weight"):
        csad.train(dataset(), settings=given, device="cpu")


def test_an_epoch_is_judged_with_the_threshold_that_its_run_would_have() -> None:
    generator = np.random.default_rng(1)
    y = (generator.random(2400) < 0.15).astype(int)  # few enough that at a half nobody is said to be one of them
    b = np.where(generator.random(2400) < 0.8, y, 1 - y)
    x = generator.normal(size=(2400, 4)).astype(np.float32)
    x[:, 0] += y
    data = csad.from_arrays(x, y, b)
    unbalanced = LONGER | {"balance": "", "rate": 0.01}
    for given in (None, 0.3):
        run = csad.train(data, settings=unbalanced, threshold=given, device="cpu")
        assert run.threshold != 0.5
        assert run.result["metrics"]["validation"][BY] == pytest.approx(max(seen(run.log)))


def test_a_result_that_is_removed_is_made_again_from_the_weights_that_were_taken(tmp_path: Path) -> None:
    out, data = tmp_path / "run", dataset()
    run = csad.train(data, settings=LONGER, out=out, device="cpu")
    (out / "result.json").unlink()
    again = csad.train(data, settings=LONGER, out=out, device="cpu", resume=True)
    assert again.result["metrics"] == run.result["metrics"]
    assert again.result["selection"] == run.result["selection"]


def test_what_a_stop_after_the_result_leaves_is_cleared_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, given = tmp_path / "all", TABLE | {"train.select_by": "auc"}
    with monkeypatch.context() as patch:
        patch.setattr("csad.runs.train_run.forget_epochs", lambda *about: None)
        csad.train(dataset(), settings=LONGER, out=tmp_path / "run", device="cpu")
        sweep("toy-table", "vanilla", settings=given, seeds=[0, 1], out=out, device="cpu")
    left = [path for path in tmp_path.rglob("epochs") if path.is_dir()]
    assert len(left) == 3
    csad.train(dataset(), settings=LONGER, out=tmp_path / "run", device="cpu", resume=True)
    sweep("toy-table", "vanilla", settings=given, seeds=[0, 1], out=out, device="cpu", resume=True)
    assert not any(path.exists() for path in left)


def test_a_run_that_is_not_kept_leaves_no_epochs_behind_while_it_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.training.fit.SAVE_EVERY", 0.0)
    held: list[int] = []
    saved = BestEpochs.on_save

    def noted(self: BestEpochs) -> None:
        saved(self)
        held.extend(len(list((folder / "epochs").iterdir())) for folder in self.logs)

    monkeypatch.setattr(BestEpochs, "on_save", noted)
    csad.train(dataset(), settings=LONGER, device="cpu")
    assert set(held) == {1}
    assert len(held) >= 5


def test_runs_below_which_others_are_lost_still_take_their_own_epoch(tmp_path: Path) -> None:
    given, rates = TABLE | {"train.select_by": "auc"}, [1e12, 0.03]
    made = sweep(
        "toy-table", "vanilla", settings=given | {"train.rate": rates, "data.seed": [1, 2]}, out=tmp_path / "all",
        device="cpu", listener=Heard(),
    )  # fmt: skip
    assert len(made.lost) == 2
    living = [run for run in made.runs if run["result"]]
    assert [run["values"]["data.seed"] for run in living] == [1, 2]
    for run in living:
        alone = csad.train("toy-table", "vanilla", settings=given | {"data.seed": run["values"]["data.seed"]})
        assert run["result"]["selection"] == alone.result["selection"]
        assert run["result"]["metrics"]["test"]["auc"] == pytest.approx(
            alone.result["metrics"]["test"]["auc"], abs=0.01
        )


def test_a_figure_that_earlier_stages_log_is_not_taken_from_them() -> None:
    given = {
        "train.target_epochs": 12, "train.pretrain_rate": 0.05, "train.batch_size": 64, "train.epochs": 1,
        "train.rate": 1e-9, "train.select_by": "accuracy",
    }  # fmt: skip
    run = csad.train("toy-table", "reweigh", settings=given, device="cpu")
    before = [line["validation"]["accuracy"] for line in run.log.lines if "validation" in line]
    assert len(before) > 1, "its pretraining is watched, too"
    assert run.result["selection"].startswith("epoch 1 of 1")


def test_where_few_validation_rows_leave_the_weight_alone_an_epoch_is_taken_all_the_same() -> None:
    given = {name: value for name, value in LONGER.items() if name != "debias_weight"}
    heard = Heard()
    run = csad.train(dataset(n=300), settings=given, device="cpu", listener=heard)
    assert "choice" not in run.result
    assert run.result["selection"].startswith("epoch ")


def test_a_table_says_by_which_rule_its_runs_took_their_weights(tmp_path: Path) -> None:
    short = {f"train.{name}": 1 for name in ("target_epochs", "bias_epochs", "estimator_epochs", "epochs")}
    made = reproduce(
        "digits", rows=["vanilla"], seeds=1, settings=short | {"train.select_by": "unbiased"}, out=tmp_path / "table"
    )
    assert made.table.selection == "epoch with the highest unbiased on the validation split"


def test_where_the_rows_of_a_table_differ_it_says_each_rule(declare: Callable[[str], None], tmp_path: Path) -> None:
    rows = '[rows.vanilla]\n[rows.best]\nmethod = "vanilla"\nset = { "train.select_by" = "auc" }\n'
    declare(toy_table(rows))
    plain = {name: value for name, value in QUICK.items() if name != "inner_steps"}
    made = reproduce("toys", settings=plain, seeds=1, out=tmp_path / "out", device="cpu")
    assert made.table.selection == "last epoch; epoch with the highest auc on the validation split"


def test_of_many_runs_each_figure_is_looked_at_before_the_first_is_trained(tmp_path: Path) -> None:
    given = {"train.select_by": ["auc", "unbaised"]}
    with refused("misspelled-name", name="unbaised"):
        sweep("toy-table", settings=given, out=tmp_path / "all", device="cpu")
    assert list(tmp_path.iterdir()) == []
