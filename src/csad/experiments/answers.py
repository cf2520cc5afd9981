"""What a run said of each row of a split, kept beside its figures: methods can then be compared row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from csad.auditing.conflicts import conflicting_cells
from csad.auditing.figures import figures
from csad.data.samples import Dataset
from csad.experiments.digests import rows_digest
from csad.experiments.folder import Folder
from csad.experiments.run import Run, classes_of_bias
from csad.experiments.wanted import Ready

SAID, PROBABILITIES = "said", "probabilities"
Rows = NDArray[np.integer[Any]]


def keep_answers(folder: Folder, run: Run, dataset: Dataset, splits: Sequence[str]) -> None:
    """Writes, in one move, the class and the probabilities that the run gives each row of these splits."""
    seen, found = replace(run, view=dataset.view), {}
    for split in splits:
        out = seen.outputs(dataset.splits[split].x)
        found[f"{split}.{SAID}"] = torch.from_numpy(run.said(out).astype(np.int32))
        found[f"{split}.{PROBABILITIES}"] = out.softmax(1).float()
    fresh = folder.answers.with_name(f"{folder.answers.name}.new")
    save_file(found, fresh)
    fresh.replace(folder.answers)


@dataclass(frozen=True)
class Answers:
    """What a run said of the rows of a split, and what is true of them."""

    said: NDArray[Any]
    probabilities: NDArray[Any]
    y: NDArray[Any]
    biases: Mapping[str, NDArray[Any]]
    conflicting: NDArray[Any]  # see conflicting_cells
    persons: Rows | None  # each row's, numbered from 0 on, where they are known
    rows: str  # a word that other rows would not have

    def figures(self, rows: Rows, *, ranked: bool) -> dict[str, float]:
        """The figures of some of the rows; those of probabilities, which take several times as long, if ``ranked``."""
        return figures(
            self.said[rows],
            self.y[rows],
            probabilities=self.probabilities[rows] if ranked else None,
            biases={name: labels[rows] for name, labels in self.biases.items()},
            conflicting=self.conflicting[rows],
        )


def read_answers(ready: Ready, split: str) -> Answers:
    """What a finished run said of a split."""
    kept, samples = load_file(ready.folder.answers), ready.dataset.splits[split]
    y, biases = samples.y.cpu().numpy(), classes_of_bias(samples, ready.dataset.task)
    return Answers(
        said=kept[f"{split}.{SAID}"].numpy(),
        probabilities=kept[f"{split}.{PROBABILITIES}"].numpy(),
        y=y,
        biases=biases,
        conflicting=conflicting_cells(y, biases),
        persons=None if samples.persons is None else np.unique(samples.persons.cpu().numpy(), return_inverse=True)[1],
        rows=rows_digest(samples),
    )
