"""The inputs of ``csad.audit`` as arrays: targets, bias labels, and the outputs of any kind of model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from csad.auditing.inputs import LabelColumn
from csad.auditing.leakage.bias_column import Integers
from csad.auditing.metrics.intervals import AnyArray
from csad.data.chunks import rows_at_a_time
from csad.data.labels import bias_classes, bias_table, target_classes
from csad.data.samples import Classes, local, to_tensor
from csad.deploy.decision import HALF
from csad.errors import InputError
from csad.methods.method import Method
from csad.runs.run import Run

MOST_CLASSES = 20  # real numbers of more values than this are a number, even where all are whole


def column_of(values: Any, name: str) -> AnyArray:
    """One label for each row, as an array."""
    column = np.asarray(local(values))
    column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    if column.ndim != 1 or not len(column):
        raise InputError("labels-not-one-column", labels=name, shape=column.shape)
    return column


def is_number(column: AnyArray) -> bool:
    """Whether labels are real numbers: some are no whole numbers, or there are too many for classes."""
    values = [value for value in column.tolist() if value is not None and value == value]
    if not any(isinstance(value, float) for value in values) or any(isinstance(value, str) for value in values):
        return False
    return any(float(value) % 1 for value in values) or len(set(values)) > MOST_CLASSES


def target_of(column: AnyArray, kinds: Sequence[str] | None, *, by_number: bool = False) -> LabelColumn:
    """The target as class numbers in the order of ``kinds``, the model's own classes; others come after these.

    ``by_number``: labels that are none of the kinds may be their numbers.
    """
    codes, names = target_classes(column.astype(object))
    if kinds is None:
        return LabelColumn("target", codes, names)
    if by_number and not set(names) <= set(kinds):
        known = {str(number) for number in range(len(kinds))}
        if set(names) <= known:
            return LabelColumn("target", np.array([int(name) for name in names])[codes], tuple(kinds))
    if not set(names) & set(kinds):
        raise InputError("target-classes-unknown", found=_few(names), known=_few(kinds))
    every = (*kinds, *(name for name in names if name not in kinds))
    return LabelColumn("target", np.array([every.index(name) for name in names])[codes], every)


def kinds_of(classes: Any) -> tuple[str, ...]:
    """The names of a model's classes, in its own order."""
    codes, names = target_classes(np.asarray(classes).astype(object))
    return tuple(names[code] for code in codes)


def biases_of(
    b: Any, rows: int, names: Sequence[str] | None, numbers: Sequence[str], trained: Any = None
) -> tuple[tuple[LabelColumn, ...], tuple[LabelColumn, ...]]:
    """The bias columns of the rows, and of the rows trained on where these are given; classes are numbered alike.

    b is one column, several, a data frame, or a mapping from name to column.
    """
    table, columns = _columns(b, rows, names)
    for number in numbers:
        if number not in columns:
            raise InputError("numbers-not-a-bias", column=number, known=", ".join(columns))
    before = table[:0]
    if trained is not None:
        before, theirs = _columns(trained, None, names)
        if before.shape[1] != table.shape[1] or (names is None and set(theirs) != set(columns)):
            raise InputError("audit-biases-differ", trained=", ".join(theirs), found=", ".join(columns))
        before = before[:, [theirs.index(name) for name in columns]]
    joined = np.concatenate([table, before])
    labels = [_labels(joined[:, k], name, name in numbers) for k, name in enumerate(columns)]
    parts = [
        [LabelColumn(column.name, column.values[part], column.names) for column in labels]
        for part in (slice(rows), slice(rows, None))
    ]
    return tuple(parts[0]), tuple(parts[1])


def _columns(b: Any, rows: int | None, names: Sequence[str] | None) -> tuple[AnyArray, tuple[str, ...]]:
    if isinstance(b, Mapping):
        names, b = tuple(map(str, b)), _side_by_side(b)
    table, columns = bias_table(b, len(b) if rows is None else rows)
    if names is None:
        return table, columns
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(names) != table.shape[1] or len(set(names)) < len(names):
        raise InputError("audit-bias-names-mismatch", columns=table.shape[1], names=", ".join(names))
    return table, names


def _side_by_side(columns: Mapping[Any, Any]) -> AnyArray:
    arrays = [column_of(values, f"The bias {name}").astype(object) for name, values in columns.items()]
    if not arrays or len({len(array) for array in arrays}) > 1:
        raise InputError("bias-columns-unequal")
    return np.stack(arrays, axis=1)


def _labels(column: AnyArray, name: str, number: bool) -> LabelColumn:
    if not number and not is_number(column):
        return LabelColumn(name, *bias_classes(column, name))
    try:
        values = np.array([np.nan if value is None or value == "" else float(value) for value in column])
    except ValueError as error:
        raise InputError("bias-not-numeric", bias=name, reason=error) from error
    return LabelColumn(name, np.where(np.isfinite(values), values, np.nan))


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


Layers = Callable[[Integers], dict[str, AnyArray]]


@dataclass(frozen=True)
class RawOutputs:
    """The outputs of a model, before its classes are numbered as those of y.

    Only y can tell what ``raw`` is; ``scores``: it may be logits. ``layers`` gives features of chosen rows.
    """

    predicted: AnyArray | None = None
    probabilities: AnyArray | None = None
    threshold: float = HALF  # of two classes, the probability above which the second is predicted
    raw: AnyArray | None = None
    scores: bool = False
    kinds: tuple[str, ...] | None = None
    number: bool = False  # whether a number is predicted
    by_number: bool = False  # whether y may hold the classes' numbers instead of their names
    layers: Layers = field(default=lambda _: {})


