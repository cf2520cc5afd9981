"""``csad.audit``: does a model leak a bias, and whom does it predict well? Any model, on any rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from csad.auditing.audit import Audit, audit_arrays
from csad.auditing.inputs import AuditedModel, AuditRows, AuditSettings, LabelColumn, ModelOutputs
from csad.auditing.leakage.bias_column import Integers
from csad.auditing.leakage.leakage import MOST_PROBED
from csad.auditing.leakage.probes import PROBES
from csad.auditing.metrics.intervals import AnyArray
from csad.auditing.model_inputs import RawOutputs, biases_of, collect_outputs, column_of, is_number, kinds_of, target_of
from csad.data.samples import local
from csad.deploy.decision import decided
from csad.deploy.model import softmax
from csad.errors import InputError
from csad.messages import message

SUMS_TO_ONE = 1e-3  # what rounding may make of probabilities


def target_and_outputs(
    raw_outputs: RawOutputs, y: AnyArray
) -> tuple[LabelColumn, ModelOutputs | None, AnyArray | None]:
    """The target, the predictions, and the output as a layer of features if it is neither classes nor a number."""
    layer = None
    if raw_outputs.number or (is_number(y) and raw_outputs.kinds is None and raw_outputs.probabilities is None):
        target = LabelColumn("target", _numbers(y, "y"))
        predicted = raw_outputs.predicted if raw_outputs.predicted is not None else raw_outputs.raw
        if predicted is None or predicted.size == len(predicted):
            if predicted is None:
                return target, None, None
            return target, ModelOutputs(_numbers(predicted.reshape(len(predicted)), "The prediction")), None
        return target, None, predicted
    if raw_outputs.raw is not None:
        raw_outputs, layer = _interpret(raw_outputs, y)
    if raw_outputs.probabilities is not None:
        return (*_of_probabilities(raw_outputs, y), layer)
    if raw_outputs.predicted is None:
        return target_of(y, raw_outputs.kinds), None, layer
    if raw_outputs.predicted.ndim != 1 or len(raw_outputs.predicted) != len(y):
        raise InputError("predictions-shape-mismatch", rows=len(y), shape=raw_outputs.predicted.shape)
    # Classes that are predicted and never true are classes, too.
    joined = target_of(np.concatenate([y.astype(object), raw_outputs.predicted.astype(object)]), raw_outputs.kinds)
    target = replace(joined, values=joined.values[: len(y)])
    return target, ModelOutputs(joined.values[len(y) :]), layer


def _interpret(raw_outputs: RawOutputs, y: AnyArray) -> tuple[RawOutputs, AnyArray | None]:
    """The raw output as classes or probabilities; or as a layer of features, if it is neither."""
    raw = raw_outputs.raw
    assert raw is not None
    raw = raw[:, 0] if raw.ndim == 2 and raw.shape[1] == 1 else raw
    counts = {len(kinds_of(np.unique(y)))}
    if y.dtype.kind in "iu":
        counts.add(int(y.max()) + 1)  # the last class numbers may be in no row
    if raw.ndim == 1:
        if raw.dtype.kind != "f" or (not (raw % 1).any() and len(np.unique(raw)) <= max(counts)):
            return replace(raw_outputs, raw=None, predicted=raw), None
        if max(counts) == 2 and (raw_outputs.scores or (raw.min() >= 0 and raw.max() <= 1)):
            yes = raw if raw.min() >= 0 and raw.max() <= 1 else 1 / (1 + np.exp(-np.clip(raw, -50, 50)))
            return replace(raw_outputs, raw=None, probabilities=np.stack([1 - yes, yes], axis=1)), None
    if raw.ndim == 2 and raw.dtype.kind == "f" and raw.shape[1] in counts:
        if raw.min() >= 0 and np.abs(raw.sum(1) - 1).max() < SUMS_TO_ONE:
            return replace(raw_outputs, raw=None, probabilities=raw), None
        if raw_outputs.scores:
            return replace(raw_outputs, raw=None, probabilities=softmax(raw)), None
    return replace(raw_outputs, raw=None), raw


def _of_probabilities(raw_outputs: RawOutputs, y: AnyArray) -> tuple[LabelColumn, ModelOutputs]:
    probabilities = raw_outputs.probabilities
    assert probabilities is not None
    if probabilities.ndim != 2 or len(probabilities) != len(y) or probabilities.shape[1] < 2:
        shape = f"({len(y)}, classes)"
        raise InputError("probabilities-shape-mismatch", expected=shape, shape=probabilities.shape)
    if probabilities.min() < 0 or np.abs(probabilities.sum(1) - 1).max() > SUMS_TO_ONE:
        raise InputError("probabilities-not-normalized")
    kinds, count = raw_outputs.kinds, probabilities.shape[1]
    if kinds is None:
        names = kinds_of(np.unique(y))
        by_number = y.dtype.kind in "iub" and int(y.min()) >= 0 and int(y.max()) < count
        if not by_number and len(names) != count:
            raise InputError("probability-columns-mismatch", columns=count, classes=len(names))
        kinds = tuple(map(str, range(count))) if y.dtype.kind in "iu" and by_number else names
    target = target_of(y, kinds, by_number=raw_outputs.by_number)
    predicted = decided(probabilities, raw_outputs.threshold)
    if raw_outputs.predicted is not None:  # by a rule of the model other than the greatest probability
        predicted = target_of(raw_outputs.predicted, target.names, by_number=raw_outputs.by_number).values
    return target, ModelOutputs(predicted, probabilities)


def renumbered(outputs: ModelOutputs | None, theirs: LabelColumn, ours: LabelColumn) -> ModelOutputs | None:
    """Outputs of a model that numbers the classes as ``theirs``, with the numbers of ``ours``."""
    if theirs.number != ours.number:
        raise InputError("models-predict-different-kinds")
    if outputs is None or theirs.names == ours.names:
        return outputs
    every = (*ours.names, *(name for name in theirs.names if name not in ours.names))
    place = np.array([every.index(name) for name in theirs.names])
    if outputs.probabilities is None:
        return ModelOutputs(place[outputs.predicted])
    probabilities = np.zeros((len(outputs.predicted), len(every)))
    probabilities[:, place[: outputs.probabilities.shape[1]]] = outputs.probabilities
    return ModelOutputs(place[outputs.predicted], probabilities)


def _numbers(values: AnyArray, what: str) -> AnyArray:
    if values.dtype.kind not in "fiub" or not np.isfinite(values.astype(np.float64)).all():
        raise InputError("regression-values-invalid", values=what)
    return values.astype(np.float64)


def audit(
    model: Any,
    X: Any,
    y: Any,
    b: Any,
    *,
    names: Sequence[str] | None = None,
    numbers: Sequence[str] = (),
    same: Any = None,
    trained: tuple[Any, Any] | None = None,
    against: Any = None,
    among: str = "target",
    probes: Sequence[str] = tuple(PROBES),
    margin: float = 0.05,
    level: float = 0.95,
    most_rows: int = MOST_PROBED,
    repeats: int = 500,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """Audit a model: what it leaks of the biases b, and what it gets right for whom, on rows X with targets y.

    Args:
        model: a run, a trained estimator, a torch module, a function of X, or arrays of predictions, probabilities or
            features (X may then be None); a dict names arrays: prediction, probabilities, any other name for features.
        X: the inputs, rows first.
        y: the targets: classes, or numbers.
        b: one bias column or several; −1, NaN, None or "" is unknown.
        names: the names of the bias columns.
        numbers: the bias columns that are numbers though they are whole; real numbers are numbers anyway.
        same: rows alike in it are of one person.
        trained: (y, b) of the training rows: they tell with which cells the bias goes.
        against: another model, audited on the same rows and compared.
        among: "target": rows are compared with those of the same target; "all": with one another.
        probes: the names of the probes: linear, mlp, neighbors.
        margin: the AUC above chance that must not be overlooked.
        level: how sure verdicts and intervals are.
        most_rows: how many rows the probes see at most.
        repeats: how many draws of rows the intervals of metrics take.
        seed: the seed of all that is drawn.
        tell: called with a line of progress.

    Returns:
        The audit; as text it is the verdict.
    """
    settings = AuditSettings(among, probes, margin, level, most_rows, repeats, seed)
    targets = column_of(y, "y")
    rows = len(targets)
    biases, trained_biases = biases_of(b, rows, names, numbers, None if trained is None else trained[1])
    persons = None if same is None else _persons(column_of(same, "same"), rows)
    target, outputs, layers = _describe(model, X, targets)
    facts = AuditRows(target, biases, persons)
    if trained is not None:
        facts = replace(facts, trained=(_trained_target(trained, target, trained_biases), trained_biases))
    probed = facts.probed(settings)
    audited = AuditedModel(outputs, _x(X, probed, rows) | layers(probed), probed, _x_note(X))
    other = None
    if against is not None:
        other_target, other_outputs, other_layers = _describe(against, X, targets)
        other_outputs = renumbered(other_outputs, other_target, target)
        other = ("the other model", AuditedModel(other_outputs, other_layers(probed), probed))
    return audit_arrays(audited, facts, settings, against=other, tell=tell)


def _describe(
    model: Any, X: Any, y: AnyArray
) -> tuple[LabelColumn, ModelOutputs | None, Callable[[Integers], dict[str, AnyArray]]]:
    """The target as the model numbers its classes, the predictions, and a function that gives its layers for rows."""
    raw_outputs = collect_outputs(model, X)
    for values in (raw_outputs.predicted, raw_outputs.probabilities, raw_outputs.raw):
        if values is not None and len(values) != len(y):
            raise InputError("model-output-rows-differ", target_rows=len(y), output_rows=len(values))
    target, outputs, raw = target_and_outputs(raw_outputs, y)

    def layers(rows: Integers) -> dict[str, AnyArray]:
        features = raw_outputs.layers(rows)
        return features if raw is None else features | {"features": raw[rows]}

    return target, outputs, layers


def _persons(column: AnyArray, rows: int) -> AnyArray:
    if len(column) != rows:
        raise InputError("group-labels-count", rows=rows, found=len(column))
    return np.unique(column, return_inverse=True)[1]


def _trained_target(trained: tuple[Any, Any], target: LabelColumn, biases: tuple[LabelColumn, ...]) -> LabelColumn:
    y = column_of(trained[0], "The trained y")
    if len(y) != len(biases[0].values):
        raise InputError("trained-rows-differ", target_rows=len(y), bias_rows=len(biases[0].values))
    return LabelColumn("target", y.astype(np.float64)) if target.number else target_of(y, target.names, by_number=True)


def _x(X: Any, rows: Integers, count: int) -> dict[str, AnyArray]:
    """X as a layer of its own, if it is numbers."""
    values = _readable(X)
    if values is None:
        return {}
    if len(values) != count:
        raise InputError("x-y-rows-differ", target_rows=count, x_rows=len(values))
    return {"x": values[rows]}


def _x_note(X: Any) -> tuple[str, ...]:
    if X is None or _readable(X) is not None:
        return ()
    return (message("x-not-probed"),)


def _readable(X: Any) -> AnyArray | None:
    if X is None or isinstance(X, Mapping):
        return None
    values = np.asarray(local(X.toarray() if hasattr(X, "toarray") else X))
    is_numeric = values.dtype.kind in "iub" or (values.dtype.kind == "f" and bool(np.isfinite(values).all()))
    return values if is_numeric else None
