"""The probability above which the second of two classes is predicted: given, or chosen on validation rows by a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Classes, Dataset
from csad.deploy.decision import HALF, checked_threshold, decided
from csad.errors import InputError

RULE = (
    "The threshold with the highest balanced accuracy on the validation split; among equally good ones, the one "
    "nearest to .5."
)
LEAST_ROWS = 20  # of each class among the validation rows: with fewer the best place is a matter of luck


@dataclass(frozen=True)
class Threshold:
    """The threshold of a run, and why it is that."""

    value: float
    why: str
    rule: str = ""  # by which it was chosen; empty if it was given

    def as_dict(self) -> dict[str, Any]:
        """Plain words and numbers, for JSON."""
        return asdict(self)


def threshold_in(result: Mapping[str, Any]) -> float:
    """The threshold that a run's result holds; a half if it holds none."""
    return float(result.get("threshold", {}).get("value", HALF))


def check_threshold(threshold: Any, dataset: Dataset) -> float | None:
    """The threshold that a user gives, if any; raise InputError if it cannot be one."""
    target = dataset.task.target
    if threshold is None:
        return None
    return checked_threshold(threshold, target.count if isinstance(target, Classes) else 0)


def check_same(threshold: float | None, result: Mapping[str, Any], folder: object) -> None:
    """Raise InputError if a finished run has another threshold than the one that is given."""
    if threshold is not None and threshold != threshold_in(result):
        raise InputError(
            "finished-with-other-threshold", folder=folder, found=threshold_in(result), threshold=threshold
        )


def choose_threshold(
    dataset: Dataset, balance: str, *, own_data: bool, given: float | None, predict_proba: Callable[[Any], NDArray[Any]]
) -> Threshold | None:
    """The threshold that is given, or else chosen on the user's ``own_data``; None if there is nothing to choose."""
    target = dataset.task.target
    if not isinstance(target, Classes) or target.count != 2:
        return None
    name = target.words[1]
    if given is not None:
        return Threshold(
            given,
            f"A row is predicted '{name}' when the probability of '{name}' exceeds {given:g} (the given threshold).",
        )
    if not own_data or not can_be_chosen(dataset, balance):
        return None
    samples = dataset.splits["validation"]
    return _explained(best_threshold(predict_proba(samples.x)[:, 1], samples.y.cpu().numpy()), name)


def can_be_chosen(dataset: Dataset, balance: str) -> bool:
    """Whether a threshold has something to gain, and enough validation rows to be chosen by.

    If mini-batches were balanced, training has aimed at a half, and another threshold would only fit the validation
    rows.
    """
    target = dataset.task.target
    if not isinstance(target, Classes) or target.count != 2 or balance or "validation" not in dataset.splits:
        return False
    y = dataset.splits["validation"].y
    return min(int((y == kind).sum()) for kind in (0, 1)) >= LEAST_ROWS


def training_threshold(dataset: Dataset, balance: str, *, own_data: bool, given: float | None) -> float | None:
    """The threshold by which a run is scored while it trains; None: the best one on the validation rows."""
    if given is not None:
        return given
    return None if own_data and can_be_chosen(dataset, balance) else HALF


def classes_at(probabilities: NDArray[Any], y: NDArray[Any], threshold: float | None) -> NDArray[Any]:
    """Class numbers of probabilities (n, classes) by a threshold; if that is None, by the best one for these y."""
    return decided(probabilities, best_threshold(probabilities[:, 1], y)[0] if threshold is None else threshold)


def best_threshold(probabilities: NDArray[Any], y: NDArray[Any]) -> tuple[float, float, float]:
    """The threshold by the rule, balanced accuracy with it, and with a half; probabilities (n,) are of class 1.

    The candidates are a half and the middle between any two neighboring probabilities.
    """
    known = y >= 0
    probabilities, y = probabilities[known].astype(np.float64), y[known]
    values = np.unique(probabilities)
    candidates = np.concatenate([[HALF], (values[1:] + values[:-1]) / 2])
    share = [_share_above(probabilities[y == kind], candidates) for kind in (0, 1)]
    scores = (1 - share[0] + share[1]) / 2
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    nearest = best[np.argmin(np.abs(candidates[best] - HALF))]
    return float(candidates[nearest]), float(scores[nearest]), float(scores[0])


def _share_above(probabilities: NDArray[Any], thresholds: NDArray[Any]) -> NDArray[Any]:
    return 1 - np.searchsorted(np.sort(probabilities), thresholds, side="right") / len(probabilities)


def _explained(best: tuple[float, float, float], name: str) -> Threshold:
    """The best threshold with the sentence that says why."""
    value, score, score_at_half = best
    text = f"balanced accuracy on the validation split: {score:.3f}"
    if value == HALF:
        return Threshold(
            value,
            f"A row is predicted '{name}' when the probability of '{name}' exceeds 0.5. This threshold gives the "
            f"best {text}.",
            RULE,
        )
    why = (
        f"A row is predicted '{name}' when the probability of '{name}' exceeds {value:.3g}. This threshold gives "
        f"the best {text}, against {score_at_half:.3f} at 0.5, because training did not balance the classes."
    )
    return Threshold(value, why, RULE)
