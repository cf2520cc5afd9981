"""The formats of an exported run: the part of a method that predicts, how it is written, and how it is read."""

from __future__ import annotations

import copy
import importlib.util
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from csad.data.own.load_preprocessor import load_preprocessor
from csad.data.samples import as_float
from csad.deploy.decision import HALF
from csad.deploy.model import FORMAT, KEY, Model
from csad.errors import InputError
from csad.methods.method import TARGET_BRANCH, Method
from csad.nets.layers import Own
from csad.nets.parts import OwnBackbone
from csad.runs.build import OWN, backbone_to_build, check_view, is_own_backbone, named_backbone, rebuilt
from csad.runs.parse import current_names
from csad.runs.run import Run
from csad.training.device import choose_device
from csad.training.log import Log


def at_rest(method: Method) -> Method:
    """A copy of the method on the CPU that only predicts, in float32, which every machine knows."""
    copied = copy.deepcopy(method).cpu().eval()
    copied.course = replace(copied.course, precision="float32")
    return copied


@torch.no_grad()
def target_branch(method: Method) -> Method:
    """A copy of the method, at rest, with only what predicting needs: no bias branch, no M.

    Besides F, D_y and P_y it has what ``predict`` fails without, such as the directions that project takes away.
    """
    branch = at_rest(method)
    x = torch.zeros(2, *branch.task.shape)
    stores: tuple[dict[str, Any], ...] = (branch._modules, branch._buffers, branch._parameters)
    for store in stores:
        for name in [name for name in store if name not in TARGET_BRANCH]:
            part = store.pop(name)
            try:
                branch.predict(x)
            except AttributeError:
                store[name] = part
    return branch


class Scores(nn.Module):
    """Stored x → scores P_y(D_y(F(x))), with the view in between: one module to export."""

    def __init__(self, method: Method, view: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.method = method
        self.view = view

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes), or (n, 1) for a number."""
        return self.method.predict(self.view(x))


def load_exported(
    path: str | Path,
    *,
    backbone: OwnBackbone | str | None = None,
    view: Callable[[Tensor], Tensor] | None = None,
    device: str = "auto",
) -> Run:
    """Load a run that ``csad export --format safetensors`` wrote; it predicts as before, without log and figures.

    Args:
        path: the .safetensors file.
        backbone: the module or class of F, if the run was trained with one of the user's.
        view: the function from stored x to F's input, if the run was trained with one of the user's.
        device: where it predicts: "auto", "cpu", "cuda", …
    """
    about, tensors = read_exported(Path(path))
    config = current_names(about["config"])
    given = backbone_to_build(named_backbone(config), backbone, path)
    check_view(config, path, view)
    method = target_branch(rebuilt(config, given))
    method.load_weights(tensors, str(path))
    own_view = view if config["view"] == OWN and view is not None else as_float
    preparation = load_preprocessor(about["preparation"]) if about["preparation"] else None
    threshold = float(about.get("threshold", HALF))
    return Run(method.to(choose_device(device)), config, {}, Log(), None, own_view, preparation, threshold)


def read_exported(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The description in an exported .safetensors file, and its tensors."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError("safetensors-file-missing", file=path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, OSError) as error:
        raise InputError("safetensors-file-unreadable", file=path) from error
    if metadata.get("format") != FORMAT:
        raise InputError("not-a-csad-export", file=path)
    return json.loads(metadata[KEY]), tensors


ABOUT = "csad.json"  # the file in a .pt2 archive that holds its description
NEEDED = ("onnx", "onnxscript", "onnxruntime")

About = Mapping[str, Any]


class Format(NamedTuple):
    """How a file is written for x of a dtype, and how a written file computes scores of x."""

    write: Callable[[Scores, torch.dtype, About, Path], None]
    scores: Callable[[Path, Tensor, Scores], Tensor]


def check_installed(format_: str) -> None:
    """Raise InputError, naming what to install, if a format needs a missing package."""
    missing = [name for name in NEEDED if format_ == "onnx" and importlib.util.find_spec(name) is None]
    if missing:
        raise InputError("onnx-packages-missing", packages=" and ".join(missing))


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


def _description(about: About) -> str:
    """The description of a graph, without the training settings, which running it does not need."""
    return json.dumps({key: value for key, value in about.items() if key != "config"})


def _write_pt2(model: Scores, dtype: torch.dtype, about: About, path: Path) -> None:
    with _silent():
        torch.export.save(_program(model, dtype), path, extra_files={ABOUT: _description(about)})


def _run_pt2(path: Path, x: Tensor, model: Scores) -> Tensor:
    with _silent():
        scores: Tensor = torch.export.load(path).module()(x)
    return scores


def _write_onnx(model: Scores, dtype: torch.dtype, about: About, path: Path) -> None:
    with _silent():
        onnx = torch.onnx.export(
            _program(model, dtype), dynamo=True, verbose=False, input_names=["x"], output_names=["scores"]
        )
    assert onnx is not None  # it is None only for an exporter that is not asked for
    proto = onnx.model_proto
    graph = proto.graph
    # What torch notes for each node holds source lines and folders of whoever exports.
    nodes = (*graph.node, *(node for function in proto.functions for node in function.node))
    for part in (graph, *nodes, *graph.input, *graph.output, *graph.initializer, *proto.functions):
        del part.metadata_props[:]
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    entry = proto.metadata_props.add()
    entry.key, entry.value = KEY, _description(about)
    path.write_bytes(proto.SerializeToString())


def _run_onnx(path: Path, x: Tensor, model: Scores) -> Tensor:
    return torch.as_tensor(Model(path).scores(x.numpy()))


def _write_safetensors(model: Scores, dtype: torch.dtype, about: About, path: Path) -> None:
    from safetensors.torch import save

    tensors = {name: value.detach().contiguous().clone() for name, value in model.method.named_tensors().items()}
    path.write_bytes(save(tensors, metadata={"format": about["format"], KEY: json.dumps(about)}))


def _run_safetensors(path: Path, x: Tensor, model: Scores) -> Tensor:
    F, named = model.method.F, named_backbone(read_exported(path)[0]["config"])
    given: OwnBackbone | None = None
    if is_own_backbone(named):  # it is needed again; its weights are then those of the file
        given = F.module if type(F) is Own else type(F)
    run = load_exported(path, backbone=given, view=model.view, device="cpu")
    with torch.no_grad():
        return run.method.predict(run.view(x))


FORMATS = {
    "onnx": Format(_write_onnx, _run_onnx),
    "pt2": Format(_write_pt2, _run_pt2),
    "safetensors": Format(_write_safetensors, _run_safetensors),
}


@contextmanager
def _silent() -> Iterator[None]:
    """Hide torch's messages on its own internals while it exports: a user can mend none of it."""
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)
