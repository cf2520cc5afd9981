"""ONNX files of all kinds of data predict as the run does, from the target branch alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from csad.deploy import Model
from csad.export.export import export_run
from csad.methods.method import TARGET_BRANCH
from tests.support.export_files import CONV, HIDDEN, TINY, check_weights, made, scores


@pytest.mark.parametrize(
    ("task", "settings", "dtype"),
    [
        ("toy-table", HIDDEN, "float32"),
        ("toy-image", CONV, "uint8"),
        ("toy-series", CONV | {"net.layers": 2}, "float32"),
    ],
)
def test_csad_as_onnx_predicts_any_number_of_rows_as_the_run_does(
    task: str, settings: dict[str, Any], dtype: str, tmp_path: Path
) -> None:
    dataset, run = made(task, "csad", **TINY, **settings)
    export = export_run(run, tmp_path / "model.onnx", dataset=dataset)
    x = dataset.splits["test"].x
    model = Model(export.path)
    for n in (0, 1, 2, len(x)):
        assert np.allclose(model.scores(x[:n].numpy()), scores(run, x[:n]), atol=1e-5)
    assert (export.source, export.rows) == (f"the test split of {task}", len(x))
    assert export.about["input"] == {"shape": list(dataset.task.shape), "dtype": dtype}
    check_weights(run, export.path)
    assert onnx.load(export.path).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "rows"
    onnx.checker.check_model(onnx.load(export.path), full_check=True)


def test_a_resnet_with_batch_norm_is_exported_with_what_it_learned_of_its_data(tmp_path: Path) -> None:
    settings = {"net.backbone": "resnet18", "net.stem": "small", "net.features": 6}
    dataset, run = made("toy-image", "csad", **TINY, **settings)
    with torch.no_grad():
        run.method.F.train()(dataset.view(dataset.train.x))  # BatchNorm's means and spreads move
    assert run.method.F.get_buffer("bn1.running_mean").abs().max() > 0.01
    export = export_run(run, tmp_path / "model.onnx", dataset=dataset)
    x = dataset.splits["test"].x
    assert np.allclose(Model(export.path).scores(x.numpy()), scores(run, x), atol=1e-4)
    assert export.weights == sum(
        p.numel() for part in TARGET_BRANCH for p in run.method.get_submodule(part).parameters()
    )
