"""Is this machine fit for csad? Versions, devices, data, and a training of a few steps."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import warnings
from pathlib import Path
from typing import NamedTuple

NEEDED = ("torch", "numpy", "scikit-learn", "typer", "rich", "safetensors", "jinja2")
WANTED = {"pooch": "needed only to download data sets"}


class Finding(NamedTuple):
    """One thing looked at: its state is ok, missing (something is not to be had) or broken (csad cannot work)."""

    what: str
    state: str
    finding: str


def examine(data_root: Path | None) -> list[Finding]:
    """All findings, the machine first."""
    found = [Finding("python", "ok", platform.python_version())]
    found += [_package(name, "") for name in NEEDED] + [_package(name, why) for name, why in WANTED.items()]
    if all(finding.state == "ok" for finding in found[1 : 1 + len(NEEDED)]):
        found += [_device(), _training()]
    return [*found, _data(data_root)]


def _package(name: str, why: str) -> Finding:
    try:
        return Finding(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "missing", why) if why else Finding(name, "broken", f"not installed: pip install {name}")


def _device() -> Finding:
    import torch

    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())]
        return Finding("device", "ok", ", ".join(names))
    return Finding("device", "ok", f"no GPU; {os.cpu_count()} CPU cores, {torch.get_num_threads()} threads")


def _training() -> Finding:
    from csad.experiments.train import train

    quick = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice about a training of a few steps would only alarm
            run = train("toy-table", settings=quick)
    except Exception as error:  # whatever it is, the doctor's job is to name it
        return Finding("training", "broken", f"{type(error).__name__}: {error}")
    return Finding("training", "ok", f"CSAD on toy-table: {run.result['seconds']:.1f} s for one epoch of each stage")


def _data(data_root: Path | None) -> Finding:
    if data_root is None:
        return Finding("data", "missing", "no --data-root and no CSAD_DATA: data sets are fetched when first used")
    if not data_root.is_dir():
        return Finding("data", "broken", f"{data_root} is not a folder: give another --data-root")
    folders = sorted(entry.name for entry in data_root.iterdir() if entry.is_dir())
    return Finding("data", "ok", f"{data_root}: {', '.join(folders) or 'empty'}")
