"""Outputs of a model and the targets in one numbering of classes: what an array is, y tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from csad.auditing.audited import Labels, Outputs, Table
from csad.deploy.decision import decided
from csad.deploy.model import softmax
from csad.errors import InputError
from csad.experiments.audits.labels import is_number, kinds_of, target_of
from csad.experiments.audits.model import Given

SUMS_TO_ONE = 1e-3  # what rounding may make of probabilities


def target_and_outputs(given: Given, y: Table) -> tuple[Labels, Outputs | None, Table | None]:
    """The target, what the model says of it, and its output where that is neither classes nor a number: a layer."""
    layer = None
    if given.number or (is_number(y) and given.kinds is None and given.probabilities is None):
        target = Labels("target", _numbers(y, "y"))
        said = given.said if given.said is not None else given.raw
        if said is None or said.size == len(said):
            return target, None if said is None else Outputs(_numbers(said.reshape(len(said)), "The prediction")), None
        return target, None, said
    if given.raw is not None:
        given, layer = _told(given, y)
    if given.probabilities is not None:
        return (*_of_probabilities(given, y), layer)
    if given.said is None:
        return target_of(y, given.kinds), None, layer
    if given.said.ndim != 1 or len(given.said) != len(y):
        raise InputError(f"Predictions must be one for each of the {len(y)} rows, not of the shape {given.said.shape}.")
    # Classes that are predicted and never true are classes, too.
    joined = target_of(np.concatenate([y.astype(object), given.said.astype(object)]), given.kinds)
    target = replace(joined, values=joined.values[: len(y)])
    return target, Outputs(joined.values[len(y) :]), layer


def _told(given: Given, y: Table) -> tuple[Given, Table | None]:
    """The raw output as classes or probabilities; or as a layer of features, where it is neither."""
    raw = given.raw
    assert raw is not None
    raw = raw[:, 0] if raw.ndim == 2 and raw.shape[1] == 1 else raw
    counts = {len(kinds_of(np.unique(y)))}
    if y.dtype.kind in "iu":
        counts.add(int(y.max()) + 1)  # the last class numbers may be in no row
    if raw.ndim == 1:
        if raw.dtype.kind != "f" or (not (raw % 1).any() and len(np.unique(raw)) <= max(counts)):
            return replace(given, raw=None, said=raw), None
        if max(counts) == 2 and (given.scores or (raw.min() >= 0 and raw.max() <= 1)):
            yes = raw if raw.min() >= 0 and raw.max() <= 1 else 1 / (1 + np.exp(-np.clip(raw, -50, 50)))
            return replace(given, raw=None, probabilities=np.stack([1 - yes, yes], axis=1)), None
    if raw.ndim == 2 and raw.dtype.kind == "f" and raw.shape[1] in counts:
        if raw.min() >= 0 and np.abs(raw.sum(1) - 1).max() < SUMS_TO_ONE:
            return replace(given, raw=None, probabilities=raw), None
        if given.scores:
            return replace(given, raw=None, probabilities=softmax(raw)), None
    return replace(given, raw=None), raw


def _of_probabilities(given: Given, y: Table) -> tuple[Labels, Outputs]:
    probabilities = given.probabilities
    assert probabilities is not None
    if probabilities.ndim != 2 or len(probabilities) != len(y) or probabilities.shape[1] < 2:
        wanted = f"({len(y)}, classes)"
        raise InputError(f"Probabilities must have the shape {wanted}, not {probabilities.shape}.")
    if probabilities.min() < 0 or np.abs(probabilities.sum(1) - 1).max() > SUMS_TO_ONE:
        raise InputError("Probabilities must be 0 or more and sum to 1 in each row.")
    kinds, count = given.kinds, probabilities.shape[1]
    if kinds is None:
        found = kinds_of(np.unique(y))
        by_number = y.dtype.kind in "iub" and int(y.min()) >= 0 and int(y.max()) < count
        if not by_number and len(found) != count:
            raise InputError(
                f"Probabilities are of {count} classes, but y holds {len(found)}: give one column for each."
            )
        kinds = tuple(map(str, range(count))) if y.dtype.kind in "iu" and by_number else found
    target = target_of(y, kinds, by_number=given.by_number)
    said = decided(probabilities, given.threshold)
    if given.said is not None:  # of its own: a rule other than the greatest probability
        said = target_of(given.said, target.names, by_number=given.by_number).values
    return target, Outputs(said, probabilities)


def renumbered(outputs: Outputs | None, theirs: Labels, ours: Labels) -> Outputs | None:
    """Outputs of a model that numbers the classes as ``theirs``, with the numbers of ``ours``."""
    if theirs.number != ours.number:
        raise InputError("The two models must both predict classes, or both a number.")
    if outputs is None or theirs.names == ours.names:
        return outputs
    every = (*ours.names, *(name for name in theirs.names if name not in ours.names))
    place = np.array([every.index(name) for name in theirs.names])
    if outputs.probabilities is None:
        return Outputs(place[outputs.said])
    probabilities = np.zeros((len(outputs.said), len(every)))
    probabilities[:, place[: outputs.probabilities.shape[1]]] = outputs.probabilities
    return Outputs(place[outputs.said], probabilities)


def _numbers(values: Table, what: str) -> Table:
    if values.dtype.kind not in "fiub" or not np.isfinite(values.astype(np.float64)).all():
        raise InputError(f"{what} must hold numbers, all of them known, since the model predicts a number.")
    return values.astype(np.float64)
