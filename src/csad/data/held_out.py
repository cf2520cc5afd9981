"""Rows of a training split that are kept aside to validate on."""

from __future__ import annotations

from csad.data.samples import Samples
from csad.data.split import cells_of, generator_for, kept_and_held


def hold_out(train: Samples, validation: float, purpose: str) -> dict[str, Samples]:
    """The split "train" and, where ``validation`` is not 0, that share of it as the split "validation".

    Every combination of y and b is as frequent in one as in the other; ``purpose`` names the draw, which is always the
    same. The rows of both are copied into memory, where they were memory-mapped.
    """
    if not validation:
        return {"train": train}
    cells = cells_of(train.y.numpy(), train.b.numpy())
    kept, held = kept_and_held(cells, validation, generator_for(0, purpose))
    return {"train": train.rows(kept), "validation": train.rows(held)}
