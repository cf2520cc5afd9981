"""Data sets of a user's own arrays: labels become class numbers, and every cell is split alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.labels import encoded_biases, target_classes, usual_names
from csad.data.npz import member, read_npz
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task, local
from csad.data.splits import cells_of, check_fractions, draw_splits
from csad.data.validate import check_trainable
from csad.errors import InputError

Table = NDArray[Any]


def from_arrays(
    x: Any,
    y: Any,
    b: Any,
    *,
    name: str = "arrays",
    bias_names: Sequence[str] | None = None,
    related: Related | None = None,
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    test: Sequence[Any] | None = None,
    seed: int = 0,
) -> Dataset:
    """The data set of inputs x, targets y and bias labels b; labels are words or whole numbers.

    Args:
        x: Rows of a table (n, columns), series (n, channels, time) or images (n, channels, height, width): numbers on a
            common scale, or bytes of images.
        y: The targets (n,).
        b: The bias labels (n,) or (n, columns); −1, NaN, None and "" are unknown.
        name: The name of the task.
        bias_names: The names of the columns of b.
        related: Which rows share a bias; if None, those with equal bias labels.
        fractions: The shares of train, validation and test. Every combination of target and bias is drawn alike; a
            share of 0 leaves the split out.
        test: The test split as (x, y, b); the other rows are then divided between train and validation.
        seed: The seed of the draw.
    """
    check_fractions(fractions)
    if test is not None and len(test) != 3:
        raise InputError("test-not-three-arrays", count=len(test))
    parts = [_rows(x, y, b, "")] + ([_rows(test[0], test[1], test[2], "_test")] if test is not None else [])
    targets = np.concatenate([part[1] for part in parts])
    columns = _stack([part[2] for part in parts])
    names = _bias_names(bias_names, columns.shape[1])
    related = related or Related()
    labels, target_names = target_classes(targets)
    biases, kinds = encoded_biases(columns, names, related)

    splits = _splits(parts, labels, biases, fractions, seed)
    task = Task(
        name=name,
        shape=tuple(splits["train"].x.shape[1:]),
        target=Classes(len(target_names), target_names),
        biases=kinds,
        bias_names=names,
        related=related,
    )
    dataset = Dataset(task, splits)
    check_trainable(dataset, needs_bias=False)
    return dataset


def _splits(
    parts: Sequence[tuple[Table, Table, Table]],
    labels: NDArray[np.int64],
    biases: NDArray[np.int64],
    fractions: Sequence[float],
    seed: int,
) -> dict[str, Samples]:
    """The splits of the first part, and the second part as the test split, if there is one."""
    count = len(parts[0][0])
    rows = Samples(parts[0][0], labels[:count], biases[:count])
    if len(parts) > 1:
        fractions = (fractions[0], fractions[1], 0.0)
    drawn = draw_splits(cells_of(labels[:count], biases[:count]), None, fractions, seed)
    splits = {split: rows.rows(part) for split, part in drawn.items()}
    if len(parts) > 1:
        splits["test"] = Samples(parts[1][0], labels[count:], biases[count:])
    return splits


def from_npz(
    path: str | Path,
    *,
    bias_names: tuple[str, ...] = (),
    related: str = "same_bias",
    tolerance: tuple[float, ...] = (),
    fractions: tuple[float, ...] = (0.7, 0.1, 0.2),
    seed: int = 0,
) -> Dataset:
    """The data set of the arrays x, y and b in an .npz file; x_test, y_test and b_test, if present, are its test split.

    No code in the file is run: Python objects are refused.

    Args:
        path: The file.
        bias_names: As in ``from_arrays``.
        related: The rule for Ω by name, as in ``Related``.
        tolerance: For the rule "near_bias", the largest distance in each column of b.
        fractions: As in ``from_arrays``.
        seed: As in ``from_arrays``.
    """
    path = Path(path)
    arrays = read_npz(path)
    test = None
    if any(key in arrays for key in ("x_test", "y_test", "b_test")):
        test = tuple(member(arrays, key, path) for key in ("x_test", "y_test", "b_test"))
    x, y, b = (member(arrays, key, path) for key in ("x", "y", "b"))
    names = bias_names or None
    return from_arrays(
        x, y, b, name=path.stem, bias_names=names, related=Related(related, tolerance), fractions=fractions,
        test=test, seed=seed,
    )  # fmt: skip


def _rows(x: Any, y: Any, b: Any, suffix: str) -> tuple[Table, Table, Table]:
    try:
        x, y, b = (np.asarray(local(values)) for values in (x, y, b))
    except ValueError as error:
        raise InputError("ragged-arrays", suffix=suffix) from error
    if x.ndim < 2:
        raise InputError("x-needs-two-dimensions", suffix=suffix, shape=x.shape)
    b = b[:, None] if b.ndim == 1 else b
    for letter, values, axes in (("y", y, 1), ("b", b, 2)):
        if values.ndim != axes or len(values) != len(x) or 0 in values.shape[1:]:
            shape = f"({len(x)},)" if axes == 1 else f"({len(x)},) or ({len(x)}, columns)"
            raise InputError("array-shape-mismatch", array=letter, suffix=suffix, expected=shape, shape=values.shape)
    # As objects, so that NumPy cannot turn 1 into '1.0' when rows and test rows are joined.
    return x, y.astype(object), b.astype(object)


def _stack(tables: list[Table]) -> Table:
    if len({table.shape[1] for table in tables}) > 1:
        raise InputError("test-bias-columns-differ", columns=tables[0].shape[1], test_columns=tables[1].shape[1])
    return np.concatenate(tables)


def _bias_names(names: Sequence[str] | None, columns: int) -> tuple[str, ...]:
    if names is None:
        return usual_names(columns)
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(names) != columns:
        raise InputError("bias-names-parameter-mismatch", columns=columns, count=len(names), names=", ".join(names))
    return names
