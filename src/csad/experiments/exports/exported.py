"""A run from an exported .safetensors file: all that predicts, and nothing that was only there to train it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from csad.data.samples import as_float
from csad.data.tables.preparations import preparation_from
from csad.deploy.decision import HALF
from csad.deploy.model import FORMAT, KEY
from csad.errors import InputError
from csad.experiments.exports.target_branch import target_branch
from csad.experiments.run import Run, check_view, rebuilt
from csad.experiments.trust import OWN, backbone_to_build, named_backbone
from csad.nets.parts import OwnBackbone
from csad.training import checkpoint
from csad.training.device import choose_device
from csad.training.log import Log
from csad.training.stack import Alone


def load_exported(
    path: str | Path,
    *,
    backbone: OwnBackbone | str | None = None,
    view: Callable[[Tensor], Tensor] | None = None,
    device: str = "auto",
) -> Run:
    """The run that ``csad export --format safetensors`` wrote, which predicts as it did; no log, no figures.

    ``backbone`` and ``view`` are needed again if the run was trained with a module, a class or a view of one's own.
    """
    about, tensors = read_exported(Path(path))
    config = about["config"]
    own = backbone_to_build(named_backbone(config), backbone, path)
    check_view(config, path, view)
    method = target_branch(rebuilt(config, own))
    checkpoint.put(tensors, Alone(method).state, str(path))
    seen = view if config["view"] == OWN and view is not None else as_float
    preparation = preparation_from(about["preparation"]) if about["preparation"] else None
    threshold = float(about.get("threshold", HALF))
    return Run(method.to(choose_device(device)), config, {}, Log(), None, seen, preparation, threshold)


def read_exported(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What an exported .safetensors file says of itself, and its tensors."""
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
