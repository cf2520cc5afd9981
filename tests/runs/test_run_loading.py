"""A trained run in use: loading, predicting, evaluating."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import csad
from csad.data.datasets.toys import toy_table
from csad.export.export import export_run
from csad.export.formats import load_exported
from csad.runs.run import data_of
from tests.support.messages import Refusal, refused
from tests.support.own_data import DATASET, PLAIN, SHORT, B, X, Y, as_json, copied


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
        (X[:, :3], Refusal("x-row-shape-mismatch", expected="(4,)", shape="(3,)")),
        (X[0], Refusal("x-row-shape-mismatch", expected="(4,)", shape="()")),
        (X[None], Refusal("x-row-shape-mismatch", expected="(4,)", shape="(120, 4)")),
        (3.0, Refusal("x-row-shape-mismatch", expected="(4,)", shape="()")),
        ([["a", "b", "c", "d"]], Refusal("values-not-numeric", name="x")),
        ([[1, 2, 3, 4], [1]], Refusal("ragged-values", name="x")),
    ],
)
def test_x_of_another_shape_or_kind_is_an_input_error(kept: csad.Run, x: Any, words: Refusal) -> None:
    with refused(words):
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
    with refused("view-not-passed"):
        csad.load(tmp_path / "run")


def test_the_data_of_a_run_from_python_cannot_be_read_again(kept: csad.Run) -> None:
    with refused("training-data-from-python", call="csad.evaluate(run, dataset)"):
        data_of(kept)


def test_a_run_with_a_module_needs_it_again_when_loaded(tmp_path: Path) -> None:
    torch.manual_seed(0)
    own = nn.Sequential(nn.Linear(4, 7), nn.Tanh())
    run = csad.train(DATASET, "vanilla", settings=PLAIN, backbone=own, out=tmp_path / "run")
    with refused("backbone-module-needed"):
        csad.load(tmp_path / "run")
    loaded = csad.load(tmp_path / "run", backbone=nn.Sequential(nn.Linear(4, 7), nn.Tanh()))
    assert np.array_equal(loaded.predict_proba(X), run.predict_proba(X))
    assert loaded.features(X, "h").shape == (120, 7)
    with refused("checkpoint-unreadable"):
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
    from own_net_to_load import Net

    assert run.folder is not None
    for again in ("own_net_to_load:Net", Net, Net(width=6)):  # the path, the class or a module of it
        loaded = csad.load(run.folder, backbone=again)
        assert loaded.features(X, "h").shape == (120, 6)
        assert np.array_equal(loaded.predict_proba(X), run.predict_proba(X))
    export = export_run(run, tmp_path / "model.safetensors", "safetensors", dataset=DATASET)
    assert np.array_equal(load_exported(export.path, backbone=Net).predict_proba(X), run.predict_proba(X))


def test_a_class_by_path_may_build_on_csads_wrapper_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_wrapped.py").write_text(
        "from torch import nn\nfrom csad.nets.layers import Own\n\n\nclass Net(Own):\n"
        "    def __init__(self, width: int = 5):\n        super().__init__(nn.Linear(4, width))\n"
        "    def forward(self, x):\n        return -super().forward(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = PLAIN | {"net.backbone": "own_wrapped:Net", "net.width": 6}
    run = csad.train(DATASET, "vanilla", settings=settings, out=tmp_path / "run")
    path = export_run(run, tmp_path / "model.safetensors", "safetensors", dataset=DATASET).path
    for again in (
        csad.load(tmp_path / "run", backbone="own_wrapped:Net"),
        load_exported(path, backbone=type(run.method.F)),
    ):
        assert np.array_equal(again.predict_proba(X), run.predict_proba(X))


@pytest.mark.parametrize(
    ("again", "says"),
    [
        (
            "own_net_to_load:Other",
            Refusal("backbone-class-differs", backbone="own_net_to_load:Net", given="own_net_to_load:Other"),
        ),
        (3, Refusal("own-backbone-wrong-type", value=3)),
        (dict, Refusal("own-backbone-wrong-type")),
        (None, Refusal("backbone-class-not-trusted", backbone="own_net_to_load:Net")),
    ],
)
def test_a_backbone_that_is_not_given_again_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: Any, says: Refusal
) -> None:
    (tmp_path / "own_net_to_load.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    csad.train(DATASET, "vanilla", settings=PLAIN | {"net.backbone": "own_net_to_load:Net"}, out=tmp_path / "run")
    with refused(says):
        csad.load(tmp_path / "run", backbone=again)


@pytest.mark.parametrize(
    ("again", "says"),
    [
        ("conv", Refusal("backbone-not-needed", backbone="mlp", given="'conv'")),
        ("os:system", Refusal("backbone-not-needed", backbone="mlp", given="'os:system'")),
        (nn.Linear, Refusal("backbone-not-needed", backbone="mlp", given="'torch.nn.modules.linear:Linear'")),
        (nn.Flatten(), Refusal("backbone-not-needed", backbone="mlp", given="a module Flatten")),
    ],
)
def test_another_backbone_than_csads_own_is_not_put_in_its_place(kept: csad.Run, again: Any, says: Refusal) -> None:
    assert kept.folder is not None
    assert np.array_equal(csad.load(kept.folder, backbone="mlp").predict(X), kept.predict(X))
    with refused(says):
        csad.load(kept.folder, backbone=again)


def test_lambda_is_chosen_for_a_backbone_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_net_to_load.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    settings = PLAIN | {"net.backbone": "own_net_to_load:Net", "estimator_epochs": 1, "inner_steps": 1}
    y, b = np.unique(Y, return_inverse=True)[1] % 2, B
    data = csad.from_arrays(np.tile(X, (4, 1)), np.tile(y, 4), np.tile(b, 4), fractions=(0.4, 0.4, 0.2))
    run = csad.train(data, settings=settings, out=tmp_path / "run")
    assert "choice" in run.result
    assert type(run.method.F.module).__name__ == "Net"


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


def test_x_that_is_not_a_number_is_not_predicted(kept: csad.Run) -> None:
    with refused("input-not-finite"):
        kept.predict(np.full((2, 4), np.nan, dtype="float32"))
