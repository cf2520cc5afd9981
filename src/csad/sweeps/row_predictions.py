"""What finished runs predicted for each row of a split, so that methods can be compared row by row."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file

from csad.auditing.metrics.all_metrics import all_metrics
from csad.auditing.metrics.groups import conflicting_cells
from csad.data.samples import Dataset
from csad.errors import InputError
from csad.runs.digests import rows_digest
from csad.runs.evaluate import PROBABILITIES, SAID, classes_of_bias
from csad.runs.planned_run import PreparedRun

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class RowPredictions:
    """What a run predicts for the rows of a split, with their true labels."""

    predicted: NDArray[Any]
    probabilities: NDArray[Any]
    y: NDArray[Any]
    biases: Mapping[str, NDArray[Any]]
    conflicting: NDArray[Any]  # see conflicting_cells
    persons: Rows | None  # each row's, if they are known
    people: str  # a digest that rows of other people would not have
    rows: str  # a digest that other rows would not have

    def figures(self, rows: Rows, wanted: Collection[str]) -> dict[str, float]:
        """The metrics of some of the rows, those that are wanted among them if they can be computed."""
        return all_metrics(
            self.predicted[rows],
            self.y[rows],
            probabilities=self.probabilities[rows],
            biases={name: labels[rows] for name, labels in self.biases.items()},
            conflicting=self.conflicting[rows],
            wanted=wanted,
        )


def read_row_predictions(run: PreparedRun, split: str) -> RowPredictions:
    """Read what a finished run predicted for the rows of a split."""
    path, samples = run.folder.row_predictions(split), run.dataset.splits[split]
    try:
        tensors = load_file(path)
        predicted, probabilities = tensors[SAID].numpy(), tensors[PROBABILITIES].numpy()
    except (SafetensorError, OSError, KeyError) as error:
        raise InputError("predictions-file-unreadable", file=path, reason=error) from error
    y, biases = samples.y.cpu().numpy(), classes_of_bias(samples, run.dataset.task)
    persons, digest = samples.persons, rows_digest(samples)
    return RowPredictions(
        predicted=predicted,
        probabilities=probabilities,
        y=y,
        biases=biases,
        conflicting=conflicting_cells(y, biases),
        persons=None if persons is None else persons.cpu().numpy(),
        people=digest if persons is None else people_digest(run.dataset),
        rows=digest,
    )


def people_digest(dataset: Dataset) -> str:
    """A digest of the people of all splits and their labels, the same however they are divided into splits."""
    parts = [(part.persons, part.y, part.b) for part in dataset.splits.values() if part.persons is not None]
    columns = [np.column_stack([values.cpu().numpy().astype(np.float64) for values in part]) for part in parts]
    people = np.unique(np.concatenate(columns), axis=0)
    return hashlib.sha256(np.ascontiguousarray(people).tobytes()).hexdigest()[:16]
