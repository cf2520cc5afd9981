"""Combinations of labels as one whole number for each row, by counting where there are few: draws ask often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csad.auditing.metrics import Labels

ROOM = 4  # numbers per row up to which counting them all is quicker than sorting the rows


def dense(labels: Labels) -> Labels:
    """The labels, all 0 or more, numbered anew from 0 without gaps, in their order."""
    labels = labels.astype(np.int64, copy=False)
    most = int(labels.max(initial=0)) + 1
    if most > ROOM * len(labels) + ROOM:
        return np.unique(labels, return_inverse=True)[1]
    present = np.bincount(labels, minlength=most) > 0
    numbers: Labels = (np.cumsum(present) - 1)[labels]
    return numbers


def cells_of(columns: Sequence[Labels]) -> Labels:
    """The number of each row's combination of labels, all 0 or more: from 0 without gaps, in their order."""
    cell = dense(columns[0])
    for labels in columns[1:]:
        codes = dense(labels)
        # Numbered anew each time: cells that hold a row are few, however many columns there are.
        cell = dense(cell * (int(codes.max(initial=0)) + 1) + codes)
    return cell


def splitting(biases: Sequence[Labels]) -> list[Labels]:
    """The attributes of which two groups or more are known."""
    found = []
    for group in biases:
        known = group[group >= 0]
        if len(known) and known.min() < known.max():
            found.append(group)
    return found
