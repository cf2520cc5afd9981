"""Write a trained run as one file, run that file, and compare it with the run itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from csad import __version__
from csad.atomic import replacing
from csad.data.own.linked_files import PLACES
from csad.data.samples import Dataset
from csad.deploy.model import FORMAT
from csad.errors import InputError, reason, unknown
from csad.export.formats import FORMATS, Scores, at_rest, check_installed, target_branch
from csad.runs.build import name_of
from csad.runs.run import Run, data_of

ROWS = 64
PIXELS = {"uint8": torch.uint8, "float32": torch.float32}


def data_if_there(run: Run, data_root: Path | None) -> tuple[Dataset | None, str]:
    """The data that the run was trained on, or None and why they cannot be read."""
    try:
        dataset = data_of(run, data_root)
    except InputError as error:
        return None, str(error)
    if tuple(dataset.task.shape) != tuple(run.method.task.shape):
        return None, f"The data now have rows of shape {dataset.task.shape}, not {run.method.task.shape}."
    return dataset, ""


def input_dtype(run: Run, dataset: Dataset | None, pixels: str) -> torch.dtype:
    """The dtype of the file's input: pictures may be bytes, everything else is floats."""
    picture = len(run.method.task.shape) == 3
    if pixels not in ("", *PIXELS):
        raise unknown("kind of pixels", pixels, PIXELS)
    if pixels and not picture:
        raise InputError("pixels-without-pictures", shape=run.method.task.shape)
    if pixels or not picture:
        return PIXELS[pixels or "float32"]
    return torch.uint8 if dataset is None or dataset.train.x.dtype == torch.uint8 else torch.float32


def rows_to_compare(run: Run, dataset: Dataset | None, dtype: torch.dtype) -> tuple[Tensor, str]:
    """Rows to compare on, and their source."""
    if dataset is not None:
        split = "test" if "test" in dataset.splits else "train"
        x = dataset.splits[split].x[:ROWS].cpu()
        if dtype == torch.float32 and x.dtype == torch.uint8:
            x = run.view(x)
        if dtype == torch.float32 or x.dtype == torch.uint8:
            return x.to(dtype), f"the {split} split of {dataset.task.name}"
    generator = torch.Generator().manual_seed(0)
    shape = (ROWS, *run.method.task.shape)
    if dtype == torch.uint8:
        return torch.randint(256, shape, generator=generator, dtype=dtype), "random numbers"
    return torch.randn(shape, generator=generator), "random numbers"


LIMIT = 1e-4  # of the difference between the scores of file and run, relative to the largest score above 1


@dataclass(frozen=True)
class Export:
    """A file that was written, its description, and how it was compared with the run."""

    path: Path
    format: str
    about: dict[str, Any]
    weights: int  # how many numbers
    rows: int
    source: str  # of these rows
    difference: float  # the largest, of scores


def export_run(
    run: Run,
    out: str | Path,
    format_: str = "onnx",
    *,
    dataset: Dataset | None = None,
    pixels: str = "",
    force: bool = False,
) -> Export:
    """Write F, D_y, P_y and the preparation of x, without the bias branch, and compare the file with the run.

    Args:
        run: the run.
        out: the path of the file.
        format_: "onnx", "pt2" (torch.export) or "safetensors".
        dataset: the data whose rows the file and the run are compared on; by default random rows.
        pixels: the dtype of pictures, "uint8" or "float32"; by default that of the data set, or bytes without one.
        force: whether an existing file is replaced.
    """
    path = Path(out)
    check_possible(path, format_, force)
    dtype = input_dtype(run, dataset, pixels)
    x, source = rows_to_compare(run, dataset, dtype)
    about = _about(run, dtype)
    model = Scores(target_branch(run.method), run.view)
    try:
        with replacing(path, f".new.{format_}") as fresh:
            _write(model, dtype, about, fresh, format_)
            # One row alone as well: a graph may have taken the number of rows for a constant.
            rows = (x, x[:1])
            differences = [_difference(run, part, FORMATS[format_].scores(fresh, part, model)) for part in rows]
            worst = float(torch.stack(differences).max())
            if not worst <= LIMIT:  # NaN too
                raise InputError("export-differs-from-run", format=format_, difference=worst, limit=LIMIT)
    except OSError as error:
        raise InputError("out-not-writable", file=path, reason=error.strerror or error) from error
    weights = sum(value.numel() for value in model.method.parameters())
    return Export(path, format_, about, weights, len(x), source, worst)


def check_possible(path: Path, format_: str, force: bool) -> None:
    """Raise InputError if such a file cannot be written, whatever the run."""
    if format_ not in FORMATS:
        raise unknown("format", format_, FORMATS)
    check_installed(format_)
    if path.is_dir():
        raise InputError("export-path-is-folder", path=path)
    if not path.parent.is_dir():
        raise InputError("export-folder-missing", folder=path.parent)
    if path.exists() and not force:
        raise InputError("out-file-exists", file=path)


def _about(run: Run, dtype: torch.dtype) -> dict[str, Any]:
    """The description in the file; it names the files that were read, but not their folders."""
    task = run.method.task
    data, net = _without_folders(run.config["data"], *PLACES), _without_folders(run.config["net"], "weights")
    about = {
        "format": FORMAT,
        "csad": __version__,
        "task": task.name,
        "method": run.config["method"],
        "seed": run.config["seed"],
        "classes": list(run.classes),
        **({"threshold": run.threshold} if len(run.classes) == 2 else {}),
        "input": {"shape": list(task.shape), "dtype": str(dtype).removeprefix("torch.")},
        "preparation": run.preparation.to_dict() if run.preparation else None,
        "config": run.config | {"task": name_of(run.config["task"]), "data": data, "net": net},
    }
    plain: dict[str, Any] = json.loads(json.dumps(about, default=np.generic.item))  # NumPy's numbers as Python's own
    return plain


def _without_folders(settings: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {**settings, **{key: Path(settings[key]).name for key in keys if settings.get(key)}}


def _write(model: Scores, dtype: torch.dtype, about: Mapping[str, Any], fresh: Path, format_: str) -> None:
    try:
        FORMATS[format_].write(model, dtype, about, fresh)
    except (InputError, OSError):
        raise
    except Exception as error:  # a user's backbone may do what no graph can hold
        what = f"{type(model.method.F).__name__} cannot be exported as {format_}"
        raise InputError("backbone-not-exportable", problem=what, reason=reason(error)) from error


@torch.no_grad()
def _difference(run: Run, x: Tensor, scores: Tensor) -> Tensor:
    """The largest difference from the run's own scores, relative to the largest of these if it is above 1."""
    expected = at_rest(run.method).predict(run.view(x))
    return (scores - expected).abs().max() / expected.abs().max().clamp(min=1)
