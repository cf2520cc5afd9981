"""The user's own arrays as a data set: labels become class numbers, every cell is split alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.check import check_trainable
from csad.data.labels import encoded_biases, target_classes, usual_names
from csad.data.npz import member, read_npz
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task, local
from csad.data.split import cells_of, check_fractions, drawn_parts
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
    """A data set of x (n, …), y (n,) and b (n,) or (n, columns), whose labels are words or whole numbers.

    x are rows of a table (n, columns), series (n, channels, time) or images (n, channels, height, width), as numbers on
    a common scale, or bytes of images. In b, −1, NaN, None and "" are unknown; ``bias_names`` name its columns.
    ``related`` says which rows share a bias, those with equal labels if not given. ``fractions`` are the shares of
    train, validation and test, drawn by ``seed`` from each combination of target and bias alike; 0 leaves a split out.
    With ``test`` = (x, y, b) the rows given first are divided between the other two.
    """
    check_fractions(fractions)
    if test is not None and len(test) != 3:
        raise InputError(f"test must be (x, y, b), three arrays, not {len(test)}.")
    parts = [_rows(x, y, b, "")] + ([_rows(test[0], test[1], test[2], "_test")] if test is not None else [])
    targets = np.concatenate([part[1] for part in parts])
    columns = _stack([part[2] for part in parts])
    names = _bias_names(bias_names, columns.shape[1])
    related = related or Related()
    labels, target_names = target_classes(targets)
    biases, kinds = encoded_biases(columns, names, related)

    given = len(parts[0][0])
    rows = Samples(parts[0][0], labels[:given], biases[:given])
    if test is not None:
        fractions = (fractions[0], fractions[1], 0.0)
    parts_drawn = drawn_parts(cells_of(labels[:given], biases[:given]), None, fractions, seed)
    splits = {split: rows.rows(part) for split, part in parts_drawn.items()}
    if test is not None:
        splits["test"] = Samples(parts[1][0], labels[given:], biases[given:])
    task = Task(
        name=name,
        shape=tuple(rows.x.shape[1:]),
        target=Classes(len(target_names), target_names),
        biases=kinds,
        bias_names=names,
        related=related,
    )
    dataset = Dataset(task, splits)
    check_trainable(dataset, needs_bias=False)
    return dataset


def from_npz(
    path: str | Path,
    *,
    bias_names: tuple[str, ...] = (),
    related: str = "same_bias",
    tolerance: tuple[float, ...] = (),
    fractions: tuple[float, ...] = (0.7, 0.1, 0.2),
    seed: int = 0,
) -> Dataset:
    """The data set of an .npz file's x, y and b; x_test, y_test and b_test, if present, are its test split.

    Settings are those of ``from_arrays``, Ω as plain words. Nothing in the file is run: Python objects are refused.
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
        raise InputError(f"x{suffix}, y{suffix} and b{suffix} must be arrays whose rows are of one length.") from error
    if x.ndim < 2:
        raise InputError(f"x{suffix} must have rows and columns, or more, not shape {x.shape}: use x.reshape(-1, 1).")
    b = b[:, None] if b.ndim == 1 else b
    for letter, values, axes in (("y", y, 1), ("b", b, 2)):
        if values.ndim != axes or len(values) != len(x) or 0 in values.shape[1:]:
            wanted = f"({len(x)},)" if axes == 1 else f"({len(x)},) or ({len(x)}, columns)"
            raise InputError(f"{letter}{suffix} must have shape {wanted}, one row per row of x, not {values.shape}.")
    # As objects, so that NumPy cannot turn 1 into '1.0' where rows and test rows are joined.
    return x, y.astype(object), b.astype(object)


def _stack(tables: list[Table]) -> Table:
    if len({table.shape[1] for table in tables}) > 1:
        raise InputError(f"b has {tables[0].shape[1]} columns but b_test has {tables[1].shape[1]}.")
    return np.concatenate(tables)


def _bias_names(names: Sequence[str] | None, columns: int) -> tuple[str, ...]:
    if names is None:
        return usual_names(columns)
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(names) != columns:
        raise InputError(f"b has {columns} columns but {len(names)} bias_names: {', '.join(names)}.")
    return names
