"""Whether a table is made of the paper's own data, and where its tested rows are too few to tell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from csad.auditing.cells import cells_of
from csad.data.samples import Dataset
from csad.experiments.run import classes_of_bias


def others_told(dataset: Dataset, papers: Mapping[str, int]) -> str:
    """What a reader must know where splits have other numbers of rows than the paper's; empty where they have those."""
    found = {split: len(dataset.splits[split]) for split in papers if split in dataset.splits}
    if found == dict(papers):
        return ""
    ours, theirs = (", ".join(f"{split} {n:,}" for split, n in rows.items()) for rows in (found, papers))
    return f"Not the paper's data, and so none of its figures. Rows: {ours}; the paper has {theirs}."


def smallest_cell(dataset: Dataset, split: str) -> int:
    """How many rows the smallest cell of target and all biases has in a split, of those that have any."""
    samples = dataset.splits[split]
    groups = list(classes_of_bias(samples, dataset.task).values())
    known = np.all([group >= 0 for group in groups], axis=0)
    if not known.any():
        return 0
    cells = cells_of([samples.y.cpu().numpy()[known], *(group[known] for group in groups)])
    return int(np.bincount(cells).min())  # they are numbered without gaps


def too_few_told(dataset: Dataset, split: str, column: str, fewest: int) -> str:
    """That a column cannot tell, where its smallest cell has fewer tested rows than are wanted; else empty."""
    count = smallest_cell(dataset, split) if fewest else 0
    if count >= fewest:
        return ""
    biases = " × ".join(dataset.task.bias_names)
    return f"{column}: cannot tell. The smallest cell of target × {biases} has {count} tested rows."
