"""Whole runs from Python: training, keeping, loading, going on, evaluating."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import csad
from csad.data.toys import toy_table
from csad.errors import Diverged
from csad.experiments.run import data_of
from csad.methods.vanilla import Vanilla

# Just long enough that the target is off chance, where csad would warn.
SHORT = {
    "target_epochs": 4,
    "bias_epochs": 1,
    "estimator_epochs": 1,
    "epochs": 1,
    "batch_size": 16,
    "pretrain_rate": 0.02,
    "inner_steps": 2,
}
PLAIN = {name: value for name, value in SHORT.items() if name != "inner_steps"}


def arrays(n: int = 120) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(0)
    y, b = generator.integers(3, size=n), generator.integers(2, size=n)
    x = generator.normal(size=(n, 4)).astype(np.float32)
    x[:, 0] += 3 * y
    return x, np.array(["low", "mid", "top"])[y], b


X, Y, B = arrays()
DATASET = csad.from_arrays(X, Y, B, name="own arrays", bias_names=["sex"])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    return csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5, out=tmp_path_factory.mktemp("runs") / "run")


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def copied(run: csad.Run, place: Path) -> Path:
    assert run.folder is not None
    shutil.copytree(run.folder, place)
    return place


def test_a_run_in_memory_has_its_figures_and_no_folder() -> None:
    run = csad.train(DATASET, "csad", settings=SHORT)
    assert run.folder is None
    assert list(run.result["metrics"]) == ["train", "validation", "test"]
    assert run.result["metrics"]["test"].keys() == {"accuracy", "balanced_accuracy"}
    assert (run.result["method"], run.result["seed"], run.result["task"]) == ("csad", 0, "own")


def test_a_run_of_enough_epochs_learns_what_is_easy() -> None:
    run = csad.train(DATASET, "vanilla", target_epochs=60, epochs=0, pretrain_rate=0.01)
    assert run.result["metrics"]["test"]["accuracy"] > 0.7


def test_a_kept_run_is_a_folder_of_four_parts_without_a_pickle(kept: csad.Run) -> None:
    assert kept.folder is not None
    found = {str(path.relative_to(kept.folder)) for path in kept.folder.rglob("*") if path.is_file()}
    assert found == {"config.toml", "log.jsonl", "result.json", "checkpoint/state.safetensors"}
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


def test_a_loaded_run_predicts_the_same(kept: csad.Run) -> None:
    assert kept.folder is not None
    loaded = csad.load(kept.folder)
    assert np.array_equal(loaded.predict_proba(X), kept.predict_proba(X))
    assert np.array_equal(loaded.predict(X), kept.predict(X))
    assert np.array_equal(loaded.transform(X), kept.transform(X))
    assert (loaded.result, loaded.log.lines) == (as_json(kept.result), kept.log.lines)
    assert loaded.folder == kept.folder
    assert loaded.method.task == DATASET.task


def test_probabilities_sum_to_one_and_the_largest_is_what_is_predicted(kept: csad.Run) -> None:
    chances = kept.predict_proba(X)
    assert chances.shape == (120, 3)
    assert chances.min() >= 0
    assert np.allclose(chances.sum(1), 1)
    assert np.array_equal(chances.argmax(1), kept.predict(X))


def test_transform_gives_the_target_branch(kept: csad.Run) -> None:
    assert kept.transform(X).shape == (120, kept.config["net"]["branch"]) == (120, 32)
    assert kept.features(X, "h").shape == (120, 64)
    assert np.array_equal(kept.features(X, "h_y"), kept.transform(X))


def test_predictions_do_not_depend_on_the_rows_beside_them(kept: csad.Run) -> None:
    many = np.concatenate([X] * 20)
    assert np.allclose(kept.predict_proba(many)[-120:], kept.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("form", [X[:5].tolist(), torch.tensor(X[:5]), X[:5].astype(np.float64), X[4::-1][::-1]])
def test_x_may_come_in_any_form_of_numbers(kept: csad.Run, form: Any) -> None:
    assert np.allclose(kept.predict_proba(form), kept.predict_proba(X[:5]), atol=1e-6)


def test_x_may_be_read_only_or_empty(kept: csad.Run) -> None:
    fixed = X[:5].copy()
    fixed.flags.writeable = False
    assert np.array_equal(kept.predict(fixed), kept.predict(X[:5]))
    assert kept.predict(X[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (X[:, :3], "x must have rows of shape (4,), not (3,)."),
        (X[0], "x must have rows of shape (4,), not ()."),
        (X[None], "x must have rows of shape (4,), not (120, 4)."),
        (3.0, "x must have rows of shape (4,), not ()."),
        ([["a", "b", "c", "d"]], "x must be numbers"),
        ([[1, 2, 3, 4], [1]], "x must be an array whose rows are all of one length"),
    ],
)
def test_x_of_another_shape_or_kind_is_an_input_error(kept: csad.Run, x: Any, words: str) -> None:
    with pytest.raises(csad.InputError, match=re.escape(words)):
        kept.predict(x)


def test_evaluating_gives_the_figures_of_the_result(kept: csad.Run) -> None:
    assert kept.folder is not None
    assert csad.evaluate(kept, DATASET) == kept.result["metrics"]
    assert csad.evaluate(csad.load(kept.folder), DATASET) == kept.result["metrics"]


def test_evaluating_by_hand_gives_the_same_accuracy(kept: csad.Run) -> None:
    test = DATASET.splits["test"]
    right = sum(int(p == y) for p, y in zip(kept.predict(test.x), test.y.tolist(), strict=True))
    assert kept.result["metrics"]["test"]["accuracy"] == right / 24
    assert len(test) == 24


def test_a_loaded_run_is_evaluated_through_the_data_sets_own_view(tmp_path: Path) -> None:
    dataset = replace(DATASET, view=lambda x: -2 * x)
    run = csad.train(dataset, "vanilla", settings=PLAIN, out=tmp_path / "run")
    again = csad.load(tmp_path / "run", view=dataset.view)
    assert csad.evaluate(again, dataset) == run.result["metrics"]
    assert np.array_equal(run.predict(X), again.predict(X))
    with pytest.raises(csad.InputError, match="a view of your own: give it again as view="):
        csad.load(tmp_path / "run")


def test_the_data_of_a_run_from_python_cannot_be_read_again(kept: csad.Run) -> None:
    with pytest.raises(csad.InputError, match=re.escape("call csad.evaluate(run, dataset)")):
        data_of(kept)


def test_a_finished_run_that_goes_on_is_returned_without_training(
    kept: csad.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = copied(kept, tmp_path / "run")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}

    def trains(*_: Any, **__: Any) -> None:
        raise AssertionError("a finished run was trained again")

    monkeypatch.setattr("csad.experiments.train.fit", trains)
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
    with pytest.raises(csad.InputError, match="holds no checkpoint yet: go on with csad train --resume"):
        csad.load(place)
    run = csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5, out=place, resume=True)
    assert np.array_equal(run.predict_proba(X), kept.predict_proba(X))
    assert [line["step"] for line in run.log.lines] == [line["step"] for line in kept.log.lines]


def test_going_on_with_other_settings_names_them(kept: csad.Run) -> None:
    with pytest.raises(csad.InputError, match=re.escape("(seed, settings.debias_weight, train.epochs)")):
        csad.train(DATASET, "csad", seed=1, settings=SHORT | {"epochs": 2}, out=kept.folder, resume=True)


def test_an_existing_run_is_left_alone_whatever_else_is_wrong(kept: csad.Run, tmp_path: Path) -> None:
    place = copied(kept, tmp_path / "run")
    before = (place / "checkpoint" / "state.safetensors").read_bytes()
    for wrong in ({"debias_weight": -1}, {"device": "nowhere"}, {"batch_size": 1}, {"seed": -1}):
        with pytest.raises(csad.InputError):
            csad.train(DATASET, "csad", out=place, force=True, **wrong)
    assert (place / "checkpoint" / "state.safetensors").read_bytes() == before


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
    with pytest.raises(csad.InputError, match=f"seed must be 0 or more.*not {seed}"):
        csad.train(DATASET, "vanilla", seed=seed, settings=PLAIN)


def test_a_run_with_a_module_needs_it_again_when_loaded(tmp_path: Path) -> None:
    torch.manual_seed(0)
    own = nn.Sequential(nn.Linear(4, 7), nn.Tanh())
    run = csad.train(DATASET, "vanilla", settings=PLAIN, backbone=own, out=tmp_path / "run")
    with pytest.raises(csad.InputError, match="give it again as backbone="):
        csad.load(tmp_path / "run")
    loaded = csad.load(tmp_path / "run", backbone=nn.Sequential(nn.Linear(4, 7), nn.Tanh()))
    assert np.array_equal(loaded.predict_proba(X), run.predict_proba(X))
    assert loaded.features(X, "h").shape == (120, 7)
    with pytest.raises(csad.InputError, match="cannot be read as a checkpoint of this run"):
        csad.load(tmp_path / "run", backbone=nn.Linear(4, 6))


OWN = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self, width: int = 5, norm=None, act=nn.ReLU):
        assert norm is None
        super().__init__(nn.Linear(4, width), act())
"""


