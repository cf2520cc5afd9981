"""Checks of data before training: what must hold of a data set, and which columns are proxies of a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad.data.augment import Pictures
from csad.data.pairs import known
from csad.data.samples import UNKNOWN, Classes, Dataset, Number, Samples, Task
from csad.errors import InputError


def check_trainable(dataset: Dataset, *, needs_bias: bool) -> None:
    """Raise InputError if the data cannot be trained on.

    Labels must fit the task in every split, and training needs two target classes. A method that
    ``needs_bias`` also needs two different known rows of b.
    """
    if "train" not in dataset.splits:
        raise InputError("train-split-missing", splits=", ".join(dataset.splits) or "none at all")
    task = dataset.task
    _check_columns(task)
    for split, samples in dataset.splits.items():
        _check_labels(task, split, samples)
    _check_targets(task.target, dataset.train.y)
    _check_moves(dataset)
    if needs_bias:
        _check_biases(task, dataset.train.b)


def _check_columns(task: Task) -> None:
    columns = len(task.biases)
    if len(task.bias_names) != columns:
        raise InputError("task-bias-names-mismatch", columns=columns, count=len(task.bias_names))
    widths = len(task.related.tolerance)
    if task.related.rule == "near_bias" and widths != columns:
        raise InputError("tolerance-count-mismatch", columns=columns, count=widths)


def _check_labels(task: Task, split: str, samples: Samples) -> None:
    if tuple(samples.x.shape[1:]) != tuple(task.shape):
        shapes = f"{tuple(samples.x.shape[1:])}, but the task has {tuple(task.shape)}"
        raise InputError("split-row-shape-mismatch", split=split, shapes=shapes)
    if samples.b.shape[1] != len(task.biases):
        columns = f"{samples.b.shape[1]} columns, but the task names {len(task.biases)}"
        raise InputError("bias-column-count-mismatch", split=split, columns=columns)
    _check_range(samples.y, task.target, f"y in '{split}'", lowest=0)
    for name, bias, column in zip(task.bias_names, task.biases, samples.b.T, strict=True):
        # Among floats only NaN is unknown: −1 would count as a class of its own.
        labels, lowest = (column[known(column)], 0) if column.is_floating_point() else (column, UNKNOWN)
        _check_range(labels, bias, f"bias '{name}' in '{split}'", lowest)


def _check_range(labels: Tensor, kind: Classes | Number, what: str, lowest: int) -> None:
    if isinstance(kind, Number):
        if not bool(torch.isfinite(labels).all()):
            raise InputError("labels-not-finite", labels=what)
        return
    wrong = (labels < lowest) | (labels >= kind.count) | (labels != labels.long())
    if bool(wrong.any()):
        span = f"0 … {kind.count - 1}" + (" (unknown: -1)" if lowest == UNKNOWN else "")
        raise InputError("label-class-out-of-range", labels=what, classes=span, value=labels[wrong][0].item())


def _check_moves(dataset: Dataset) -> None:
    """Raise InputError if pictures are moved by their own size or more: nothing of them would be left."""
    if isinstance(dataset.vary, Pictures) and dataset.vary.shift >= (size := min(dataset.task.shape[1:])):
        raise InputError("shift-larger-than-image", size=size, shift=dataset.vary.shift)


def _check_targets(target: Classes | Number, y: Tensor) -> None:
    if len(torch.unique(y)) > 1:
        return
    value = y[0].item()
    shown = target.names[int(value)] if isinstance(target, Classes) and target.names else value
    raise InputError("training-target-constant", value=shown)


def _check_biases(task: Task, b: Tensor) -> None:
    names = ", ".join(task.bias_names)
    whole = b[known(b).all(1)]
    if len(whole) == 0:
        raise InputError("no-known-bias-labels", names=names)
    if len(torch.unique(whole, dim=0)) < 2:
        raise InputError("bias-has-one-value", names=names)


SAME_RANKS = 0.99  # lower, because rounding makes many values equal
SAME = 0.999  # from this correlation on, two columns are one number in two units, such as age and year of birth


def class_proxies(x: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which columns of x (n, columns) vary, but not among rows of one label (n,); labels below 0 are unknown.

    No column is, if hardly a label appears twice: any column would fit.
    """
    known = labels >= 0
    rows, codes = x[known], labels[known]
    present = np.count_nonzero(np.bincount(codes, minlength=1))
    if present < 2 or present * 2 > len(codes):
        return np.zeros(x.shape[1], bool)
    example = np.zeros(int(codes.max()) + 1, np.int64)
    example[codes] = np.arange(len(codes))  # a row of each label
    proxies: NDArray[np.bool_] = (rows == rows[example[codes]]).all(0) & (rows != rows[0]).any(0)
    return proxies


def is_number_proxy(x: NDArray[Any], numbers: NDArray[Any]) -> bool:
    """Whether x (n,) and the numbers (n,), none of them NaN, differ only in unit and rounding.

    Ranks must agree, too: a few extreme values, such as -9999 for a missing one, make any two columns correlate.
    """
    if min(len(np.unique(x)), len(np.unique(numbers))) < 3:
        return False  # any two values lie on a line
    if abs(np.corrcoef(x, numbers)[0, 1]) < SAME:
        return False
    from scipy.stats import rankdata

    return bool(abs(np.corrcoef(rankdata(x), rankdata(numbers))[0, 1]) >= SAME_RANKS)
