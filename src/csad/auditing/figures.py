"""All figures of a split at once, by name: what is kept after every training."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.calibration import expected_calibration_error
from csad.auditing.conflicts import conflict_figures, recalls
from csad.auditing.groups import attribute_figures, cell_figures, groups_known
from csad.auditing.metrics import Labels, accuracy, balanced_accuracy, f1
from csad.auditing.ranking import Probabilities, auc_within, ranking
from csad.errors import InputError

OF_ATTRIBUTES = ("gap_", "demographic_parity_", "equal_opportunity_", "equalised_odds_")  # the attribute's name follows


def figures(
    predicted: NDArray[Any],
    y: NDArray[Any],
    *,
    probabilities: Probabilities | None = None,
    biases: Mapping[str, NDArray[Any]] | None = None,
    conflicting: NDArray[Any] | None = None,
    wanted: Collection[str] | None = None,
) -> dict[str, float]:
    """All figures by name; what cannot be computed is left out, so that none is NaN.

    Which there are is told by y and the attributes ``biases``, never by the predictions. In an attribute −1 is unknown;
    one of real numbers has no groups and is left out. Two columns of ``probabilities`` make it a task of two classes
    (see f1, ranking, equal_opportunity); without them that is so if no label is above 1. For a draw of rows,
    ``conflicting`` are their cells against the bias as those of the whole split are (see conflicting_cells). Where some
    figures are ``wanted``, time is spent on these alone, and on what comes with them.
    """
    predicted, y = _labels(predicted, "predicted"), _labels(y, "y")
    groups = {name: labels for name, labels in (biases or {}).items() if labels.dtype.kind in "iub"}
    _check_lengths({"y": y, "predicted": predicted, **groups}, probabilities)
    columns = 2 if probabilities is None else probabilities.shape[1]
    classes = max(columns, int(y.max()) + 1, int(predicted.max()) + 1)
    told = None if probabilities is None or not np.isfinite(probabilities).all() else probabilities
    # By the names of figures, or by how they begin, up to a "_".
    made: dict[tuple[str, ...], Callable[[], Mapping[str, float | None]]] = {
        ("accuracy",): lambda: {"accuracy": accuracy(predicted, y)},
        ("balanced_accuracy",): lambda: {"balanced_accuracy": balanced_accuracy(predicted, y)},
        ("recall_",): lambda: recalls(predicted, y),
        ("worst_group", "unbiased"): lambda: cell_figures(predicted, y, groups),
        ("bias_conflicting",): lambda: conflict_figures(predicted, y, groups, conflicting),
        ("auc", "ap"): lambda: _areas(told, y),
        ("auc_within",): lambda: {"auc_within": _within(told, y, groups)},
        ("ece",): lambda: {} if told is None else {"ece": expected_calibration_error(told, y)},
        ("f1",): lambda: {"f1": f1(predicted, y, classes)},
        OF_ATTRIBUTES: lambda: {
            figure: value
            for name, group in groups.items()
            for figure, value in attribute_figures(name, predicted, y, group, classes).items()
        },
    }
    chosen = [make for names, make in made.items() if wanted is None or any(_among(one, names) for one in wanted)]
    return {figure: value for make in chosen for figure, value in make().items() if value is not None}


def _among(figure: str, names: Collection[str]) -> bool:
    return any(figure == name or (name.endswith("_") and figure.startswith(name)) for name in names)


def _areas(probabilities: Probabilities | None, y: Labels) -> Mapping[str, float]:
    ranked = None if probabilities is None else ranking(probabilities, y)
    return {} if ranked is None else ranked._asdict()


def _within(probabilities: Probabilities | None, y: Labels, biases: Mapping[str, Labels]) -> float | None:
    known = None if probabilities is None else groups_known(biases)
    if probabilities is None or known is None:
        return None
    return auc_within(probabilities[known.rows], y[known.rows], known.group)


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
