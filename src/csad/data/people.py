"""Splits of people rather than rows: all rows of a person go to one split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csad.data.split import kept_and_held
from csad.errors import InputError

Whole = NDArray[np.int64]


def drawn(cells: Whole, counts: Sequence[int], generator: np.random.Generator) -> Whole:
    """The numbers of people drawn at random, ``counts[c]`` of those in cell c (or all there are), ascending."""
    order = generator.permutation(len(cells))
    return np.sort(np.concatenate([order[cells[order] == cell][:count] for cell, count in enumerate(counts)]))


def parted(cells: Whole, test: Whole, validation: float, generator: np.random.Generator) -> dict[str, Whole]:
    """The numbers of the people in each split: ``test`` as given, all others to train on, less those to validate on.

    ``validation`` is the share of the others that is held out, from every cell alike; 0 is none.
    """
    others = np.setdiff1d(np.arange(len(cells)), test)
    if not len(others):
        raise InputError(f"All {len(test)} people are tested, so none is left to train on: test fewer.")
    if not validation:
        return {"train": others, "test": test}
    kept, held = kept_and_held(cells[others], validation, generator, of="people")
    return {"train": others[kept], "validation": others[held], "test": test}
