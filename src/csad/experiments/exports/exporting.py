"""A trained run as one file for elsewhere, run and compared with the run itself before it counts as written."""

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
from csad.data.samples import Dataset
from csad.data.tables.file_columns import PLACES
from csad.deploy.model import FORMAT
from csad.errors import InputError, unknown
from csad.experiments.exports.formats import FORMATS, check_installed
from csad.experiments.exports.rows import input_dtype, rows_to_compare
from csad.experiments.exports.target_branch import Scores, at_rest, target_branch
from csad.experiments.reading import name_of
from csad.experiments.run import Run
from csad.nets.layers import reason

LIMIT = 1e-4  # how far the file's scores may be from the run's, beside the largest of them where that is above 1


@dataclass(frozen=True)
class Export:
    """A file that was written, what it says of itself, and how it was compared with the run."""

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
    """The file that was written: F, D_y, P_y and what becomes of x before them, nothing of the bias branch.

    It is compared with the run on rows of the ``dataset``, or on random ones where none is given. ``pixels`` says how
    pictures come in, as "uint8" or "float32"; if not given, as the data set has them, else as bytes.
    """
    place = Path(out)
    check_possible(place, format_, force)
    dtype = input_dtype(run, dataset, pixels)
    x, source = rows_to_compare(run, dataset, dtype)
    about = _about(run, dtype)
    model = Scores(target_branch(run.method), run.view)
    try:
        with replacing(place, f".new.{format_}") as fresh:
            _write(model, dtype, about, fresh, format_)
            # One row alone as well: a graph may have taken the number of rows for a constant.
            apart = torch.stack([_apart(run, some, FORMATS[format_].scores(fresh, some, model)) for some in (x, x[:1])])
            worst = float(apart.max())
            if not worst <= LIMIT:  # NaN too
                raise InputError(
                    f"As {format_} the run would predict otherwise (scores differ by {worst:.1e}, where {LIMIT:.0e} is "
                    "allowed), so nothing was written: take another --format."
                )
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror or error}): give another --out.") from error
    weights = sum(value.numel() for value in model.method.parameters())
    return Export(place, format_, about, weights, len(x), source, worst)


def check_possible(place: Path, format_: str, force: bool) -> None:
    """Nothing, or an error where such a file could not be written, whatever the run."""
    if format_ not in FORMATS:
        raise unknown("format", format_, FORMATS)
    check_installed(format_)
    if place.is_dir():
        raise InputError(f"{place} is a folder: give the name of a file as --out.")
    if not place.parent.is_dir():
        raise InputError(f"There is no folder {place.parent}: make it, or give another --out.")
    if place.exists() and not force:
        raise InputError(f"{place} exists: give --force to write over it, or another --out.")


def _about(run: Run, dtype: torch.dtype) -> dict[str, Any]:
    """What the file says of itself; of files that were read it has the names, not the folders they are in."""
    task = run.method.task
    data, net = _without_folders(run.config["data"], *PLACES), _without_folders(run.config["net"], "weights")
    found = {
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
    plain: dict[str, Any] = json.loads(json.dumps(found, default=np.generic.item))  # NumPy's numbers as Python's own
    return plain


def _without_folders(settings: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {**settings, **{key: Path(settings[key]).name for key in keys if settings.get(key)}}


def _write(model: Scores, dtype: torch.dtype, about: Mapping[str, Any], fresh: Path, format_: str) -> None:
    try:
        FORMATS[format_].write(model, dtype, about, fresh)
    except (InputError, OSError):
        raise
    except Exception as error:  # a backbone of the user's own may do what no graph can hold
        what = f"{type(model.method.F).__name__} cannot be exported as {format_}"
        raise InputError(f"The backbone {what} ({reason(error)}): take --format safetensors.") from error


@torch.no_grad()
def _apart(run: Run, x: Tensor, scores: Tensor) -> Tensor:
    """How far scores are from the run's own at most, beside the largest of those where it is above 1."""
    own = at_rest(run.method).predict(run.view(x))
    return (scores - own).abs().max() / own.abs().max().clamp(min=1)
