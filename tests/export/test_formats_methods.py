"""Whatever the method and the kind of data, an exported file predicts as the run does, from the target branch alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import csad
from csad.deploy import Model
from csad.export.export import export_run
from csad.export.formats import load_exported
from csad.methods.method import TARGET_BRANCH
from tests.support.export_files import CONV, HIDDEN, TINY, check_weights, made, numbers, scores, tensors_in


def test_every_method_is_exported_with_no_more_than_its_target_branch(method_name: str, tmp_path: Path) -> None:
    dataset, run = made("toy-table", method_name, **TINY, **HIDDEN)
    x = dataset.splits["test"].x
    for format_ in ("safetensors", "pt2"):
        export = export_run(run, tmp_path / f"model.{format_}", format_, dataset=dataset)
        assert export.difference <= 1e-6
        check_weights(run, export.path)
    again = load_exported(tmp_path / "model.safetensors", device="cpu")
    assert torch.equal(scores(again, x), scores(run, x))
    assert torch.allclose(torch.export.load(tmp_path / "model.pt2").module()(x), scores(run, x), atol=1e-6)
    kept = {name.split(".")[0] for name in tensors_in(tmp_path / "model.safetensors")}
    assert kept == {*TARGET_BRANCH, *(["directions"] if method_name == "project" else [])}


def test_what_project_hides_stays_hidden_in_every_format(tmp_path: Path) -> None:
    dataset, run = made("toy-table", "project", **TINY, **HIDDEN)
    x = dataset.splits["test"].x[:8]
    along = x + 5 * run.method.get_buffer("directions")[0]
    assert not torch.allclose(run.method.P_y(run.method.D_y(run.method.F(along))), scores(run, x), atol=0.01)
    for format_ in ("onnx", "pt2", "safetensors"):
        path = export_run(run, tmp_path / f"model.{format_}", format_, dataset=dataset).path
        assert numbers(run.method.get_buffer("directions")) in map(numbers, tensors_in(path).values())
    found = torch.tensor(Model(tmp_path / "model.onnx").scores(along.numpy()))
    assert torch.allclose(found, scores(run, x), atol=1e-4)


def test_the_papers_net_for_digits_takes_any_number_of_rows_as_pt2(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(256, size=(60, 3, 28, 28), dtype=np.uint8)
    dataset = csad.from_arrays(x, np.arange(60) % 3, np.arange(60) // 3 % 2)
    _, run = made(dataset, "vanilla", **{"net.backbone": "conv"}, **CONV)
    path = export_run(run, tmp_path / "model.pt2", "pt2", dataset=dataset).path
    program = torch.export.load(path).module()
    for n in (1, 3, 60):
        assert torch.allclose(program(torch.tensor(x[:n])), scores(run, torch.tensor(x[:n])), atol=1e-5)
