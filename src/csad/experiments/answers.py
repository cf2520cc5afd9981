"""What a run said of each row of a split, kept beside its figures: methods can then be compared row by row."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from csad.auditing.conflicts import conflicting_cells
from csad.auditing.figures import figures
from csad.data.samples import Dataset
from csad.errors import InputError
from csad.experiments.digests import rows_digest
from csad.experiments.folder import Folder
from csad.experiments.run import Run, classes_of_bias
from csad.experiments.wanted import Ready, Wanted
from csad.training.checkpoint import write_tensors

SAID, PROBABILITIES = "said", "probabilities"
Rows = NDArray[np.integer[Any]]


def answers_of(run: Run, dataset: Dataset, wanted: Wanted) -> dict[str, dict[str, Tensor]]:
    """The class and the probabilities that the run gives each row of the splits that are looked at, if wanted."""
    seen, found = replace(run, view=dataset.view), {}
    for split in wanted.splits if wanted.answers else ():
        out = seen.outputs(dataset.splits[split].x)
        found[split] = {SAID: torch.from_numpy(run.said(out)), PROBABILITIES: out.softmax(1)}
    return found


def write_answers(folder: Folder, answers: Mapping[str, dict[str, Tensor]]) -> None:
    """Keeps what ``answers_of`` gave."""
    for split, told in answers.items():
        write_tensors(folder.answers(split), told)


@dataclass(frozen=True)
class Answers:
    """What a run said of the rows of a split, and what is true of them."""

    said: NDArray[Any]
    probabilities: NDArray[Any]
    y: NDArray[Any]
    biases: Mapping[str, NDArray[Any]]
    conflicting: NDArray[Any]  # see conflicting_cells
    persons: Rows | None  # each row's, where they are known
    people: str  # a word that rows of other people would not have
    rows: str  # a word that other rows would not have

    def figures(self, rows: Rows, metrics: Collection[str]) -> dict[str, float]:
        """The figures of some of the rows, these metrics among them if they can be computed."""
        return figures(
            self.said[rows],
            self.y[rows],
            probabilities=self.probabilities[rows],
            biases={name: labels[rows] for name, labels in self.biases.items()},
            conflicting=self.conflicting[rows],
            wanted=metrics,
        )


def read_answers(ready: Ready, split: str) -> Answers:
    """What a finished run said of a split."""
    path, samples = ready.folder.answers(split), ready.dataset.splits[split]
    try:
        kept = load_file(path)
        said, probabilities = kept[SAID].numpy(), kept[PROBABILITIES].numpy()
    except (SafetensorError, OSError, KeyError) as error:
        raise InputError(f"{path} cannot be read ({error}): remove it, and give the same command again.") from error
    y, biases = samples.y.cpu().numpy(), classes_of_bias(samples, ready.dataset.task)
    persons, word = samples.persons, rows_digest(samples)
    return Answers(
        said=said,
        probabilities=probabilities,
        y=y,
        biases=biases,
        conflicting=conflicting_cells(y, biases),
        persons=None if persons is None else persons.cpu().numpy(),
        people=word if persons is None else people_digest(ready.dataset),
        rows=word,
    )


def people_digest(dataset: Dataset) -> str:
    """A word that follows from the people of all splits and their labels, however they are divided into splits."""
    parts = [(one.persons, one.y, one.b) for one in dataset.splits.values() if one.persons is not None]
    columns = [np.column_stack([part.cpu().numpy().astype(np.float64) for part in own]) for own in parts]
    found = np.unique(np.concatenate(columns), axis=0)
    return hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest()[:16]
