"""Which rows go to which split, and the stream of random numbers that each split has to itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

SPLITS = ("train", "validation", "test")
Whole = NDArray[np.int64]


def generator_for(seed: int, purpose: str) -> np.random.Generator:
    """A generator for one purpose, such as a split's name; a change in one stream leaves the others alone."""
    if seed < 0:
        raise InputError(f"seed must be 0 or more, not {seed}.")
    words = [seed, *purpose.encode()]
    # The same stream either way; an array is taken in at once, a list number by number.
    return np.random.default_rng(np.random.SeedSequence(np.array(words, np.uint32) if seed < 2**32 else words))


def stratified(cells: NDArray[Any], sizes: tuple[int, ...], generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """The row numbers of parts of exactly these sizes, in ascending order; the sizes add up to all rows.

    Each part takes its share of every cell (n,) to within a row or two; a cell of one row lands in one part.
    """
    if sum(sizes) != len(cells):
        raise ValueError(f"The sizes {sizes} do not add up to {len(cells)} rows.")
    kinds, cell = np.unique(cells, return_inverse=True)
    # Cells follow one another in random order, rows within a cell too; then rows are taken at even steps.
    place = generator.permutation(len(kinds))[cell.reshape(-1)]
    left = np.lexsort((generator.random(len(cells)), place))
    parts = []
    for size in sizes:
        ends = np.arange(len(left) + 1) * size // max(len(left), 1)
        taken = np.diff(ends) > 0
        parts.append(np.sort(left[taken]).astype(np.int64))
        left = left[~taken]
    return parts


def cells_of(*columns: NDArray[Any]) -> Whole:
    """The number (n,) of each row's combination of labels; columns are (n,) or (n, several)."""
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)


def drawn_parts(cells: Whole, groups: Whole | None, fractions: Sequence[float], seed: int) -> dict[str, Whole]:
    """The rows of each split; every cell (n,) is split alike. With ``groups``, it is these that are drawn.

    A group counts to the cell of its first row. Groups are numbered from 0 in the order in which they come.
    """
    check_fractions(fractions)
    units = cells if groups is None else cells[np.unique(groups, return_index=True)[1]]
    held = [round(len(units) * share / sum(fractions)) for share in fractions[1:]]
    sizes = (len(units) - sum(held), *held)
    if any(size <= 0 < share for size, share in zip(sizes, fractions, strict=True)):
        what = "rows" if groups is None else "groups"
        raise InputError(
            f"{len(units)} {what} are too few for fractions {tuple(fractions)}: give others, or more rows."
        )
    parts = stratified(units, sizes, generator_for(seed, "split"))
    rows = parts if groups is None else [np.flatnonzero(np.isin(groups, part)) for part in parts]
    return {name: part for name, part in zip(SPLITS, rows, strict=True) if len(part)}


def check_fractions(fractions: Sequence[float]) -> None:
    """Nothing, or an error where they are no shares of train, validation and test, the first of them above 0."""
    if len(fractions) != 3 or min(fractions) < 0 or not fractions[0] > 0 or not np.isfinite(sum(fractions)):
        wanted = "three shares for train, validation and test, none below 0 and the first above it"
        raise InputError(f"fractions must be {wanted}, not {tuple(fractions)}.")


def fraction_notices(fractions: Sequence[float]) -> list[str]:
    """A sentence where shares add up to something else than a whole, and so become others."""
    whole = sum(fractions)
    usual = 100 if whole > 2 else 1
    if max(abs(share / usual - share / whole) for share in fractions) < 0.005:
        return []
    given, taken = ([f"{share / size:.3g}" for share in fractions] for size in (1, whole))
    return [f"The shares {', '.join(given)} add up to {whole:,.6g}: rows are split {', '.join(taken)}."]


def check_share(validation: float, of: str = "training rows") -> None:
    """Nothing, or an error if it is no share."""
    if not 0 <= validation < 1:
        raise InputError(f"validation must be a share of the {of}, from 0 and below 1, not {validation}.")


def kept_and_held(
    cells: NDArray[Any], validation: float, generator: np.random.Generator, of: str = "training rows"
) -> list[NDArray[np.int64]]:
    """The numbers of those that are trained on and of the share that is held out, from every cell (n,) alike."""
    held = round(validation * len(cells))
    if not 0 < held < len(cells):
        shares = f"A validation share of {validation} holds out {held:,} of {len(cells):,} {of}"
        raise InputError(f"{shares}: both parts need some, so give another share, or 0 for no validation.")
    return stratified(cells, (len(cells) - held, held), generator)
