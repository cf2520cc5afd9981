"""Defaults for data of one's own, by what the data are: the TOML files in kinds/, fitted to rows and target."""

from __future__ import annotations

from typing import Any

from csad.data.samples import Classes, Dataset
from csad.errors import InputError
from csad.experiments.plan import experiment

PHOTO = 48  # pixels: from here on an image is too large for the small nets
SMALL = 5000  # training rows: a table of fewer takes smaller mini-batches and a higher rate
MOST_EPOCHS = 60  # of a stage whose length is told in steps
LEAST_SHARE = 4  # rows of each class that a balanced mini-batch must have room for


def kind_defaults(dataset: Dataset) -> dict[str, Any]:
    """The settings that data of this kind begin with, as a task's TOML file would have them."""
    file = experiment(f"kinds/{_kind(dataset)}")
    return file | {"train": _fitted(file["train"], file.get("steps", {}), dataset)}


def _kind(dataset: Dataset) -> str:
    shape = dataset.task.shape
    if len(shape) == 1:
        return "small-table" if len(dataset.train) < SMALL else "table"
    if len(shape) == 2:
        return "series"
    if len(shape) == 3:
        return "photo" if min(shape[1:]) >= PHOTO else "image"
    raise InputError(f"x must hold rows, series or images (2 to 4 dimensions), not {len(shape) + 1} dimensions.")


def _fitted(train: dict[str, Any], steps: dict[str, int], dataset: Dataset) -> dict[str, Any]:
    """The training settings; lengths told in steps become epochs, and what cannot be balanced is not."""
    found = dict(train)
    for name, count in steps.items():
        per_epoch = -(-len(dataset.train) // train["batch_size"])
        found[name] = min(MOST_EPOCHS, max(1, round(count / per_epoch)))
    target = dataset.task.target
    if "balance" in found and not (isinstance(target, Classes) and LEAST_SHARE * target.count <= train["batch_size"]):
        del found["balance"]
    return found