def test_a_run_with_a_backbone_by_path_is_loaded_with_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_net_to_load.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    settings = PLAIN | {"net.backbone": "own_net_to_load:Net", "net.width": 6}
    run = csad.train(DATASET, "vanilla", settings=settings, out=tmp_path / "run")
    loaded = csad.load(tmp_path / "run")
    assert loaded.features(X, "h").shape == (120, 6)
    assert np.array_equal(loaded.predict_proba(X), run.predict_proba(X))


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


def test_a_task_of_numpys_numbers_can_be_kept_and_loaded(tmp_path: Path) -> None:
    y = np.unique(Y, return_inverse=True)[1]
    task = csad.Task("own", [4], csad.Classes(y.max() + 1), (csad.Classes(B.max() + 1),), ("sex",))  # type: ignore[arg-type]
    run = csad.train(csad.Dataset(task, {"train": csad.Samples(X, y, B)}), settings=SHORT, out=tmp_path / "run")
    assert np.array_equal(csad.load(tmp_path / "run").predict_proba(X), run.predict_proba(X))


def test_an_npz_file_is_trained_on_and_read_again(tmp_path: Path) -> None:
    np.savez(tmp_path / "people.npz", x=X, y=Y, b=B)
    settings = SHORT | {"data.bias_names": "sex", "data.fractions": "0.5,0.25,0.25"}
    run = csad.train(tmp_path / "people.npz", "csad", settings=settings, out=tmp_path / "run")
    assert run.method.task.name == "people"
    assert run.method.task.bias_names == ("sex",)
    dataset = data_of(csad.load(tmp_path / "run"))
    assert [len(rows) for rows in dataset.splits.values()] == [60, 30, 30]
    assert csad.evaluate(csad.load(tmp_path / "run"), dataset) == run.result["metrics"]


