"""Sentences that the numbers decide: what came out, said the same way whoever wins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from statistics import fmean, stdev

from csad.report.drawing import NO_BREAK, finite, percent


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _whole(share: float) -> int:
    """Whole per cent, halves up: round() would let 41.5 and 42.5 meet at 42."""
    return math.floor(100 * share + 0.5)


def verdict(accuracies: Sequence[tuple[str, float]]) -> str:
    """One plain sentence or two: how often csad (or the last) is right, and how that compares.

    The points are the difference of the whole per cents shown, so that the reader's own subtraction agrees;
    models less than a true point apart are called level.
    """
    known = [(name, accuracy) for name, accuracy in accuracies if finite(accuracy)]
    if not known:
        return "No model has a test accuracy: there is nothing to compare."
    ours = next((pair for pair in known if pair[0] == "csad"), known[-1])
    others = [pair for pair in known if pair is not ours]
    opening = f"On test digits in random colours, {ours[0]} is right {_whole(ours[1])}{NO_BREAK}% of the time"
    if not others:
        return f"{opening}. No other model ran to compare it with."
    rest = listed([f"{name} {_whole(accuracy)}{NO_BREAK}%" for name, accuracy in others])
    best, accuracy = max(others, key=lambda pair: pair[1])
    if abs(ours[1] - accuracy) < 0.01:
        pair = f"{ours[0]} and {best} are" if len(others) > 1 else "they are"
        return f"{opening}, {rest}: {pair} less than a point apart, so nothing was gained."
    points = _whole(ours[1]) - _whole(accuracy)
    unit = "point" if abs(points) == 1 else "points"
    against = f" than {best}" if len(others) > 1 else ""
    if points > 0:
        return f"{opening}, {rest}: {points}{NO_BREAK}{unit} more{against}."
    return f"{opening}, {rest}: {-points}{NO_BREAK}{unit} fewer{against}. Debiasing did not help here."


def leak_sentence(features: str, scores: Mapping[str, Sequence[float]], chances: Sequence[float]) -> str:
    """The mean probe score of each model on ``features`` beside chance."""
    means = [f"{percent(fmean(known))} of the time for {name}" for name, known in scores.items() if known]
    if not means:
        return ""
    chance = f"; chance is {percent(fmean(chances))}" if chances else ""
    return f"On {features} the probe is right {listed(means)}, as a mean over the channels{chance}."


def across_seeds(seeds: Sequence[Mapping[str, object]]) -> str:
    """The mean and deviation of every model over the seeds; empty when fewer than two ran."""
    if len(seeds) < 2:
        return ""
    results = []
    for name in dict.fromkeys(name for row in seeds for name in row if name != "seed"):
        mean, deviation = mean_and_deviation(rate(row.get(name)) for row in seeds)
        if finite(mean) and finite(deviation):
            results.append(f"{name} {percent(mean, 1)} ± {100 * deviation:.1f}")
    return f"Over {len(seeds)} seeds: {listed(results)}." if results else ""


def rate(value: object) -> float | None:
    """The value if it is a finite number, else None."""
    number = float(value) if isinstance(value, Real) else None
    return number if finite(number) else None


def mean_and_deviation(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    """The mean and the standard deviation (n − 1 below the line) of the known; None where these are too few."""
    known = [value for value in values if finite(value)]
    return fmean(known) if known else None, stdev(known) if len(known) > 1 else None
