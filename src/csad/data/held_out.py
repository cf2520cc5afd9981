"""Rows of a training split that are kept aside to validate on."""

from __future__ import annotations

import numpy as np

from csad.data.samples import Samples
from csad.data.split import generator_for, stratified
from csad.errors import InputError


def check_share(validation: float) -> None:
    """Nothing, or an error if it is no share of the training rows."""
    if not 0 <= validation < 1:
        raise InputError(f"validation must be a share of the training rows, from 0 and below 1, not {validation}.")


def hold_out(train: Samples, validation: float, purpose: str) -> dict[str, Samples]:
    """The split "train" and, where ``validation`` is not 0, that share of it as the split "validation".

    Every combination of y and b is as frequent in one as in the other; ``purpose`` names the draw, which is always the
    same. The rows of both are copied into memory, where they were memory-mapped.
    """
    if not validation:
        return {"train": train}
    held = round(validation * len(train))
    if not 0 < held < len(train):
        shares = f"A validation share of {validation} holds out {held:,} of {len(train):,} training rows"
        raise InputError(f"{shares}: both parts need rows, so give another share, or 0 for no validation.")
    labels = np.column_stack([train.y.numpy(), train.b.numpy()])
    cells = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
    kept, held_out = stratified(cells, (len(train) - held, held), generator_for(0, purpose))
    return {"train": train.rows(kept), "validation": train.rows(held_out)}
