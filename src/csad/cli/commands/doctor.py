"""The command that checks whether this machine is fit for csad: versions, devices, data, and a short training."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import warnings
from pathlib import Path
from typing import NamedTuple

import typer

from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Json, Quiet

NEEDED = ("torch", "numpy", "scikit-learn", "typer", "rich", "safetensors", "jinja2")
OPTIONAL = {"pooch": "needed only to download data sets"}


class Finding(NamedTuple):
    """One check; its state is ok, missing (csad works without it) or broken (csad does not work)."""

    what: str
    state: str
    finding: str


@one_sentence
def doctor(data_root: DataRoot = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Check this machine: versions, devices, data, and a training of a few steps."""
    findings = examine(data_root)
    console = Console(as_json, quiet)
    sound = all(finding.state != "broken" for finding in findings)

    def show() -> None:
        console.table("csad doctor", ["check", "state", "finding"], [list(finding) for finding in findings])
        echo("csad has everything it needs." if sound else "csad cannot work here: see the checks that are broken.")

    console.answer({"sound": sound, "findings": [finding._asdict() for finding in findings]}, show)
    if not sound:
        raise typer.Exit(1)


def examine(data_root: Path | None) -> list[Finding]:
    """Make all checks, those of the machine first."""
    findings = [Finding("python", "ok", platform.python_version())]
    findings += [_package(name, "") for name in NEEDED] + [_package(name, why) for name, why in OPTIONAL.items()]
    if all(finding.state == "ok" for finding in findings[1 : 1 + len(NEEDED)]):
        findings += [_device(), _training()]
    return [*findings, _data(data_root)]


def _package(name: str, why: str) -> Finding:
    try:
        return Finding(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return (
            Finding(name, "missing", why) if why else Finding(name, "broken", f"not installed; run: pip install {name}")
        )


def _device() -> Finding:
    import torch

    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())]
        return Finding("device", "ok", ", ".join(names))
    return Finding("device", "ok", f"no GPU; CPU cores: {os.cpu_count()}, threads: {torch.get_num_threads()}")


def _training() -> Finding:
    from csad.sweeps.train import train

    quick = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice about a training of a few steps would only alarm
            run = train("toy-table", settings=quick)
    except Exception as error:  # the doctor names any error, whatever it is
        return Finding("training", "broken", f"{type(error).__name__}: {error}")
    return Finding(
        "training", "ok", f"CSAD on toy-table took {run.result['seconds']:.1f} s for one epoch of each stage"
    )


def _data(data_root: Path | None) -> Finding:
    if data_root is None:
        return Finding("data", "missing", "no --data-root and no CSAD_DATA; data sets are downloaded on first use")
    if not data_root.is_dir():
        return Finding("data", "broken", f"{data_root} is not a folder; give another --data-root")
    folders = sorted(entry.name for entry in data_root.iterdir() if entry.is_dir())
    return Finding("data", "ok", f"{data_root}: {', '.join(folders) or 'empty'}")
