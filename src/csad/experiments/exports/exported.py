"""A run from an exported .safetensors file: all that predicts, and nothing that was only there to train it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from csad.data.samples import as_float
from csad.data.tables.pictures import preparation_from
from csad.deploy.model import FORMAT, KEY
from csad.errors import InputError
from csad.experiments.build import build
from csad.experiments.exports.target_branch import target_branch
from csad.experiments.folder import task_from
from csad.experiments.plan import SECTIONS, Plan
from csad.experiments.reading import OWN
from csad.experiments.run import Run
from csad.nets.weights import without_files
from csad.training import checkpoint
from csad.training.device import choose_device
from csad.training.log import Log
from csad.training.stack import Alone


def load_exported(
    path: str | Path,
    *,
    backbone: nn.Module | None = None,
    view: Callable[[Tensor], Tensor] | None = None,
    device: str = "auto",
) -> Run:
    """The run that ``csad export --format safetensors`` wrote, which predicts as it did; no log, no figures.

    ``backbone`` and ``view`` are needed again where the run was trained with a module or a view of one's own.
    """
    about, tensors = _read(Path(path))
    config = about["config"]
    own_net, own_view = config["net"]["backbone"] == OWN, config["view"] == OWN
    for name, own, given in (("backbone", own_net, backbone), ("view", own_view, view)):
        if own and given is None:
            raise InputError(f"{path} was trained with a {name} of your own: give it again as {name}=.")
    plan = Plan(**{name: config[name] for name in SECTIONS})
    with without_files():  # of pretrained weights: the export has them all
        whole = build(task_from(config["about"]), config["method"], plan, config["seed"], backbone if own_net else None)
    method = target_branch(whole)
    checkpoint.put(tensors, Alone(method).state, str(path))
    seen = view if own_view and view is not None else as_float
    preparation = preparation_from(about["preparation"]) if about["preparation"] else None
    return Run(method.to(choose_device(device)), config, {}, Log(), None, seen, preparation)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"There is no file {path}: give a .safetensors file that csad export wrote.")
    try:
        with safe_open(path, framework="pt") as file:
            noted = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} cannot be read as a .safetensors file: export the run again.") from error
    if noted.get("format") != FORMAT:
        raise InputError(f"{path} was not written by csad export, or by another version: export the run.")
    return json.loads(noted[KEY]), tensors
