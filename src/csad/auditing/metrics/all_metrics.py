"""All metrics of a split at once, by name: what is kept after every training."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.metrics.classification import Labels, Probabilities
from csad.auditing.metrics.metric import METRICS
from csad.errors import InputError


def all_metrics(
    predicted: NDArray[Any],
    y: NDArray[Any],
    *,
    probabilities: Probabilities | None = None,
    biases: Mapping[str, NDArray[Any]] | None = None,
    conflicting: NDArray[Any] | None = None,
    wanted: Collection[str] | None = None,
    **more: Any,
) -> dict[str, float]:
    """All metrics of predicted classes by name; what cannot be computed is left out, so that none is NaN.

    Which metrics there are depends on y and the biases, never on the predictions.

    Args:
        predicted: class numbers (rows,).
        y: the true class numbers (rows,).
        probabilities: of each class (rows, classes). Two columns make it a task of two classes (see f1, ranking,
            equal_opportunity); without probabilities it is one if no label is above 1.
        biases: class numbers by the bias's name, −1 unknown. A bias of real numbers has no groups and is left out.
        conflicting: for a draw of rows, their cells against the bias as those of the whole split (see
            conflicting_cells).
        wanted: the names of the metrics that are computed, and no others.
        more: other arrays that metrics need, by the names in ``metric.METRIC_ARRAYS``.
    """
    predicted, y = _labels(predicted, "predicted"), _labels(y, "y")
    groups = {name: labels for name, labels in (biases or {}).items() if labels.dtype.kind in "iub"}
    _check_lengths({"y": y, "predicted": predicted, **groups}, probabilities)
    columns = 2 if probabilities is None else probabilities.shape[1]
    arrays = {
        "predicted": predicted,
        "y": y,
        "biases": groups,
        "classes": max(columns, int(y.max()) + 1, int(predicted.max()) + 1),
        **more,
    }
    if probabilities is not None and np.isfinite(probabilities).all():
        arrays["probabilities"] = probabilities
    if conflicting is not None:
        arrays["conflicting"] = conflicting
    return METRICS.compute(arrays, "classes", wanted)


def number_metrics(predicted: NDArray[Any], y: NDArray[Any], wanted: Collection[str] | None = None) -> dict[str, float]:
    """All metrics of predicted numbers by name.

    Args:
        predicted: numbers (rows,).
        y: the true numbers (rows,).
        wanted: the names of the metrics that are computed, and no others.
    """
    return METRICS.compute({"predicted": predicted, "y": y}, "number", wanted)


def _labels(values: NDArray[Any], name: str) -> Labels:
    """Class numbers as int64: products of bytes would wrap."""
    labels: Labels = values.astype(np.int64)
    if not len(labels) or labels.min() < 0:
        raise InputError("class-numbers-invalid", labels=name)
    return labels


def _check_lengths(labels: Mapping[str, NDArray[Any]], probabilities: Probabilities | None) -> None:
    if probabilities is not None:
        labels = {**labels, "probabilities": probabilities}
    lengths = {name: len(values) for name, values in labels.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError("row-counts-differ", counts=text)
