"""``csad.audit``: does a model leak a bias, and what does it get right for whom? Any model, on any rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from csad.auditing.audit import Audit, audit_arrays
from csad.auditing.audited import Facts, Labels, Model, Outputs, Settings, Table
from csad.auditing.columns import Numbers
from csad.auditing.leakage import MOST_ROWS, PROBES
from csad.data.samples import local
from csad.errors import InputError
from csad.experiments.audits.labels import biases_of, column_of, target_of
from csad.experiments.audits.model import Given, given_by
from csad.experiments.audits.outputs import renumbered, target_and_outputs


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
    probes: Sequence[str] = PROBES,
    margin: float = 0.05,
    level: float = 0.95,
    most_rows: int = MOST_ROWS,
    repeats: int = 500,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """What a model leaks of the biases b, and what it gets right for whom, on rows X with targets y.

    The model is a run, a trained estimator, a torch module, a function of X, or arrays of predictions, probabilities
    or features (X may then be None; a dict names them: prediction, probabilities, any other name for features). b is
    one column or several (``names``), −1, NaN, None or "" unknown; real numbers, and the columns called ``numbers``,
    are read as numbers. Rows alike in ``same`` are of one person. ``trained`` = (y, b) of the training rows tells which
    cells the bias goes with. ``against`` is another model on the same rows.
    """
    settings = Settings(among, probes, margin, level, most_rows, repeats, seed)
    targets = column_of(y, "y")
    rows = len(targets)
    own, theirs = biases_of(b, rows, names, numbers, None if trained is None else trained[1])
    persons = None if same is None else _persons(column_of(same, "same"), rows)
    target, found, given = _described(model, X, targets)
    facts = Facts(target, own, persons)
    if trained is not None:
        facts = replace(facts, trained=(_trained_target(trained, target, theirs), theirs))
    probed = facts.probed(settings)
    mine = Model(found, _x(X, probed, rows) | given(probed), probed, _x_note(X))
    other = None
    if against is not None:
        their_target, their_outputs, their_given = _described(against, X, targets)
        theirs_as_ours = renumbered(their_outputs, their_target, target)
        other = ("the other model", Model(theirs_as_ours, their_given(probed), probed))
    return audit_arrays(mine, facts, settings, against=other, tell=tell)


def _described(model: Any, X: Any, y: Table) -> tuple[Labels, Outputs | None, Callable[[Numbers], dict[str, Table]]]:
    """The target as the model numbers its classes, what it says of it, and what gives its layers for chosen rows."""
    given: Given = given_by(model, X)
    for values in (given.said, given.probabilities, given.raw):
        if values is not None and len(values) != len(y):
            raise InputError(f"y has {len(y)} rows, but the model gives {len(values)}.")
    target, outputs, raw = target_and_outputs(given, y)

    def layers(rows: Numbers) -> dict[str, Table]:
        found = given.layers(rows)
        return found if raw is None else found | {"features": raw[rows]}

    return target, outputs, layers


def _persons(column: Table, rows: int) -> Table:
    if len(column) != rows:
        raise InputError(f"same must have one label for each of the {rows} rows, not {len(column)}.")
    return np.unique(column, return_inverse=True)[1]


def _trained_target(trained: tuple[Any, Any], target: Labels, biases: tuple[Labels, ...]) -> Labels:
    y = column_of(trained[0], "The trained y")
    if len(y) != len(biases[0].values):
        raise InputError(f"trained must be (y, b) of the same rows, not {len(y)} and {len(biases[0].values)}.")
    return Labels("target", y.astype(np.float64)) if target.number else target_of(y, target.names, by_number=True)


def _x(X: Any, rows: Numbers, count: int) -> dict[str, Table]:
    """X as a layer of its own, where it is numbers."""
    values = _readable(X)
    if values is None:
        return {}
    if len(values) != count:
        raise InputError(f"y has {count} rows, but X has {len(values)}.")
    return {"x": values[rows]}


def _x_note(X: Any) -> tuple[str, ...]:
    if X is None or _readable(X) is not None:
        return ()
    return ("X itself was not read: it holds words or unknown values.",)


def _readable(X: Any) -> Table | None:
    if X is None or isinstance(X, Mapping):
        return None
    values = np.asarray(local(X.toarray() if hasattr(X, "toarray") else X))
    sound = values.dtype.kind in "iub" or (values.dtype.kind == "f" and bool(np.isfinite(values).all()))
    return values if sound else None
