"""All figures of a split at once, by name: what is kept after every training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.calibration import expected_calibration_error
from csad.auditing.conflicts import conflict_figures, recalls
from csad.auditing.groups import attribute_figures, cell_figures, groups_known
from csad.auditing.metrics import Labels, accuracy, balanced_accuracy, f1
from csad.auditing.ranking import Probabilities, auc_within, ranking
from csad.errors import InputError

OF_PROBABILITIES = {"auc", "ap", "auc_within", "ece"}  # the figures that predictions alone do not give


def figures(
    predicted: NDArray[Any],
    y: NDArray[Any],
    *,
    probabilities: Probabilities | None = None,
    biases: Mapping[str, NDArray[Any]] | None = None,
    conflicting: NDArray[Any] | None = None,
) -> dict[str, float]:
    """All figures by name; what cannot be computed is left out, so that none is NaN.

    Which there are is told by y and the attributes ``biases``, never by the predictions. In an attribute −1 is unknown;
    one of real numbers has no groups and is left out. Two columns of ``probabilities`` make it a task of two classes
    (see f1, ranking, equal_opportunity); without them that is so if no label is above 1. For a draw of rows,
    ``conflicting`` are their cells against the bias as those of the whole split are (see conflicting_cells).
    """
    predicted, y = _labels(predicted, "predicted"), _labels(y, "y")
    groups = {name: labels for name, labels in (biases or {}).items() if labels.dtype.kind in "iub"}
    _check_lengths({"y": y, "predicted": predicted, **groups}, probabilities)
    columns = 2 if probabilities is None else probabilities.shape[1]
    classes = max(columns, int(y.max()) + 1, int(predicted.max()) + 1)
    found = {"accuracy": accuracy(predicted, y), "balanced_accuracy": balanced_accuracy(predicted, y)}
    found |= recalls(predicted, y) | cell_figures(predicted, y, groups)
    found |= conflict_figures(predicted, y, groups, conflicting)
    found |= _of_probabilities(probabilities, y, groups)
    if (score := f1(predicted, y, classes)) is not None:
        found["f1"] = score
    for name, group in groups.items():
        found |= attribute_figures(name, predicted, y, group, classes)
    return found


def _of_probabilities(probabilities: Probabilities | None, y: Labels, biases: Mapping[str, Labels]) -> dict[str, float]:
    if probabilities is None or not np.isfinite(probabilities).all():
        return {}
    ranked = ranking(probabilities, y)
    areas = {} if ranked is None else {"auc": ranked.auc, "ap": ranked.ap}
    if (known := groups_known(biases)) is not None:
        within = auc_within(probabilities[known.rows], y[known.rows], known.group)
        areas |= {} if within is None else {"auc_within": within}
    return areas | {"ece": expected_calibration_error(probabilities, y)}


def _labels(values: NDArray[Any], name: str) -> Labels:
    """Class numbers as int64: products of bytes would wrap."""
    labels: Labels = values.astype(np.int64)
    if not len(labels) or labels.min() < 0:
        raise InputError(f"{name} must hold class numbers, 0 or more, for one row at least.")
    return labels


def _check_lengths(labels: Mapping[str, NDArray[Any]], probabilities: Probabilities | None) -> None:
    if probabilities is not None:
        labels = {**labels, "probabilities": probabilities}
    lengths = {name: len(values) for name, values in labels.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"All must have the same rows, not {told}.")
