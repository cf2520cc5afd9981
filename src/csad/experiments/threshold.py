"""The probability from which the second of two classes is said: given, or chosen on validation rows by a named rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Classes, Dataset
from csad.deploy.decision import HALF, checked_threshold, decided
from csad.errors import InputError
from csad.experiments.build import is_file
from csad.experiments.trust import OWN

if TYPE_CHECKING:
    from csad.experiments.run import Run

RULE = "The threshold with the highest balanced accuracy on the validation split; of several the one nearest to .5."
LEAST_ROWS = 20  # of each class among the validation rows: with fewer the best place is a matter of luck


@dataclass(frozen=True)
class Threshold:
    """From where on the second class is said, and why."""

    value: float
    why: str
    rule: str = ""  # by which it was chosen; none where it was given

    def as_dict(self) -> dict[str, Any]:
        """Plain words and numbers, for JSON."""
        return asdict(self)


def threshold_in(result: Mapping[str, Any]) -> float:
    """The threshold that a run's result holds; a half where it holds none."""
    return float(result.get("threshold", {}).get("value", HALF))


def check_given(threshold: Any, dataset: Dataset) -> float | None:
    """The threshold that a user gives, if any; an error where it cannot be."""
    target = dataset.task.target
    if threshold is None:
        return None
    return checked_threshold(threshold, target.count if isinstance(target, Classes) else 0)


def check_same(threshold: float | None, result: Mapping[str, Any], folder: object) -> None:
    """Nothing, or an error where a finished run has another threshold than the one that is given."""
    if threshold is not None and threshold != threshold_in(result):
        raise InputError(
            f"{folder} is finished, with a threshold of {threshold_in(result):g}, not {threshold:g}: give the other "
            "one to csad predict, or another --out."
        )


def threshold_of(run: Run, dataset: Dataset, given: float | None) -> Threshold | None:
    """The threshold that is given, or else chosen on data of one's own; None where there is nothing to choose."""
    target = dataset.task.target
    if not isinstance(target, Classes) or target.count != 2:
        return None
    name = target.words[1]
    if given is not None:
        return Threshold(given, f"'{name}' is said where its probability is above {given:g}, as was given.")
    if not is_own(run.config["task"]) or not can_be_chosen(dataset, run.method.course.balance):
        return None
    samples = dataset.splits["validation"]
    found = replace(run, view=dataset.view).predict_proba(samples.x)
    return _told(best_threshold(found[:, 1], samples.y.cpu().numpy()), name)


def can_be_chosen(dataset: Dataset, balance: str) -> bool:
    """Whether a threshold has something to gain, and validation rows enough to be chosen by.

    Where mini-batches were balanced, a half is the threshold that training has aimed at, and another would only fit
    the validation rows.
    """
    target = dataset.task.target
    if not isinstance(target, Classes) or target.count != 2 or balance or "validation" not in dataset.splits:
        return False
    y = dataset.splits["validation"].y
    return min(int((y == kind).sum()) for kind in (0, 1)) >= LEAST_ROWS


def judged_by(task: str, dataset: Dataset, balance: str, given: float | None) -> float | None:
    """The threshold with which a run on this task speaks while it trains; None: the best one on validation rows."""
    if given is not None:
        return given
    return None if is_own(task) and can_be_chosen(dataset, balance) else HALF


def said_by(probabilities: NDArray[Any], y: NDArray[Any], threshold: float | None) -> NDArray[Any]:
    """Class numbers of probabilities (n, classes) by a threshold; where that is None, by the best one for these y."""
    return decided(probabilities, best_threshold(probabilities[:, 1], y)[0] if threshold is None else threshold)


def is_own(task: str) -> bool:
    """Whether a run's task, as its config has it, is data of one's own."""
    return task == OWN or is_file(task)


def best_threshold(probabilities: NDArray[Any], y: NDArray[Any]) -> tuple[float, float, float]:
    """The threshold by the rule, balanced accuracy with it, and with a half; probabilities (n,) are of class 1.

    Tried are a half and the middle between any two neighbouring probabilities.
    """
    known = y >= 0
    probabilities, y = probabilities[known].astype(np.float64), y[known]
    values = np.unique(probabilities)
    tried = np.concatenate([[HALF], (values[1:] + values[:-1]) / 2])
    share = [_share_above(probabilities[y == kind], tried) for kind in (0, 1)]
    scores = (1 - share[0] + share[1]) / 2
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    taken = best[np.argmin(np.abs(tried[best] - HALF))]
    return float(tried[taken]), float(scores[taken]), float(scores[0])


def _share_above(probabilities: NDArray[Any], tried: NDArray[Any]) -> NDArray[Any]:
    return 1 - np.searchsorted(np.sort(probabilities), tried, side="right") / len(probabilities)


def _told(found: tuple[float, float, float], name: str) -> Threshold:
    value, best, half = found
    score = f"balanced accuracy on the validation split is {best:.3f}"
    if value == HALF:
        return Threshold(value, f"'{name}' is said where its probability is above 0.5: {score}, the highest.", RULE)
    why = (
        f"'{name}' is said where its probability is above {value:.3g}: {score}, and would be {half:.3f} with 0.5, as "
        "mini-batches are not balanced over the target."
    )
    return Threshold(value, why, RULE)
