"""Draws which rows are in which split, by row or by person, from a stream of random numbers for each purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Samples
from csad.errors import InputError
from csad.messages import message

SPLITS = ("train", "validation", "test")
Whole = NDArray[np.int64]


def generator_for(seed: int, purpose: str) -> np.random.Generator:
    """A generator for one purpose, such as a split's name, so that a change in one stream leaves the others alone."""
    if seed < 0:
        raise InputError("negative-seed", seed=seed)
    words = [seed, *purpose.encode()]
    # Both give the same stream; NumPy reads an array faster than a list.
    return np.random.default_rng(np.random.SeedSequence(np.array(words, np.uint32) if seed < 2**32 else words))


def stratified(cells: NDArray[Any], sizes: tuple[int, ...], generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """The row numbers of parts of exactly these sizes, in ascending order; the sizes add up to all rows.

    Each part has its share of every cell (n,) to within a row or two; a cell of one row is in one part.
    """
    if sum(sizes) != len(cells):
        raise ValueError(f"The sizes {sizes} do not add up to {len(cells)} rows.")
    kinds, cell = np.unique(cells, return_inverse=True)
    # Cells are in random order, and rows within a cell, too; rows are then chosen at even steps.
    place = generator.permutation(len(kinds))[cell.reshape(-1)]
    left = np.lexsort((generator.random(len(cells)), place))
    parts = []
    for size in sizes:
        ends = np.arange(len(left) + 1) * size // max(len(left), 1)
        chosen = np.diff(ends) > 0
        parts.append(np.sort(left[chosen]).astype(np.int64))
        left = left[~chosen]
    return parts


def cells_of(*columns: NDArray[Any]) -> Whole:
    """The number (n,) of each row's combination of labels; columns are (n,) or (n, several)."""
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)


def draw_splits(cells: Whole, groups: Whole | None, fractions: Sequence[float], seed: int) -> dict[str, Whole]:
    """The rows of each split; every cell (n,) is split alike. With ``groups`` (n,), whole groups are drawn.

    A group belongs to the cell of its first row. Groups are numbered from 0 in the order of their first rows.
    """
    check_fractions(fractions)
    units = cells if groups is None else cells[np.unique(groups, return_index=True)[1]]
    held = [round(len(units) * share / sum(fractions)) for share in fractions[1:]]
    sizes = (len(units) - sum(held), *held)
    if any(size <= 0 < share for size, share in zip(sizes, fractions, strict=True)):
        what = "rows" if groups is None else "groups"
        raise InputError("too-few-rows-for-fractions", count=len(units), units=what, fractions=tuple(fractions))
    parts = stratified(units, sizes, generator_for(seed, "split"))
    rows = parts if groups is None else [np.flatnonzero(np.isin(groups, part)) for part in parts]
    return {name: part for name, part in zip(SPLITS, rows, strict=True) if len(part)}


def check_fractions(fractions: Sequence[float]) -> None:
    """Raise InputError unless these are shares of train, validation and test, the first of them above 0."""
    if len(fractions) != 3 or min(fractions) < 0 or not fractions[0] > 0 or not np.isfinite(sum(fractions)):
        raise InputError("fractions-invalid", fractions=tuple(fractions))


def fraction_notices(fractions: Sequence[float]) -> list[str]:
    """A sentence on shares that do not add up to a whole, and therefore become others."""
    whole = sum(fractions)
    usual = 100 if whole > 2 else 1
    if max(abs(share / usual - share / whole) for share in fractions) < 0.005:
        return []
    shares, effective = ([f"{share / size:.3g}" for share in fractions] for size in (1, whole))
    return [message("split-shares-rescaled", given=", ".join(shares), total=whole, shares=", ".join(effective))]


def check_share(validation: float, of: str = "training rows") -> None:
    """Raise InputError if it is no share."""
    if not 0 <= validation < 1:
        raise InputError("validation-share-out-of-range", units=of, validation=validation)


def draw_validation(
    cells: NDArray[Any], validation: float, generator: np.random.Generator, of: str = "training rows"
) -> list[NDArray[np.int64]]:
    """The numbers of the training rows and of the share that is held out from every cell (n,) alike."""
    held = round(validation * len(cells))
    if not 0 < held < len(cells):
        shares = f"A validation share of {validation} holds out {held:,} of {len(cells):,} {of}"
        raise InputError("validation-share-leaves-none", problem=shares)
    return stratified(cells, (len(cells) - held, held), generator)


def hold_out(train: Samples, validation: float, purpose: str) -> dict[str, Samples]:
    """The split "train" and, unless ``validation`` is 0, that share of it as the split "validation".

    Every combination of y and b is as frequent in one as in the other; ``purpose`` names the draw, which is always the
    same. Memory-mapped rows are copied into memory.
    """
    if not validation:
        return {"train": train}
    cells = cells_of(train.y.numpy(), train.b.numpy())
    rest, held = draw_validation(cells, validation, generator_for(0, purpose))
    return {"train": train.rows(rest), "validation": train.rows(held)}


def draw_people(cells: Whole, counts: Sequence[int], generator: np.random.Generator) -> Whole:
    """The numbers of randomly drawn people, ascending: ``counts[c]`` of those in cell c, or all of them."""
    order = generator.permutation(len(cells))
    return np.sort(np.concatenate([order[cells[order] == cell][:count] for cell, count in enumerate(counts)]))


def split_people(cells: Whole, test: Whole, validation: float, generator: np.random.Generator) -> dict[str, Whole]:
    """The numbers of the people in each split: those of ``test``, and the others for training and validation.

    ``validation`` is the share of the others that is held out from every cell alike; 0 is none.
    """
    others = np.setdiff1d(np.arange(len(cells)), test)
    if not len(others):
        raise InputError("no-people-left-to-train", count=len(test))
    if not validation:
        return {"train": others, "test": test}
    trained, held = draw_validation(cells[others], validation, generator, of="people")
    return {"train": others[trained], "validation": others[held], "test": test}
