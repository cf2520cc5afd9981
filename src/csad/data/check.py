"""What must hold of a data set before anything is trained on it."""

from __future__ import annotations

import torch
from torch import Tensor

from csad.data.pairs import known
from csad.data.samples import UNKNOWN, Classes, Dataset, Number, Samples, Task
from csad.data.vary import Pictures
from csad.errors import InputError


def check_trainable(dataset: Dataset, *, needs_bias: bool) -> None:
    """Nothing, or one error that says what is wrong with the data.

    Labels must fit the task in every split, and training needs two target classes. A method that
    ``needs_bias`` also needs two different known rows of b: with a single one there is nothing to contrast.
    """
    if "train" not in dataset.splits:
        raise InputError(f"There is no split called 'train', only {', '.join(dataset.splits) or 'none at all'}.")
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
        raise InputError(f"There are {columns} bias columns but {len(task.bias_names)} names for them: give one each.")
    widths = len(task.related.tolerance)
    if task.related.rule == "near_bias" and widths != columns:
        raise InputError(f"near_bias needs one tolerance per bias column: {columns}, not {widths}.")


def _check_labels(task: Task, split: str, samples: Samples) -> None:
    if tuple(samples.x.shape[1:]) != tuple(task.shape):
        shapes = f"{tuple(samples.x.shape[1:])} where the task says {tuple(task.shape)}"
        raise InputError(f"A row of x in '{split}' has shape {shapes}.")
    if samples.b.shape[1] != len(task.biases):
        columns = f"{samples.b.shape[1]} columns where the task names {len(task.biases)}"
        raise InputError(f"b in '{split}' has {columns}.")
    _check_range(samples.y, task.target, f"y in '{split}'", lowest=0)
    for name, bias, column in zip(task.bias_names, task.biases, samples.b.T, strict=True):
        # Among floats only NaN is unknown: a −1 there would count as a class of its own.
        labels, lowest = (column[known(column)], 0) if column.is_floating_point() else (column, UNKNOWN)
        _check_range(labels, bias, f"bias '{name}' in '{split}'", lowest)


def _check_range(labels: Tensor, kind: Classes | Number, what: str, lowest: int) -> None:
    if isinstance(kind, Number):
        if not bool(torch.isfinite(labels).all()):
            raise InputError(f"{what} holds NaN or infinity: fill in or drop such rows.")
        return
    wrong = (labels < lowest) | (labels >= kind.count) | (labels != labels.long())
    if bool(wrong.any()):
        span = f"0 … {kind.count - 1}" + (" (unknown: -1)" if lowest == UNKNOWN else "")
        raise InputError(f"{what} must be a class {span}, but {labels[wrong][0].item()} is there.")


def _check_moves(dataset: Dataset) -> None:
    """A picture that is moved by its own size or more shows nothing of itself."""
    if isinstance(dataset.vary, Pictures) and dataset.vary.shift >= (size := min(dataset.task.shape[1:])):
        raise InputError(f"shift must be less than the {size} pixels of a side, not {dataset.vary.shift}: give less.")


def _check_targets(target: Classes | Number, y: Tensor) -> None:
    if len(torch.unique(y)) > 1:
        return
    value = y[0].item()
    shown = target.names[int(value)] if isinstance(target, Classes) and target.names else value
    raise InputError(f"Every training row has the target '{shown}': two classes or more are needed to learn from.")


def _check_biases(task: Task, b: Tensor) -> None:
    names = ", ".join(task.bias_names)
    whole = b[known(b).all(1)]
    if len(whole) == 0:
        raise InputError(f"No training row has all its bias labels known ({names}): this method needs them in b.")
    if len(torch.unique(whole, dim=0)) < 2:
        raise InputError(f"The bias ({names}) has only one value in the training rows: there is nothing to contrast.")
