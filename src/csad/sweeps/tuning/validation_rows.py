"""The validation rows by which debias_weight (λ) is tuned: whether they can be used, and how they score a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from csad.auditing.inputs import ModelOutputs
from csad.auditing.leakage.bias_column import (
    BiasColumn,
    Folds,
    assign_folds,
    joined_auc,
    scorable_tasks,
    select_bias_rows,
)
from csad.auditing.leakage.leakage import MOST_PROBED
from csad.auditing.leakage.probes import as_features, linear_scores, probe_scores
from csad.auditing.leakage.verdicts import CHANCE
from csad.auditing.metrics.classification import balanced_accuracy, mean_squared_error
from csad.auditing.of_run import labels_of
from csad.data.own.labeled_table import FEWEST
from csad.data.samples import Classes, Dataset, local
from csad.errors import InputError
from csad.messages import message
from csad.runs.settings import Plan
from csad.runs.threshold import classes_at

WEIGHT = "debias_weight"
COST = 0.02  # of balanced accuracy, or of the share of a number's variance that is explained
DEALS = 5  # ways to divide the rows into folds, over which leakage is averaged: validation rows are few


def with_weight(plan: Plan, weight: float) -> Plan:
    """The plan with that debias_weight."""
    return replace(plan, settings=plan.settings | {WEIGHT: weight})


def with_epochs(plan: Plan, epochs: int) -> Plan:
    """The plan with so many epochs of the last stage."""
    return replace(plan, train=plan.train | {"epochs": epochs})


def checked_cost(cost: Any) -> float:
    """The share of the score that may be given up; raise InputError if it is none."""
    cost = COST if cost is None else cost
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 1:
        raise InputError("cost-out-of-range", cost=cost)
    return float(cost)


def tuning_rows(
    dataset: Dataset,
    plan: Plan,
    overrides: Mapping[str, Any],
    *,
    own_data: bool,
    cost: Any,
    notify: Callable[[str], None],
) -> LeakageScorer | None:
    """The validation rows by which the weight is tuned; None if it is not tuned, and ``notify`` is called with why.

    It is tuned on the user's ``own_data``, if it is not given. Raise InputError for a ``cost`` without a tuning.
    """
    settled = _why_settled(own_data, plan, overrides)
    scorer = settled or _leakage_scorer(dataset)
    if not isinstance(scorer, str):
        if plan.train["select_by"]:
            raise InputError("select-by-with-tuning", setting=WEIGHT)
        return scorer
    why_not = scorer
    if cost is not None:
        raise InputError("cost-without-tuning", setting=WEIGHT, reason=why_not)
    if not settled:
        notify(_not_chosen(plan, why_not))
    return None


def note_on_several(dataset: Dataset, plan: Plan, overrides: Mapping[str, Any], *, own_data: bool) -> str:
    """The sentence that the weight of several runs is not tuned, though that of one would be; empty if neither is."""
    if _why_settled(own_data, plan, overrides):
        return ""
    why_not = _leakage_scorer(dataset)
    if not isinstance(why_not, str):
        advice = (
            f"To tune it, train one run first, and give the values that it chooses: --set {WEIGHT}=… --set "
            "train.epochs=…"
        )
        why_not = f"there are several runs. {advice}"
    return _not_chosen(plan, why_not)


def _not_chosen(plan: Plan, why: str) -> str:
    return message("weight-not-tuned", setting=WEIGHT, value=plan.settings[WEIGHT], reason=why)


def _why_settled(own_data: bool, plan: Plan, overrides: Mapping[str, Any]) -> str:
    """Why there is nothing to tune, by the settings; empty if there is."""
    if WEIGHT not in plan.settings:
        return f"this method has no {WEIGHT}"
    if {WEIGHT, f"settings.{WEIGHT}"} & overrides.keys():
        return f"{WEIGHT} is given"
    return "" if own_data else "a named data set has its own settings"


def _leakage_scorer(dataset: Dataset) -> LeakageScorer | str:
    """What scores the leakage on the validation rows, or why nothing can."""
    rows = len(dataset.splits["validation"]) if "validation" in dataset.splits else 0
    if rows < FEWEST:
        return f"the validation split has {rows:,} rows, but {FEWEST} are needed"
    scorer = leakage_scorer(dataset)
    return f"no probe can be scored on the validation split ({scorer})" if isinstance(scorer, str) else scorer


@dataclass(frozen=True)
class LeakageScorer:
    """The validation rows for probes: each bias that can be read, with its rows in several assignments to folds."""

    columns: tuple[tuple[BiasColumn, tuple[Folds, ...]], ...]

    def leakage(self, outputs: ModelOutputs) -> float:
        """The AUC of fresh linear probes, mean over biases and assignments; a mean below chance counts as chance."""
        features, generator = outputs.features(), np.random.default_rng(0)
        aucs = []
        for column, assignments in self.columns:
            shown = as_features(np.asarray(features)[column.rows], generator)
            for folds in assignments:
                scores = probe_scores(linear_scores, shown, column.targets, folds)
                aucs.append(joined_auc(scores, column.codes[None], column, folds.cells()).item())
        return max(CHANCE, fmean(aucs))


def leakage_scorer(dataset: Dataset) -> LeakageScorer | str:
    """The scorer for a data set's validation rows, or why no probe could find a bias in them.

    Rows are compared among those of the same target; if that is a number, of the same fifth of its values.
    """
    samples = dataset.splits["validation"]
    target, biases = labels_of(dataset.task, samples)
    target = target.grouped(target.cuts())
    persons = samples.persons
    units = np.arange(len(samples)) if persons is None else np.unique(local(persons), return_inverse=True)[1]
    columns, reasons = [], []
    for bias in biases:
        generator = np.random.default_rng(0)
        column = select_bias_rows(bias.values, units, target.values >= 0, MOST_PROBED, generator)
        if isinstance(column, str):
            reasons.append(f"{bias.name}: {column}")
            continue
        assignments = _assignments(column, units, target.values, generator)
        if all(len(scorable_tasks(column, folds.cells())) for folds in assignments):
            columns.append((column, assignments))
        else:
            reasons.append(f"{bias.name}: no two of its labels occur among rows with the same target")
    return LeakageScorer(tuple(columns)) if columns else "; ".join(reasons)


def _assignments(
    column: BiasColumn, units: NDArray[np.integer], strata: NDArray[np.integer], generator: np.random.Generator
) -> tuple[Folds, ...]:
    return tuple(assign_folds(column.codes, units[column.rows], strata[column.rows], generator) for _ in range(DEALS))


def score_outputs(dataset: Dataset, scorer: LeakageScorer, out: Tensor, threshold: float | None) -> tuple[float, float]:
    """Score and leakage of a model that gives ``out`` (n, classes) for the validation rows.

    Of two classes the second is predicted above the ``threshold``; if that is None, above the best one for these rows.
    """
    y = dataset.splits["validation"].y.cpu().numpy()
    values = out.detach().double().cpu()
    if isinstance(dataset.task.target, Classes):
        probabilities = values.softmax(1).numpy()
        classes = classes_at(probabilities, y, threshold)
        return balanced_accuracy(classes, y), scorer.leakage(ModelOutputs(classes, probabilities))
    numbers = values[:, 0].numpy()
    spread = float(y.astype("float64").var()) or 1.0
    return 1 - mean_squared_error(numbers, y) / spread, scorer.leakage(ModelOutputs(numbers))


def score_name(dataset: Dataset) -> str:
    """The name of the score in sentences."""
    return "balanced accuracy" if isinstance(dataset.task.target, Classes) else "share of variance explained"
