"""The people behind the rows of a data set, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from csad.data.samples import Classes, Dataset, Samples
from csad.errors import InputError

SHOWN = ("train", "test")


def facts_by_target(dataset: Dataset, fact: str) -> dict[str, dict[str, NDArray[np.float64]]]:
    """By split, train and test, and by the name of a target class: a fact of each of its people, who count once."""
    target = dataset.task.target
    if not isinstance(target, Classes):
        raise InputError(f"{dataset.task.name} has no classes by which to part the {fact}.")
    found = {}
    for split in SHOWN:
        samples = dataset.splits[split]
        facts, y = _of_people(samples, fact, dataset.task.name)
        found[split] = {name: facts[y == place] for place, name in enumerate(target.words)}
    return found


def _of_people(samples: Samples, fact: str, task: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The fact and the target of each person, who has one row or more; of each row where no person is told."""
    extra: Mapping[str, NDArray[np.float64]] = {name: values.cpu().numpy() for name, values in samples.extra.items()}
    if fact not in extra:
        raise InputError(f"{task} tells no {fact} of its rows, only {', '.join(extra) or 'nothing'}.")
    persons = torch.arange(len(samples)) if samples.persons is None else samples.persons
    first = np.unique(persons.cpu().numpy(), return_index=True)[1]
    return extra[fact][first].astype(np.float64), samples.y.cpu().numpy()[first]
