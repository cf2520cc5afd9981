"""Metrics that share a result, by name, straight from their functions: also for rows that ``metrics`` refuses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from csad.auditing.metrics import classification, groups

Biases = Mapping[str, np.ndarray]


def recalls(predicted: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """``recall_0``, ``recall_1``, …"""
    return classification.recalls(classification.class_counts(predicted, y))


def cell_figures(predicted: np.ndarray, y: np.ndarray, biases: Biases) -> dict[str, float]:
    """``worst_group`` and ``unbiased``."""
    if (known := groups.groups_known(biases)) is None:
        return {}
    shares = groups.cell_shares(predicted, y, known)
    return {"worst_group": groups.worst_group(shares), "unbiased": groups.unbiased(shares)}


def conflict_figures(
    predicted: np.ndarray, y: np.ndarray, biases: Biases, cells: np.ndarray | None = None
) -> dict[str, float]:
    """``bias_conflicting``."""
    cells = groups.conflicting_cells(y, biases) if cells is None else cells
    value = groups.bias_conflicting(predicted, y, cells)
    return {} if value is None else {"bias_conflicting": value}


def attribute_figures(
    name: str, predicted: np.ndarray, y: np.ndarray, group: np.ndarray, classes: int
) -> dict[str, float]:
    """The metrics of one bias."""
    if (counts := groups.tally(predicted, y, group, classes)) is None:
        return {}
    gaps = groups.recall_gaps(counts)
    figures = {
        f"gap_{name}_rms": groups.gap_rms(gaps),
        f"gap_{name}_max": groups.gap_max(gaps),
        f"demographic_parity_{name}": groups.demographic_parity(counts),
        f"equal_opportunity_{name}": groups.equal_opportunity(counts),
        f"equalized_odds_{name}": groups.equalized_odds(counts),
    }
    return {figure: value for figure, value in figures.items() if value is not None}