def collect_outputs(model: Any, X: Any) -> RawOutputs:
    """The outputs of the model for X; of arrays, the arrays themselves, and X may be None."""
    if isinstance(model, Mapping):
        return _named(model)
    if isinstance(local(model), np.ndarray | list | tuple) or hasattr(model, "to_numpy"):
        return RawOutputs(raw=_array(model))
    if X is None:
        raise InputError("audit-needs-x")
    if isinstance(model, Run):
        return run_outputs(model, X)
    if isinstance(model, type):
        raise InputError("model-is-class", kind=model.__name__)
    if isinstance(model, nn.Module):
        return _of_output(_through(model, X))
    if hasattr(model, "predict"):
        return _of_estimator(model, X)
    if callable(model):
        return _of_output(model(X))
    raise InputError("model-not-auditable", kind=type(model).__name__)


def run_outputs(run: Run, x: Any) -> RawOutputs:
    """The outputs of a run: probabilities or numbers, h and h_y; x is an array, or whatever else the run takes."""
    plain = isinstance(x, np.ndarray | Tensor)

    def layers(rows: Integers) -> dict[str, AnyArray]:
        # Only some rows of many are probed; raw values of a table cannot be indexed like an array, and are few.
        features = {name: run.features(x[rows] if plain else x, name) for name in ("h", "h_y")}
        return features if plain else {name: values[rows] for name, values in features.items()}

    target = run.method.task.target
    if not isinstance(target, Classes):
        return RawOutputs(predicted=run.predict(x), number=True, layers=layers)
    probabilities = run.predict_proba(x)
    return RawOutputs(
        probabilities=probabilities, threshold=run.threshold, kinds=target.words, by_number=True, layers=layers
    )


def _of_estimator(model: Any, X: Any) -> RawOutputs:
    from sklearn.base import is_regressor  # only here, as the name csad.audit alone need not load scikit-learn

    from csad.estimator.classifier import DebiasedClassifier

    def layers(rows: Integers) -> dict[str, AnyArray]:
        values = {}
        if isinstance(model, DebiasedClassifier):
            values["h"] = model._each(X, lambda method, x: method.features(x)["h"])[rows]
            values["h_y"] = model.transform(X)[rows]
        elif hasattr(model, "transform"):
            features = model.transform(X)
            dense = features.toarray() if hasattr(features, "toarray") else features
            values["features"] = np.asarray(dense)[rows]
        if not hasattr(model, "predict_proba") and hasattr(model, "decision_function"):
            values["scores"] = np.asarray(model.decision_function(X))[rows]
        return values

    try:
        predicted = np.asarray(local(model.predict(X)))
        # An exported run that predicts a number has no classes, and no probabilities either.
        has_any = hasattr(model, "predict_proba") and getattr(model, "classes", None) != ()
        probabilities = np.asarray(local(model.predict_proba(X))) if has_any else None
    except ValueError as error:
        raise InputError("model-cannot-predict", reason=error) from error
    if not hasattr(model, "classes_") and probabilities is not None:  # an exported run, which predicts class numbers
        names = tuple(getattr(model, "classes", ()))
        rule = float(getattr(model, "threshold", HALF))
        return RawOutputs(
            probabilities=probabilities, threshold=rule, kinds=names or None, by_number=bool(names), layers=layers
        )
    if not hasattr(model, "classes_"):
        number = hasattr(model, "__sklearn_tags__") and is_regressor(model)  # which asks for the tags
        return RawOutputs(raw=predicted, number=number, layers=layers)
    if predicted.ndim != 1:
        raise InputError("model-predicts-several-targets", shape=predicted.shape)
    return RawOutputs(predicted=predicted, probabilities=probabilities, kinds=kinds_of(model.classes_), layers=layers)


def _of_output(output: Any) -> RawOutputs:
    """The outputs of a function of X: one array, or several by name."""
    return _named(output) if isinstance(output, Mapping) else RawOutputs(raw=_array(output), scores=True)


def _named(arrays: Mapping[str, Any]) -> RawOutputs:
    """Arrays by name: prediction, probabilities, all others features."""
    layers = {str(name): _array(values) for name, values in arrays.items()}
    predicted, probabilities = layers.pop("prediction", None), layers.pop("probabilities", None)
    if predicted is not None and predicted.size == len(predicted):
        predicted = predicted.reshape(len(predicted))
    return RawOutputs(
        predicted=predicted,
        probabilities=probabilities,
        layers=lambda rows: {name: values[rows] for name, values in layers.items()},
    )


@torch.no_grad()
def _through(module: nn.Module, X: Any) -> Any:
    """The module's outputs, in evaluation mode and in chunks; afterwards the module is as it was."""
    first = next(iter(module.parameters()), torch.zeros(()))
    x, training = to_tensor(X, "X"), module.training
    call = module.predict if isinstance(module, Method) else module  # whose own call is not on x
    module.eval()
    try:
        parts = [
            call(part.to(first.device, first.dtype if part.is_floating_point() else None))
            for part in torch.split(x, rows_at_a_time(x.shape[1:]))
        ]
    finally:
        module.train(training)
    if isinstance(parts[0], Tensor):
        return torch.cat(parts)
    if isinstance(parts[0], Mapping):
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    raise InputError("module-output-not-tensor", kind=type(parts[0]).__name__)


def _array(values: Any) -> AnyArray:
    array = np.asarray(local(values))
    if not array.ndim or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        raise InputError("model-output-invalid")
    return array
