"""The epoch after which a tried run is stopped: chosen with the weight, by the same rule, on the same rows."""

from __future__ import annotations

import json
import random
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import csad
from csad.errors import Interrupted
from csad.runs.folder import Folder
from csad.sweeps.train_stack import StackTrainer
from csad.sweeps.tuning import tune
from csad.sweeps.tuning.rule import Trial, candidates, decide, why_higher
from csad.sweeps.tuning.trials import TrialWatcher
from csad.training import checkpoint
from tests.support.choosing_data import BRIEF, dataset
from tests.support.listeners import StopAt
from tests.support.messages import refused

VANILLA = Trial(None, 0.80, 0.70)
LONGER = BRIEF | {"epochs": 4, "rate": 0.01}  # early epochs leak least here: with more the net learns rows by heart
TRIED = (9.0, 300.0)


@pytest.fixture(autouse=True)
def two_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three and a hundred times the default."""
    monkeypatch.setattr(tune, "MULTIPLIERS", ((3.0, 100.0),))


def chosen(*looks: tuple[float, float, float, int]) -> Any:
    made = [Trial(*look) for look in looks]
    return decide(VANILLA, made, cost=0.02, score="balanced accuracy", rows=90, epochs=10)


def taken_of(choice: dict[str, Any]) -> dict[str, Any]:
    """What the choice says of the look that it took."""
    place = choice["debias_weight"], choice["epoch"]
    return next(look for look in choice["looks"] if (look["debias_weight"], look["epoch"]) == place)


def test_the_rule_takes_an_epoch_as_it_takes_a_weight_and_says_so() -> None:
    found = chosen((3, 0.80, 0.65, 4), (3, 0.79, 0.60, 10), (30, 0.79, 0.55, 4), (30, 0.70, 0.50, 10))
    assert (found.debias_weight, found.epoch, found.epochs, found.within) == (30, 4, 10, True)
    assert found.stopped == "stopped after epoch 4 of 10"
    assert found.why.startswith(f"30 is chosen, {found.stopped}: ")
    assert "3 out of 4 looks at 2 weights with a cost of at most 0.02 " in found.why
    assert found.why.endswith("AUC 0.550, vanilla 0.700, chance .500; balanced accuracy 0.790, vanilla 0.800).")
    assert [(one.debias_weight, one.epoch) for one in found.tried] == [(3, 10), (30, 4)]
    assert [(one.debias_weight, one.epoch) for one in found.looks] == [(3, 4), (3, 10), (30, 4), (30, 10)]


def test_a_run_that_is_taken_at_its_end_was_not_stopped() -> None:
    found = chosen((3, 0.80, 0.65, 4), (3, 0.79, 0.60, 10))
    assert (found.epoch, found.stopped) == (10, "")
    assert found.why.startswith("3 is chosen, after all 10 epochs: ")
    assert "2 out of 2 looks at 1 weight " in found.why


def test_of_epochs_that_are_as_good_the_earlier_is_taken() -> None:
    assert chosen((3, 0.79, 0.60, 8), (3, 0.79, 0.60, 4)).epoch == 4


def test_whether_larger_weights_are_tried_is_told_by_the_end_of_the_largest() -> None:
    early = (30, 0.80, 0.60, 2)
    assert why_higher(chosen((3, 0.79, 0.60, 10), early, (30, 0.78, 0.55, 10)))
    assert why_higher(chosen((3, 0.79, 0.60, 10), early, (30, 0.70, 0.52, 10))) == ""
    assert why_higher(chosen((3, 0.79, 0.60, 10), early)) == ""  # it has diverged on its way
    assert why_higher(chosen((3, 0.79, 0.505, 2), (30, 0.78, 0.55, 10))) == ""


@pytest.mark.parametrize("seed", range(20))
def test_what_the_rule_takes_in_the_end_was_a_candidate_all_along(seed: int) -> None:
    draw = random.Random(seed)
    looks = [
        Trial(weight, draw.choice([0.76, 0.77, 0.78, 0.79]), draw.choice([0.55, 0.555, 0.565, 0.57]), epoch)
        for epoch in range(1, 6)
        for weight in (1.0, 3.0, 10.0)
    ]
    kept: list[Trial] = []
    for count, look in enumerate(looks, 1):
        alive = candidates(VANILLA, looks[:count], 0.02)
        kept = [one for one in [*kept, look] if one in alive]  # what is dropped is never had again
        found = decide(VANILLA, looks[:count], cost=0.02, score="", rows=1, epochs=5)
        assert (found.debias_weight, found.epoch) in [(one.debias_weight, one.epoch) for one in kept]
        assert len(kept) <= 3  # one for each leakage within .01 of the least


def test_many_epochs_are_looked_at_ten_times_and_the_last_is_one_of_them() -> None:
    looks = TrialWatcher(lambda out: (0.0, 0.0), 0.02, lambda: None)
    assert [epoch for epoch in range(1, 4) if looks.due(epoch, 3)] == [1, 2, 3]
    assert [epoch for epoch in range(1, 61) if looks.due(epoch, 60)] == list(range(6, 61, 6))
    assert [epoch for epoch in range(1, 13) if looks.due(epoch, 12)] == [2, 3, 4, 5, 6, 8, 9, 10, 11, 12]


def test_of_a_run_that_no_longer_gives_numbers_there_are_no_figures() -> None:
    looks = TrialWatcher(lambda out: (0.8, 0.6), 0.02, lambda: VANILLA)
    assert looks.metrics(0, torch.zeros(3, 2)) == {"score": 0.8, "leakage": 0.6}
    assert looks.metrics(0, torch.tensor([[0.0, 1.0], [0.0, float("inf")]])) == {}


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_the_run_that_is_kept_is_the_one_that_so_many_epochs_give(tmp_path: Path, average: float) -> None:
    out, data = tmp_path / "run", dataset()
    longer = LONGER | {"average": average}
    run = csad.train(data, settings=longer, out=out, device="cpu")
    found = run.result["choice"]
    assert found == json.loads((out / "choice.json").read_text())
    assert [(look["debias_weight"], look["epoch"]) for look in found["looks"]] == [
        (weight, epoch) for weight in TRIED for epoch in (1, 2, 3, 4)
    ]
    epoch = found["epoch"]
    assert epoch < 4, "these data are made so that it is worth stopping"
    assert f"stopped after epoch {epoch} of 4" in found["why"]
    shorter = LONGER | {"average": average, "epochs": epoch}
    alone = csad.train(data, settings=shorter, debias_weight=found["debias_weight"], device="cpu")
    x = data.splits["test"].x
    given = [torch.as_tensor(one.predict_proba(x)) for one in (run, csad.load(out, device="cpu"), alone)]
    assert torch.equal(given[0], given[1])
    torch.testing.assert_close(given[0], given[2], rtol=1e-2, atol=2e-3)
    assert (run.config["train"], run.config["settings"]) == (alone.config["train"], alone.config["settings"])
    assert run.result["target_updates"] == alone.result["target_updates"]
    assert run.result["selection"] == f"epoch {epoch} of 4, chosen on the validation split"
    assert run.result["metrics"]["validation"]["balanced_accuracy"] == taken_of(found)["score"]
    assert run.result["metrics"].keys() == {"train", "validation", "test"}


def test_the_folder_that_is_kept_ends_with_that_epoch(tmp_path: Path) -> None:
    out, data = tmp_path / "run", dataset()
    run = csad.train(data, settings=LONGER, out=out, device="cpu")
    epoch = run.result["choice"]["epoch"]
    assert tomllib.loads((out / "config.toml").read_text())["train"]["epochs"] == epoch
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    debias = [line for line in lines if line["stage"] == "debias"]
    assert {line["epoch"] for line in debias} == set(range(epoch))
    assert debias[-1]["stopped"] == f"after epoch {epoch} of 4, as chosen on the validation split"
    assert debias[-2]["validation"].keys() == {"accuracy", "score", "leakage"}
    assert run.result["seconds"] == max(line.get("seconds", 0) for line in lines)
    assert checkpoint.read_checkpoint(Folder(out).checkpoint).place.step == debias[-1]["step"] + 1
    assert "epochs" not in [path.name for path in out.iterdir()]
    again = csad.train(data, settings=LONGER, out=out, device="cpu", resume=True)
    assert again.result == run.result
    with refused("run-settings-changed", settings="train.epochs"):
        csad.train(data, settings=LONGER | {"epochs": 7}, out=out, device="cpu", resume=True)


@cache
def unstopped() -> dict[str, Any]:
    """The result of a choice that goes through."""
    return csad.train(dataset(), settings=LONGER, device="cpu").result


class StopInDebias(StopAt):
    """Asks for a stop at a step of the last stage of csad: vanilla makes a step of that number, too."""

    def progress(self, stage: Any, *told: Any) -> None:
        if stage.name == "debias":
            super().progress(stage, *told)


@pytest.mark.parametrize("step", [50, 62, 69])  # the middle of an epoch, the end of one, and of the last
def test_a_choice_that_was_stopped_between_looks_ends_as_if_it_had_not_been(tmp_path: Path, step: int) -> None:
    data, out = dataset(), tmp_path / "run"
    with pytest.raises(Interrupted):
        csad.train(data, settings=LONGER, out=out, device="cpu", listener=StopInDebias(step))
    run = csad.train(data, settings=LONGER, out=out, device="cpu", resume=True)
    assert run.result["choice"] == unstopped()["choice"]
    assert run.result["metrics"] == unstopped()["metrics"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_of_the_looks_only_weights_that_the_rule_may_take_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[str, list[str]] = {}
    sizes: list[tuple[int, int]] = []
    finish = StackTrainer._finish

    def noted(self: StackTrainer, ended: Any, together: int) -> None:
        finish(self, ended, together)
        for one in ended:
            files = sorted((one.run.request.out / "epochs").glob("*"))
            held[one.run.request.name] = [path.stem for path in files]
            sizes.extend((path.stat().st_size, one.run.folder.checkpoint.stat().st_size) for path in files)

    monkeypatch.setattr(StackTrainer, "_finish", noted)
    found = csad.train(dataset(), settings=LONGER, out=tmp_path / "run", device="cpu").result["choice"]
    vanilla = Trial(**found["vanilla"])
    alive = candidates(vanilla, [Trial(**look) for look in found["looks"]], found["cost"])
    assert held.pop("vanilla") == []
    assert held == {
        f"debias_weight={weight:g}": [str(one.epoch) for one in alive if one.debias_weight == weight]
        for weight in TRIED
    }
    assert all(small < whole / 2 for small, whole in sizes)  # the optimizers' moments are left out


def test_nets_that_are_trained_one_by_one_are_looked_at_too() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Tanh())
    run = csad.train(dataset(), backbone=net, settings=LONGER | {"epochs": 2}, device="cpu")
    found = run.result["choice"]
    assert [(look["debias_weight"], look["epoch"]) for look in found["looks"]] == [
        (weight, epoch) for weight in TRIED for epoch in (1, 2)
    ]
    assert run.result["metrics"]["validation"]["balanced_accuracy"] == taken_of(found)["score"]


def test_without_an_epoch_there_is_the_end_to_look_at() -> None:
    run = csad.train(dataset(), settings=LONGER | {"epochs": 0}, device="cpu")
    found = run.result["choice"]
    assert [(look["debias_weight"], look["epoch"]) for look in found["looks"]] == [(weight, 0) for weight in TRIED]
    assert (found["debias_weight"], found["epoch"], run.result["selection"]) == (9, 0, "last epoch")


def stopped_before_one_is_taken(monkeypatch: pytest.MonkeyPatch, data: csad.Dataset, **options: Any) -> None:
    """A training that is stopped when all is tried and nothing taken."""

    def stop(*given: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tune, "_finish", stop)
        with pytest.raises(KeyboardInterrupt):
            csad.train(data, **options)


def test_weights_that_are_gone_are_missed_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, data, brief = tmp_path / "run", dataset(), LONGER | {"epochs": 3}  # of which the second is taken
    stopped_before_one_is_taken(monkeypatch, data, settings=brief, out=out, device="cpu")
    for path in tmp_path.glob("run.choosing/*/epochs/*"):
        path.unlink()
    with refused("tuned-weights-missing", setting="debias_weight"):
        csad.train(data, settings=brief, out=out, device="cpu", resume=True)
    assert not out.exists()


def test_of_what_lies_with_a_taken_run_links_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, data, brief = tmp_path / "run", dataset(), LONGER | {"epochs": 1}
    stopped_before_one_is_taken(monkeypatch, data, settings=brief, out=out, device="cpu")
    (tmp_path / "secret").write_text("of the reader's")
    for path in tmp_path.glob("run.choosing/*/config.toml"):
        (path.parent / "notes.txt").write_text("a note")
        (path.parent / "linked.txt").symlink_to(tmp_path / "secret")
    csad.train(data, settings=brief, out=out, device="cpu", resume=True)
    assert (out / "notes.txt").read_text() == "a note"
    assert not (out / "linked.txt").exists()
