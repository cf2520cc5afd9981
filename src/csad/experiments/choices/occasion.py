"""Whether a run's debias_weight (λ) is to be chosen on validation rows, or why it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from csad.data.samples import Dataset
from csad.data.tables.splits import FEWEST
from csad.errors import InputError
from csad.experiments.choices.leakage import Readable, readable
from csad.experiments.plan import Plan

WEIGHT = "debias_weight"
COST = 0.02  # of balanced accuracy, or of the share of a number's variance that is explained


def with_weight(plan: Plan, weight: float) -> Plan:
    """The plan with that weight."""
    return replace(plan, settings=plan.settings | {WEIGHT: weight})


def with_epochs(plan: Plan, epochs: int) -> Plan:
    """The plan with a last stage of so many epochs."""
    return replace(plan, train=plan.train | {"epochs": epochs})


def checked_cost(cost: Any) -> float:
    """What may be given up of the score, as a share."""
    cost = COST if cost is None else cost
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 1:
        raise InputError(f"The cost must be a share of the score, from 0 and below 1, not {cost!r}.")
    return float(cost)


def rows_to_choose_by(
    dataset: Dataset, plan: Plan, given: Mapping[str, Any], *, own: bool, cost: Any, say: Callable[[str], None]
) -> Readable | None:
    """The validation rows by which the weight is chosen; None where it stays what it is, and the user hears why.

    It is chosen on data of one's ``own``, where it is not given. A ``cost`` that then would mean nothing is an error.
    """
    settled = _why_settled(own, plan, given)
    found = settled or _readable(dataset)
    if not isinstance(found, str):
        if plan.train["select_by"]:
            raise InputError(f"The choice of {WEIGHT} says when to stop: give {WEIGHT}, or leave train.select_by out.")
        return found
    if cost is not None:
        raise InputError(f"A cost says how {WEIGHT} is chosen, but it is not: {found}. Leave the cost out.")
    if not settled:
        say(_not_chosen(plan, found))
    return None


def told_of_several(dataset: Dataset, plan: Plan, given: Mapping[str, Any], *, own: bool) -> str:
    """What the user may not expect of several runs: that the weight is not chosen, as it is of one; else nothing."""
    if _why_settled(own, plan, given):
        return ""
    why = _readable(dataset)
    if not isinstance(why, str):
        advice = f"train one first, and give what it chooses: --set {WEIGHT}=… --set train.epochs=…"
        why = f"there are several runs; {advice}"
    return _not_chosen(plan, why)


def _not_chosen(plan: Plan, why: str) -> str:
    return f"{WEIGHT} is {plan.settings[WEIGHT]:g}, the default, and not chosen: {why}."


def _why_settled(own: bool, plan: Plan, given: Mapping[str, Any]) -> str:
    """Why there is nothing to choose, as the settings tell; nothing where there is."""
    if WEIGHT not in plan.settings:
        return f"this method has no {WEIGHT}"
    if {WEIGHT, f"settings.{WEIGHT}"} & given.keys():
        return f"{WEIGHT} is given"
    return "" if own else "a named data set has settings of its own"


def _readable(dataset: Dataset) -> Readable | str:
    rows = len(dataset.splits["validation"]) if "validation" in dataset.splits else 0
    if rows < FEWEST:
        return f"the validation split has {rows:,} rows, and {FEWEST} are needed"
    found = readable(dataset)
    return f"no reader can be scored on the validation split ({found})" if isinstance(found, str) else found
