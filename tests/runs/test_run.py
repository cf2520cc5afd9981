"""Whole runs from Python: training, keeping, going on, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import csad
from csad.errors import Diverged
from csad.methods.vanilla import Vanilla
from tests.support.messages import Refusal, refused
from tests.support.own_data import DATASET, PLAIN, SHORT, B, X, Y, arrays, as_json, copied


def test_a_run_in_memory_has_its_figures_and_no_folder() -> None:
    run = csad.train(DATASET, "csad", settings=SHORT)
    assert run.folder is None
    assert list(run.result["metrics"]) == ["train", "validation", "test"]
    assert run.result["metrics"]["test"].keys() >= {"accuracy", "worst_group", "auc", "gap_sex_rms"}
    assert (run.result["method"], run.result["seed"], run.result["task"]) == ("csad", 0, "own")


def test_a_run_of_enough_epochs_learns_what_is_easy() -> None:
    run = csad.train(DATASET, "vanilla", target_epochs=60, epochs=0, pretrain_rate=0.01)
    assert run.result["metrics"]["test"]["accuracy"] > 0.7


def test_a_kept_run_is_a_folder_of_five_parts_without_a_pickle(kept: csad.Run) -> None:
    assert kept.folder is not None
    found = {str(path.relative_to(kept.folder)) for path in kept.folder.rglob("*") if path.is_file()}
    assert found == {"config.toml", "rows.json", "log.jsonl", "result.json", "checkpoint/state.safetensors"}
    assert json.loads((kept.folder / "result.json").read_text()) == as_json(kept.result)
    lines = [json.loads(line) for line in (kept.folder / "log.jsonl").read_text().splitlines()]
    assert lines == kept.log.lines


def test_a_kept_run_trains_as_one_in_memory_does(kept: csad.Run) -> None:
    run = csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5)
    assert np.array_equal(run.predict_proba(X), kept.predict_proba(X))
    assert run.result["metrics"] == kept.result["metrics"]


def test_bare_settings_and_dotted_ones_mean_the_same(kept: csad.Run) -> None:
    dotted = {f"train.{name}": str(value) for name, value in PLAIN.items()}
    dotted |= {"settings.debias_weight": "0.5", "inner_steps": 2}
    run = csad.train(DATASET, "csad", settings=dotted)
    assert run.config == kept.config


def test_a_finished_run_that_goes_on_is_returned_without_training(
    kept: csad.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = copied(kept, tmp_path / "run")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}

    def trains(*_: Any, **__: Any) -> None:
        raise AssertionError("a finished run was trained again")

    monkeypatch.setattr("csad.runs.train_run.fit", trains)
    run = csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5, out=place, resume=True)
    assert run.result == as_json(kept.result)
    assert np.array_equal(run.predict_proba(X), kept.predict_proba(X))
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_a_run_without_its_result_goes_on_to_the_same_figures(kept: csad.Run, tmp_path: Path) -> None:
    place = copied(kept, tmp_path / "run")
    (place / "result.json").unlink()
    run = csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5, out=place, resume=True)
    assert run.result["metrics"] == kept.result["metrics"]
    assert (place / "result.json").exists()


def test_a_run_that_had_not_saved_yet_begins_again_when_it_goes_on(kept: csad.Run, tmp_path: Path) -> None:
    place = copied(kept, tmp_path / "run")
    (place / "result.json").unlink()
    shutil.rmtree(place / "checkpoint")
    with refused("run-without-checkpoint"):
        csad.load(place)
    run = csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5, out=place, resume=True)
    assert np.array_equal(run.predict_proba(X), kept.predict_proba(X))
    assert [line["step"] for line in run.log.lines] == [line["step"] for line in kept.log.lines]


def test_going_on_with_other_settings_names_them(kept: csad.Run) -> None:
    with refused("run-settings-changed", settings="seed, settings.debias_weight, train.epochs"):
        csad.train(DATASET, "csad", seed=1, settings=SHORT | {"epochs": 2}, out=kept.folder, resume=True)


def test_an_existing_run_is_left_alone_whatever_else_is_wrong(kept: csad.Run, tmp_path: Path) -> None:
    place = copied(kept, tmp_path / "run")
    before = (place / "checkpoint" / "state.safetensors").read_bytes()
    for wrong, code in (
        ({"debias_weight": -1}, "negative-setting"),
        ({"device": "nowhere"}, "device-not-available"),
        ({"batch_size": 1}, "training-settings-invalid"),
        ({"seed": -1}, "seed-out-of-range"),
    ):
        with refused(code):
            csad.train(DATASET, "csad", out=place, force=True, **wrong)
    assert (place / "checkpoint" / "state.safetensors").read_bytes() == before


def test_nothing_is_said_to_go_with_a_run_that_stays(kept: csad.Run, tmp_path: Path, heard: Any) -> None:
    place = copied(kept, tmp_path / "run")
    (place / "audit.json").write_text("{}")
    for cost in (0.1, 2):  # the validation split is too small to choose by; no cost at all
        with refused("cost-without-tuning"):
            csad.train(DATASET, "csad", settings=SHORT, out=place, force=True, cost=cost, listener=heard)
    assert heard.said == []


def test_force_trains_anew(kept: csad.Run, tmp_path: Path) -> None:
    place = copied(kept, tmp_path / "run")
    run = csad.train(DATASET, "vanilla", seed=4, settings=PLAIN, out=place, force=True)
    assert isinstance(csad.load(place).method, Vanilla)
    assert np.array_equal(csad.load(place).predict_proba(X), run.predict_proba(X))


def test_a_seed_of_numpy_is_kept_as_a_number(tmp_path: Path) -> None:
    run = csad.train(DATASET, "vanilla", seed=np.int64(3), settings=PLAIN, out=tmp_path / "run")  # type: ignore[arg-type]
    assert csad.load(tmp_path / "run").config["seed"] == run.result["seed"] == 3


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range_is_an_input_error(seed: int) -> None:
    with refused("seed-out-of-range", seed=seed):
        csad.train(DATASET, "vanilla", seed=seed, settings=PLAIN)


@pytest.mark.parametrize("y", [3 * X[:, 0], np.rint(3 * np.abs(X[:, 0])).astype(np.int64)], ids=["floats", "whole"])
def test_a_target_that_is_a_number_is_predicted_and_judged_as_one(tmp_path: Path, y: Any) -> None:
    task = csad.Task("number", (4,), csad.Number(), (csad.Classes(2),), ("sex",))
    dataset = csad.Dataset(task, {"train": csad.Samples(X, y, B)})
    run = csad.train(dataset, "csad", settings=SHORT, out=tmp_path / "run")
    error = run.result["metrics"]["train"]["mean_squared_error"]
    assert error == pytest.approx(np.mean((run.predict(X) - y) ** 2))
    assert np.array_equal(csad.load(tmp_path / "run").predict(X), run.predict(X))


def test_bias_labels_that_are_numbers_or_unknown_can_be_trained_with(tmp_path: Path) -> None:
    b = np.column_stack([np.where(np.arange(120) % 5 == 0, np.nan, X[:, 1]), B])
    task = csad.Task("ages", (4,), csad.Classes(3), (csad.Number(), csad.Classes(2)), ("age", "sex"),
                     csad.Related("near_bias", (0.5, 0)))  # fmt: skip
    dataset = csad.Dataset(task, {"train": csad.Samples(X, np.unique(Y, return_inverse=True)[1], b)})
    run = csad.train(dataset, "csad", settings=SHORT, out=tmp_path / "run")
    assert np.isfinite(run.predict_proba(X)).all()
    assert csad.load(tmp_path / "run").method.task == task


def test_advice_becomes_a_python_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vanilla, "diagnose", lambda self, stage, curves: ["Sleep on it."])
    with pytest.warns(csad.TrainingWarning, match="Sleep on it"):
        run = csad.train(DATASET, "vanilla", settings=PLAIN)
    assert run.result["warnings"] == ["Sleep on it."]


def test_the_result_counts_the_target_updates_of_the_schedule() -> None:
    # 84 training rows in batches of 32: 3 an epoch; 6 + 3 epochs.
    settings = PLAIN | {"target_epochs": 6, "epochs": 3, "batch_size": 32}
    for method in ("vanilla", "csad"):
        assert csad.train(DATASET, method, settings=settings).result["target_updates"] == 3 * (6 + 3)


def test_data_that_cannot_be_trained_on_are_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    one = csad.from_arrays(X, Y, np.zeros(120, int))
    with refused("bias-has-one-value"):
        csad.train(one, "csad", settings=SHORT, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert csad.train(one, "vanilla", settings=PLAIN, out=tmp_path / "run").result["method"] == "vanilla"


def test_x_of_more_dimensions_than_an_image_is_an_input_error() -> None:
    with refused("x-dimension-count", dimensions=5):
        csad.train(csad.from_arrays(np.zeros((60, 1, 2, 2, 2)), np.arange(60) % 2, np.arange(60) % 3), "vanilla")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"task": (X, X, X)}, Refusal("task-wrong-type")),
        ({"seed": "1"}, Refusal("seed-out-of-range")),
        ({"seed": 1.5}, Refusal("seed-out-of-range")),
        ({"backbone": torch.nn.Linear}, Refusal("backbone-not-an-instance")),
    ],
)
def test_an_argument_of_the_wrong_kind_is_an_input_error(wrong: dict[str, Any], says: Refusal) -> None:
    with refused(says):
        csad.train(**({"task": DATASET} | wrong))


def test_a_run_goes_on_only_with_the_rows_it_began_with(tmp_path: Path) -> None:
    csad.train(DATASET, "vanilla", settings=PLAIN, out=tmp_path / "run")
    train = DATASET.train
    other = replace(DATASET, splits={**DATASET.splits, "train": csad.Samples(train.x + 1, train.y, train.b)})
    with refused("training-data-changed"):
        csad.train(other, "vanilla", settings=PLAIN, out=tmp_path / "run", resume=True)


def test_a_training_in_memory_that_diverges_gives_no_figures() -> None:
    with pytest.raises(Diverged, match="not a number"):
        csad.train(DATASET, "vanilla", settings={**PLAIN, "pretrain_rate": 1e38})


def test_rows_that_were_changed_in_place_are_other_rows(tmp_path: Path) -> None:
    x, y, b = arrays()
    data = csad.from_arrays(x, y, b)
    csad.train(data, "vanilla", settings=PLAIN, out=tmp_path / "run")
    data.train.x[0, 0] += 1
    with refused("training-data-changed"):
        csad.train(data, "vanilla", settings=PLAIN, out=tmp_path / "run", resume=True)
