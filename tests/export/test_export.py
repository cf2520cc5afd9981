"""A run as one file: what is in it, what is not, and when it is not written."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

import csad
from csad.data.samples import Classes, as_float
from csad.deploy import Model
from csad.export.export import LIMIT, data_if_there, export_run
from csad.export.formats import FORMATS, Scores, load_exported, target_branch
from csad.nets.backbones import resnet
from csad.nets.weights import without_files
from csad.runs.build import describe
from csad.runs.run import Run
from tests.support.export_files import CONV, HIDDEN, TINY, made, scores
from tests.support.messages import Refusal, refused
from tests.support.own_data import DATASET, PLAIN, SHORT, X


def test_a_trained_run_that_was_kept_is_exported_and_loaded_again(kept: csad.Run, tmp_path: Path) -> None:
    assert kept.folder is not None
    run = csad.load(kept.folder, device="cpu")
    export = export_run(run, tmp_path / "model.safetensors", "safetensors", dataset=DATASET)
    again = load_exported(export.path)
    assert np.array_equal(again.predict_proba(X), kept.predict_proba(X))
    assert np.array_equal(again.transform(X), kept.transform(X))
    assert again.classes == ("low", "mid", "top")
    assert csad.evaluate(again, DATASET) == kept.result["metrics"]
    assert not {"D_b", "P_b", "M"} & {name for name, _ in again.method.named_children()}


def test_a_file_says_what_it_is(kept: csad.Run, tmp_path: Path) -> None:
    about = {
        "format": "csad-export-1", "csad": csad.__version__, "task": "own arrays", "method": "csad", "seed": 0,
        "classes": ["low", "mid", "top"], "input": {"shape": [4], "dtype": "float32"}, "preparation": None,
    }  # fmt: skip
    for format_ in ("onnx", "pt2", "safetensors"):
        export_run(kept, tmp_path / f"model.{format_}", format_, dataset=DATASET)
    assert Model(tmp_path / "model.onnx").about == about
    inside = {"csad.json": ""}
    torch.export.load(tmp_path / "model.pt2", extra_files=inside)
    assert json.loads(inside["csad.json"]) == about
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        header = json.loads(file.metadata()["csad"])
    config = header.pop("config")
    assert header == about
    assert config["about"] == json.loads(json.dumps(describe(DATASET.task))) | {
        "fingerprint": DATASET.train.fingerprint()
    }


@pytest.mark.parametrize("format_", ["onnx", "pt2", "safetensors"])
def test_a_file_names_no_folder_and_holds_no_row_of_the_data(format_: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "people.npz", x=X, y=np.arange(120) % 3, b=np.arange(120) // 3 % 2)
    dataset, run = made(str(tmp_path / "people.npz"), **HIDDEN)
    path = export_run(run, tmp_path / f"model.{format_}", format_, dataset=dataset).path
    parts = [path.read_bytes()]
    if format_ == "pt2":
        with zipfile.ZipFile(path) as archive:
            parts = [archive.read(name) for name in archive.namelist()]
    everything = b"".join(parts)
    assert b"people" in everything
    for folder in (tmp_path, Path(csad.__file__).parent, Path(torch.__file__).parent):
        assert str(folder).encode() not in everything
    assert dataset.splits["test"].x[0].numpy().tobytes() not in everything


@pytest.mark.parametrize("format_", ["onnx", "pt2", "safetensors"])
def test_a_file_does_not_say_in_which_folder_pretrained_weights_lay(
    format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resnet, "WIDTHS", (4, 4, 4, 4))
    with without_files():  # as if they had been read
        pretrained = {"net.backbone": "resnet18", "net.weights": "/home/me/w.safetensors"}
        dataset, run = made("toy-image", "vanilla", **TINY, **pretrained)
    export = export_run(run, tmp_path / f"model.{format_}", format_, dataset=dataset)
    assert export.about["config"]["net"]["weights"] == "w.safetensors"
    assert "/home/me" not in json.dumps(export.about)
    assert b"/home/me" not in export.path.read_bytes()
    assert run.config["net"]["weights"] == "/home/me/w.safetensors"


def test_without_data_it_is_compared_on_random_rows_and_pictures_are_bytes(tmp_path: Path) -> None:
    dataset, run = made("toy-image", "vanilla", **TINY, **CONV)
    export = export_run(run, tmp_path / "a.safetensors", "safetensors")
    assert (export.source, export.rows, export.about["input"]["dtype"]) == ("random numbers", 64, "uint8")
    export = export_run(run, tmp_path / "b.safetensors", "safetensors", dataset=dataset, pixels="float32")
    assert (export.source, export.about["input"]["dtype"]) == ("the test split of toy-image", "float32")
    floats = replace(
        dataset, splits={"train": csad.Samples(as_float(dataset.train.x), dataset.train.y, dataset.train.b)}
    )
    export = export_run(run, tmp_path / "c.safetensors", "safetensors", dataset=floats)
    assert (export.source, export.about["input"]["dtype"]) == ("the train split of toy-image", "float32")


def test_data_that_are_not_there_or_others_now_are_told(tmp_path: Path, kept: csad.Run) -> None:
    np.savez(tmp_path / "people.npz", x=X, y=np.arange(120) % 3, b=np.arange(120) // 3 % 2)
    _, run = made(str(tmp_path / "people.npz"), **HIDDEN)
    assert data_if_there(run, None)[0] is not None
    np.savez(tmp_path / "people.npz", x=X[:, :3], y=np.arange(120) % 3, b=np.arange(120) // 3 % 2)
    assert data_if_there(run, None)[0] is None
    (tmp_path / "people.npz").unlink()
    found, why = data_if_there(run, None)
    assert found is None
    assert "people.npz" in why
    assert "passed in Python" in data_if_there(kept, None)[1]


class Turns(nn.Module):
    """Gives something else in a graph than when it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.linear(x)
        return 1.01 * h if torch.compiler.is_exporting() else h


