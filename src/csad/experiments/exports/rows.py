"""On what an exported file is compared with its run: rows of the run's data, or random ones."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.errors import InputError, unknown
from csad.experiments.reading import data_of
from csad.experiments.run import Run

ROWS = 64
PIXELS = {"uint8": torch.uint8, "float32": torch.float32}


def data_if_there(run: Run, data_root: Path | None) -> tuple[Dataset | None, str]:
    """The data that the run was trained on, or else why they are not there."""
    try:
        found = data_of(run, data_root)
    except InputError as error:
        return None, str(error)
    if tuple(found.task.shape) != tuple(run.method.task.shape):
        return None, f"The data now have rows of shape {found.task.shape}, not {run.method.task.shape}."
    return found, ""


def input_dtype(run: Run, dataset: Dataset | None, pixels: str) -> torch.dtype:
    """Of the file's input: only pictures may be bytes, everything else is floats."""
    picture = len(run.method.task.shape) == 3
    if pixels not in ("", *PIXELS):
        raise unknown("kind of pixels", pixels, PIXELS)
    if pixels and not picture:
        raise InputError(f"This run takes rows of shape {run.method.task.shape}, which have no pixels.")
    if pixels or not picture:
        return PIXELS[pixels or "float32"]
    return torch.uint8 if dataset is None or dataset.train.x.dtype == torch.uint8 else torch.float32


def rows_to_compare(run: Run, dataset: Dataset | None, dtype: torch.dtype) -> tuple[Tensor, str]:
    """Rows to compare on, and where they are from."""
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
