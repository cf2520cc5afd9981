"""Splits of people rather than rows: all rows of a person go to one split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csad.data.split import stratified
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
    held = round(validation * len(others))
    if not 0 < held < len(others):
        shares = f"A validation share of {validation} holds out {held:,} of {len(others):,} people"
        raise InputError(f"{shares}: both parts need people, so give another share, or 0 for no validation.")
    kept, held_out = stratified(cells[others], (len(others) - held, held), generator)
    return {"train": others[kept], "validation": others[held_out], "test": test}


def check_validation(validation: float) -> None:
    """Nothing, or an error if it is not a share."""
    if not 0 <= validation < 1:
        raise InputError(f"validation must be a share of the people, from 0 and below 1, not {validation}.")
