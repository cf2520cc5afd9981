"""The formats of an exported run: how each is written, and what its file gives when it is read and run again."""

from __future__ import annotations

import importlib.util
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.export import ExportedProgram

from csad.deploy.model import KEY, Model
from csad.errors import InputError
from csad.experiments.exports.exported import load_exported, read_exported
from csad.experiments.exports.target_branch import Scores
from csad.experiments.trust import is_own_backbone, named_backbone
from csad.nets.layers import Own
from csad.nets.parts import OwnBackbone
from csad.training.stack import Alone

ABOUT = "csad.json"  # the file in a .pt2 archive that holds what it says of itself
NEEDED = ("onnx", "onnxscript", "onnxruntime")

About = Mapping[str, Any]


class Format(NamedTuple):
    """How a file is written for x of a dtype, and the scores that a written file has for x."""

    write: Callable[[Scores, torch.dtype, About, Path], None]
    scores: Callable[[Path, Tensor, Scores], Tensor]


def check_installed(format_: str) -> None:
    """Nothing, or an error that says what to install."""
    missing = [name for name in NEEDED if format_ == "onnx" and importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"ONNX needs {' and '.join(missing)} to be installed: pip install 'csad[export]'.")


def _program(model: Scores, dtype: torch.dtype) -> ExportedProgram:
    """The module as a graph for any number of rows."""
    # Zeros, not rows of data: a .pt2 file keeps what it was traced with.
    x = torch.zeros(2, *model.method.task.shape, dtype=dtype)
    with torch.no_grad():
        program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    graphs = [part.graph for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    for node in (node for graph in graphs for node in graph.nodes):
        for key in ("stack_trace", "nn_module_stack", "source_fn_stack"):
            node.meta.pop(key, None)  # they name folders of whoever exports
    return program


def _told(about: About) -> str:
    """What a graph says of itself: not the settings it was trained with, which nobody needs to run it."""
    return json.dumps({key: value for key, value in about.items() if key != "config"})


def _write_pt2(model: Scores, dtype: torch.dtype, about: About, path: Path) -> None:
    with _silent():
        torch.export.save(_program(model, dtype), path, extra_files={ABOUT: _told(about)})


def _run_pt2(path: Path, x: Tensor, model: Scores) -> Tensor:
    with _silent():
        scores: Tensor = torch.export.load(path).module()(x)
    return scores


def _write_onnx(model: Scores, dtype: torch.dtype, about: About, path: Path) -> None:
    with _silent():
        made = torch.onnx.export(
            _program(model, dtype), dynamo=True, verbose=False, input_names=["x"], output_names=["scores"]
        )
    assert made is not None  # it is None only for an exporter that is not asked for
    proto = made.model_proto
    graph = proto.graph
    # What torch notes beside each node holds source lines and folders of whoever exports.
    nodes = (*graph.node, *(node for function in proto.functions for node in function.node))
    for noted in (graph, *nodes, *graph.input, *graph.output, *graph.initializer, *proto.functions):
        del noted.metadata_props[:]
    del graph.value_info[:]
    for put in (*graph.input, *graph.output):
        put.type.tensor_type.shape.dim[0].dim_param = "rows"
    entry = proto.metadata_props.add()
    entry.key, entry.value = KEY, _told(about)
    path.write_bytes(proto.SerializeToString())


def _run_onnx(path: Path, x: Tensor, model: Scores) -> Tensor:
    return torch.as_tensor(Model(path).scores(x.numpy()))


def _write_safetensors(model: Scores, dtype: torch.dtype, about: About, path: Path) -> None:
    from safetensors.torch import save

    tensors = {name: value.detach().contiguous().clone() for name, value in Alone(model.method).state.items()}
    path.write_bytes(save(tensors, metadata={"format": about["format"], KEY: json.dumps(about)}))


def _run_safetensors(path: Path, x: Tensor, model: Scores) -> Tensor:
    F, named = model.method.F, named_backbone(read_exported(path)[0]["config"])
    own: OwnBackbone | None = None
    if is_own_backbone(named):  # it is needed again; its weights are then those of the file
        own = F.module if type(F) is Own else type(F)
    read = load_exported(path, backbone=own, view=model.view, device="cpu")
    with torch.no_grad():
        return read.method.predict(read.view(x))


FORMATS = {
    "onnx": Format(_write_onnx, _run_onnx),
    "pt2": Format(_write_pt2, _run_pt2),
    "safetensors": Format(_write_safetensors, _run_safetensors),
}


@contextmanager
def _silent() -> Iterator[None]:
    """Keeps back what torch says of its own insides while it exports: none of it is the user's to mend."""
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)
