"""What any model gives for rows: a run, a classifier of scikit-learn's manners, a torch module, a function, arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from csad.auditing.columns import Numbers
from csad.data.pieces import rows_at_a_time
from csad.data.samples import Classes, local, to_tensor
from csad.deploy.decision import HALF
from csad.errors import InputError
from csad.experiments.audits.labels import kinds_of
from csad.experiments.run import Run
from csad.methods.method import Method

Table = NDArray[Any]
Layers = Callable[[Numbers], dict[str, Table]]


@dataclass(frozen=True)
class Given:
    """What a model gives, before its classes are numbered as those of y.

    ``raw`` is an output of which y must tell what it is; ``scores``: it may be logits. ``layers`` gives features of
    chosen rows.
    """

    said: Table | None = None
    probabilities: Table | None = None
    threshold: float = HALF  # of two classes, the probability above which the second is said
    raw: Table | None = None
    scores: bool = False
    kinds: tuple[str, ...] | None = None
    number: bool = False  # whether a number is predicted
    by_number: bool = False  # whether y may hold the classes' numbers instead of their names
    layers: Layers = field(default=lambda _: {})


def given_by(model: Any, X: Any) -> Given:
    """What the model gives for X; arrays are what they are, and X may be None for these."""
    if isinstance(model, Mapping):
        return _named(model)
    if isinstance(local(model), np.ndarray | list | tuple) or hasattr(model, "to_numpy"):
        return Given(raw=_array(model))
    if X is None:
        raise InputError("X is wanted to audit a model: None will do only for arrays of predictions or features.")
    if isinstance(model, Run):
        return of_run(model, X)
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class: give a trained model of it.")
    if isinstance(model, nn.Module):
        return _of_output(_through(model, X))
    if hasattr(model, "predict"):
        return _of_estimator(model, X)
    if callable(model):
        return _of_output(model(X))
    raise InputError(
        f"A {type(model).__name__} cannot be audited: give a run, a trained estimator, a torch module, a function of "
        "X, or arrays of predictions, probabilities or features."
    )


def of_run(run: Run, x: Any) -> Given:
    """What a run gives: probabilities or numbers, h and h_y; x is an array, or what else the run takes."""
    plain = isinstance(x, np.ndarray | Tensor)

    def layers(rows: Numbers) -> dict[str, Table]:
        # Of many rows h is wanted of some; raw values of a table cannot be indexed alike, and are few.
        found = {name: run.features(x[rows] if plain else x, name) for name in ("h", "h_y")}
        return found if plain else {name: values[rows] for name, values in found.items()}

    target = run.method.task.target
    if not isinstance(target, Classes):
        return Given(said=run.predict(x), number=True, layers=layers)
    found, words = run.predict_proba(x), target.words
    return Given(probabilities=found, threshold=run.threshold, kinds=words, by_number=True, layers=layers)


def _of_estimator(model: Any, X: Any) -> Given:
    from sklearn.base import is_regressor  # only here, as the name csad.audit alone need not load scikit-learn

    from csad.estimator import DebiasedClassifier

    def layers(rows: Numbers) -> dict[str, Table]:
        found = {}
        if isinstance(model, DebiasedClassifier):
            found["h"] = model._each(X, lambda method, x: method.features(x)["h"])[rows]
            found["h_y"] = model.transform(X)[rows]
        elif hasattr(model, "transform"):
            features = model.transform(X)
            dense = features.toarray() if hasattr(features, "toarray") else features
            found["features"] = np.asarray(dense)[rows]
        if not hasattr(model, "predict_proba") and hasattr(model, "decision_function"):
            found["scores"] = np.asarray(model.decision_function(X))[rows]
        return found

    try:
        said = np.asarray(local(model.predict(X)))
        # An exported run that predicts a number has no classes, and no probabilities either.
        has_any = hasattr(model, "predict_proba") and getattr(model, "classes", None) != ()
        probabilities = np.asarray(local(model.predict_proba(X))) if has_any else None
    except ValueError as error:
        raise InputError(f"The model does not predict X: {error}") from error
    if not hasattr(model, "classes_") and probabilities is not None:  # an exported run, which predicts class numbers
        names = tuple(getattr(model, "classes", ()))
        rule = float(getattr(model, "threshold", HALF))
        return Given(
            probabilities=probabilities, threshold=rule, kinds=names or None, by_number=bool(names), layers=layers
        )
    if not hasattr(model, "classes_"):
        number = hasattr(model, "__sklearn_tags__") and is_regressor(model)  # which asks for the tags
        return Given(raw=said, number=number, layers=layers)
    if said.ndim != 1:
        raise InputError(f"A model that predicts one target is wanted, not predictions of the shape {said.shape}.")
    return Given(said=said, probabilities=probabilities, kinds=kinds_of(model.classes_), layers=layers)


def _of_output(output: Any) -> Given:
    """What a function of X gave: one array, or several by name."""
    return _named(output) if isinstance(output, Mapping) else Given(raw=_array(output), scores=True)


def _named(arrays: Mapping[str, Any]) -> Given:
    """Arrays by name: prediction, probabilities, all others features."""
    found = {str(name): _array(values) for name, values in arrays.items()}
    said, probabilities = found.pop("prediction", None), found.pop("probabilities", None)
    return Given(
        said=None if said is None else said.reshape(len(said)) if said.size == len(said) else said,
        probabilities=probabilities,
        layers=lambda rows: {name: values[rows] for name, values in found.items()},
    )


@torch.no_grad()
def _through(module: nn.Module, X: Any) -> Any:
    """The module's outputs, in evaluation mode and piece by piece; then it is as it was."""
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
    raise InputError(f"The module must give a tensor, or a dict of tensors, not a {type(parts[0]).__name__}.")


def _array(values: Any) -> Table:
    array = np.asarray(local(values))
    if not array.ndim or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        raise InputError("What a model gives must be arrays with rows first, without NaN or infinity.")
    return array
