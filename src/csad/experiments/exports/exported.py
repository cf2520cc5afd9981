"""A run from an exported .safetensors file: all that predicts, and nothing that was only there to train it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from csad.data.samples import as_float
from csad.data.tables.preparations import preparation_from
from csad.deploy.decision import HALF
from csad.deploy.model import FORMAT, KEY
from csad.errors import InputError
from csad.experiments.exports.target_branch import target_branch
from csad.experiments.reading import OWN
from csad.experiments.run import Run, check_own, rebuilt
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
    check_own(config, str(path), backbone, view)
    method = target_branch(rebuilt(config, backbone if config["net"]["backbone"] == OWN else None))
    checkpoint.put(tensors, Alone(method).state, str(path))
    seen = view if config["view"] == OWN and view is not None else as_float
    preparation = preparation_from(about["preparation"]) if about["preparation"] else None
    threshold = float(about.get("threshold", HALF))
    return Run(method.to(choose_device(device)), config, {}, Log(), None, seen, preparation, threshold)


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