class Branches(nn.Linear):
    """Does what depends on values, which no graph can hold."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if float(x.sum()) >= 0 else super().forward(-x)


def with_module(module: nn.Module, view: Callable[[Tensor], Tensor] = as_float, **options: Any) -> Run:
    dataset = replace(DATASET, view=view)
    return csad.train(dataset, "vanilla", settings=PLAIN, backbone=module, device="cpu", **options)


def test_a_file_that_would_predict_otherwise_is_an_error_and_not_written(tmp_path: Path) -> None:
    run = with_module(Turns())
    (tmp_path / "model.pt2").write_text("what was there")
    with refused("export-differs-from-run", limit=LIMIT):
        export_run(run, tmp_path / "model.pt2", "pt2", dataset=DATASET, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt2"]
    assert (tmp_path / "model.pt2").read_text() == "what was there"


def test_a_file_that_is_wrong_for_one_row_alone_is_not_written(
    kept: csad.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = FORMATS["safetensors"]

    def wrong(path: Path, x: Tensor, model: Scores) -> Tensor:
        return right.scores(path, x, model) + float(len(x) == 1)

    monkeypatch.setitem(FORMATS, "safetensors", right._replace(scores=wrong))
    with refused("export-differs-from-run"):
        export_run(kept, tmp_path / "model", "safetensors", dataset=DATASET)
    assert list(tmp_path.iterdir()) == []


def test_a_module_that_no_graph_can_hold_is_an_error_and_goes_as_safetensors(tmp_path: Path) -> None:
    run = with_module(Branches(4, 3))
    for format_ in ("onnx", "pt2"):
        with refused("backbone-not-exportable"):
            export_run(run, tmp_path / "model", format_, dataset=DATASET)
    assert list(tmp_path.iterdir()) == []
    export_run(run, tmp_path / "model", "safetensors", dataset=DATASET)
    assert np.array_equal(load_exported(tmp_path / "model", backbone=Branches(4, 3)).predict(X), run.predict(X))


def test_a_module_and_a_view_of_ones_own_are_in_the_graph_and_needed_again_for_safetensors(tmp_path: Path) -> None:
    torch.manual_seed(0)
    run = with_module(nn.Sequential(nn.Linear(4, 7), nn.Tanh()), view=lambda x: -2 * x)
    export_run(run, tmp_path / "model.onnx", "onnx", dataset=DATASET)
    assert np.allclose(Model(tmp_path / "model.onnx").predict_proba(X), run.predict_proba(X), atol=1e-5)
    path = export_run(run, tmp_path / "model.safetensors", "safetensors", dataset=DATASET).path
    own = nn.Sequential(nn.Linear(4, 7), nn.Tanh())
    with refused("backbone-module-needed"):
        load_exported(path)
    with refused("view-not-passed"):
        load_exported(path, backbone=own)
    again = load_exported(path, backbone=own, view=lambda x: -2 * x)
    assert np.array_equal(again.predict_proba(X), run.predict_proba(X))


def test_a_number_is_exported_too(tmp_path: Path) -> None:
    task = csad.Task("own", (4,), csad.Number(), (csad.Classes(2),), ("sex",))
    rows = csad.Samples(X, X[:, 0] / 3, np.arange(120) % 2)
    dataset = csad.Dataset(task, {"train": rows, "test": rows})
    run = csad.train(dataset, "csad", settings=SHORT, device="cpu")
    export = export_run(run, tmp_path / "model.onnx", dataset=dataset)
    assert export.about["classes"] == []
    assert np.allclose(Model(export.path).predict(X), run.predict(X), atol=1e-5)
    again = load_exported(export_run(run, tmp_path / "m.safetensors", "safetensors", dataset=dataset).path)
    assert np.array_equal(again.predict(X), run.predict(X))


def test_a_run_that_rounds_to_bf16_is_exported_in_float32(tmp_path: Path) -> None:
    dataset, run = made("toy-image", "csad", **TINY, **CONV, **{"train.precision": "bf16"})
    export = export_run(run, tmp_path / "model.onnx", dataset=dataset)
    x = dataset.splits["test"].x
    exact = target_branch(run.method)
    with torch.no_grad():
        wanted = exact.predict(dataset.view(x))
    assert np.allclose(Model(export.path).scores(x.numpy()), wanted, atol=1e-5)
    assert not torch.allclose(scores(run, x), wanted, atol=1e-4)


def test_classes_without_names_are_called_by_their_numbers(tmp_path: Path) -> None:
    task = replace(DATASET.task, target=Classes(3))
    _, run = made(replace(DATASET, task=task), "vanilla")
    assert export_run(run, tmp_path / "m", "safetensors").about["classes"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, Refusal("safetensors-file-missing")),
        (b"no", Refusal("safetensors-file-unreadable")),
        (b"\x02\0\0\0\0\0\0\0{}", Refusal("not-a-csad-export")),
    ],
)
def test_what_is_no_export_is_an_input_error(content: bytes | None, says: Refusal, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with refused(says):
        load_exported(tmp_path / "model.safetensors")