def test_a_task_by_name_is_read_again_with_its_settings(tmp_path: Path) -> None:
    run = csad.train("toy-table", "vanilla", settings=PLAIN, rows=32, agreement=0.5, out=tmp_path / "run")
    dataset = data_of(csad.load(tmp_path / "run"))
    assert torch.equal(dataset.train.x, toy_table(rows=32, agreement=0.5).train.x)
    assert csad.evaluate(run, dataset) == run.result["metrics"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed = 0\n", ""),
        ('method = "csad"\n', ""),
        ('task = "own"\n', ""),
        ("shape = [4]\n", ""),
        ('backbone = "mlp"\n', ""),
        ("branch = 32\n", 'branch = "wide"\n'),
        ("branch = 32\n", "brunch = 32\n"),
        ("inner_steps = 2\n", "outer_steps = 2\n"),
        ("batch_size = 16\n", 'batch_size = "many"\n'),
        ("[about]\n", "[above]\n"),
        ("[train]\n", "[trail]\n"),
        ("[net]\n", "net = 3\n"),
        ('method = "csad"\n', 'method = "csda"\n'),
    ],
)
def test_a_config_that_is_not_whole_is_an_input_error(kept: csad.Run, tmp_path: Path, old: str, new: str) -> None:
    place = copied(kept, tmp_path / "run")
    text = (place / "config.toml").read_text()
    assert text.count(old) == 1
    (place / "config.toml").write_text(text.replace(old, new))
    with pytest.raises(csad.InputError) as caught:
        csad.load(place)
    assert "\n" not in str(caught.value)


def test_advice_becomes_a_python_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vanilla, "symptoms", lambda self, stage, curves: ["Sleep on it."])
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
    with pytest.raises(csad.InputError, match="only one value"):
        csad.train(one, "csad", settings=SHORT, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert csad.train(one, "vanilla", settings=PLAIN, out=tmp_path / "run").result["method"] == "vanilla"


def test_x_of_more_dimensions_than_an_image_is_an_input_error() -> None:
    with pytest.raises(csad.InputError, match=re.escape("(2 to 4 dimensions), not 5 dimensions")):
        csad.train(csad.from_arrays(np.zeros((60, 1, 2, 2, 2)), np.arange(60) % 2, np.arange(60) % 3), "vanilla")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"task": (X, X, X)}, "csad.from_arrays(x, y, b) makes one"),
        ({"seed": "1"}, "seed must be 0 or more"),
        ({"seed": 1.5}, "seed must be 0 or more"),
        ({"backbone": torch.nn.Linear}, "give an instance of your class"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_an_input_error(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(csad.InputError, match=re.escape(says)):
        csad.train(**({"task": DATASET} | wrong))


def test_a_run_goes_on_only_with_the_rows_it_began_with(tmp_path: Path) -> None:
    csad.train(DATASET, "vanilla", settings=PLAIN, out=tmp_path / "run")
    train = DATASET.train
    other = replace(DATASET, splits={**DATASET.splits, "train": csad.Samples(train.x + 1, train.y, train.b)})
    with pytest.raises(csad.InputError, match="begun with other training data"):
        csad.train(other, "vanilla", settings=PLAIN, out=tmp_path / "run", resume=True)


def test_x_that_is_not_a_number_is_not_predicted(kept: csad.Run) -> None:
    with pytest.raises(csad.InputError, match="NaN or infinity"):
        kept.predict(np.full((2, 4), np.nan, dtype="float32"))


def test_a_training_in_memory_that_diverges_gives_no_figures() -> None:
    with pytest.raises(Diverged, match="not a number"):
        csad.train(DATASET, "vanilla", settings={**PLAIN, "pretrain_rate": 1e38})
