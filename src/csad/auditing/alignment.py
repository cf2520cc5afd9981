"""Accuracy where a bias goes with the target as it did in training, and where it goes against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csad.auditing.audited import Facts, Labels, Outputs, Settings, Table
from csad.auditing.measured import Figure, intervals_of

SIDES = ("aligned", "conflicting", "difference")
TOO_FAR = 3.0  # standard deviations from what independence makes likely: such a cell is no accident


@dataclass(frozen=True)
class Alignment:
    """Accuracy on rows whose bias is commoner than chance beside their target, and on those where it is rarer."""

    bias: str
    aligned: Figure
    conflicting: Figure
    difference: Figure  # aligned − conflicting
    aligned_rows: int
    conflicting_rows: int


def by_alignment(outputs: Outputs, facts: Facts, settings: Settings) -> tuple[Alignment, ...]:
    """The two accuracies for each bias; none for one that goes with the target in no cell, or leaves no such rows."""
    right, found = outputs.said == facts.target.values, []
    for bias, side in sides(facts).items():
        figures = intervals_of(accuracies, (right, side), facts.same, settings)
        aligned, conflicting, difference = (figures[name] for name in SIDES)
        counts = [int(np.sum(side == sign)) for sign in (1, -1)]
        found.append(Alignment(bias, aligned, conflicting, difference, *counts))
    return tuple(found)


def sides(facts: Facts) -> dict[str, Table]:
    """By bias, 1 for each row that is aligned, −1 for each that is conflicting, else 0; only where there are both.

    Which cells are which is told by the training rows, where there are any: rows that are tested on are often made so
    that target and bias are independent.
    """
    if facts.target.number:
        return {}
    trained, their_biases = facts.trained or (facts.target, facts.biases)
    found = {}
    for bias, theirs in zip(facts.biases, their_biases, strict=True):
        cuts = theirs.cuts()
        kinds = leanings(trained, theirs.grouped(cuts))
        side = _side(kinds, facts.target.values, bias.grouped(cuts).values)
        if (side == 1).any() and (side == -1).any():
            found[bias.name] = side
    return found


def leanings(target: Labels, group: Labels) -> NDArray[np.int64]:
    """(targets, groups): 1 where a cell holds more rows than independence makes likely, −1 where fewer, else 0.

    By its adjusted residual (Haberman, 1973): (rows − expected) / √(expected · (1 − p_target)(1 − p_group)).
    """
    known = group.values >= 0
    y, g = target.values[known], group.values[known]
    shape = (len(target.names), len(group.names))
    rows = np.bincount(y * shape[1] + g, minlength=shape[0] * shape[1]).reshape(shape)
    total = max(1, rows.sum())
    share_y, share_g = rows.sum(1, keepdims=True) / total, rows.sum(0, keepdims=True) / total
    expected = total * share_y * share_g
    spread = np.sqrt(expected * (1 - share_y) * (1 - share_g))
    residual = np.divide(rows - expected, spread, out=np.zeros(shape), where=spread > 0)
    kinds: NDArray[np.int64] = (residual > TOO_FAR).astype(np.int64) - (residual < -TOO_FAR)
    return kinds


def _side(kinds: NDArray[np.int64], y: Table, group: Table) -> Table:
    """1, −1 or 0 for each row; 0 where its group is unknown, or its class was never trained on."""
    known = (group >= 0) & (y < len(kinds)) & (group < kinds.shape[1])
    return np.where(known, kinds[np.where(known, y, 0), np.where(known, group, 0)], 0)


def accuracies(right: Table, side: Table) -> dict[str, float]:
    """The accuracy on both sides and their difference; nothing where one has no row."""
    if not (side == 1).any() or not (side == -1).any():
        return {}
    aligned, conflicting = float(right[side == 1].mean()), float(right[side == -1].mean())
    return dict(zip(SIDES, (aligned, conflicting, aligned - conflicting), strict=True))
