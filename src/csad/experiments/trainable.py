"""What must hold of data and settings together before a folder is made, or an old run removed, for a training."""

from __future__ import annotations

import torch

from csad.data.check import check_trainable
from csad.data.order import balanced_over, epoch_order
from csad.data.samples import Dataset
from csad.experiments.selection import check_selectable
from csad.methods.method import Method


def check_ready(dataset: Dataset, method: Method) -> None:
    """Nothing, or one input error that says what is wrong with the data, or with mini-batches of them."""
    check_trainable(dataset, needs_bias=method.needs_bias)
    check_selectable(dataset, method)
    course, rows = method.course, dataset.train
    balance = balanced_over(course.balance, rows.y, rows.b)
    size = min(course.batch_size, len(rows))
    epoch_order(len(rows), size, torch.Generator(), partial=course.partial, balance=balance)  # where it cannot be made
