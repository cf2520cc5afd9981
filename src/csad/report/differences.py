"""The lines of a table that compare its methods: how far one is above another, which share of a gap it closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from csad.report.digits import MISSING, signed, spelled

GAP = (
    "Share of a gap: how far above the first method, over how far the second is above the first; "
    f"{MISSING} where the interval of that gap does not lie above 0."
)

Places = Sequence[tuple[str, str]]  # columns and metrics


@dataclass(frozen=True)
class Difference:
    """How far the cell of one method lies above that of another, with its interval: the same rows drawn for both."""

    method: str
    other: str
    column: str
    metric: str
    mean: float
    interval: Sequence[float]


@dataclass(frozen=True)
class Share:
    """How much of the gap between two other methods' cells the cell of one closes: of the way from ``low`` to ``high``.

    There is none where it cannot be told that ``high`` is above ``low``.
    """

    method: str
    low: str
    high: str
    column: str
    metric: str
    value: float
    interval: Sequence[float]


def difference_rows(found: Sequence[Difference], places: Places, labels: Mapping[str, str]) -> list[list[str]]:
    """A line ``CSAD − Vanilla`` for each pair of methods that is compared in one of these places."""
    told = {((one.method, one.other), (one.column, one.metric)): _difference(one) for one in found}
    return [
        [" − ".join(labels.get(name, name) for name in pair), *(told.get((pair, place), MISSING) for place in places)]
        for pair in dict.fromkeys(pair for pair, place in told if place in places)
    ]


def share_rows(found: Sequence[Share], places: Places, labels: Mapping[str, str]) -> list[list[str]]:
    """A line ``CSAD, share of the gap from Vanilla to Oracle`` for each gap of which there is one in these places."""
    told = {((one.method, one.low, one.high), (one.column, one.metric)): _share(one) for one in found}
    rows = []
    for gap in dict.fromkeys(gap for gap, place in told if place in places):
        method, low, high = (labels.get(name, name) for name in gap)
        name = f"{method}, share of the gap from {low} to {high}"
        rows.append([name, *(told.get((gap, place), MISSING) for place in places)])
    return rows


def _difference(one: Difference) -> str:
    """``+.120 [+.031, +.200]``."""
    return f"{signed(one.mean)} [{', '.join(map(signed, one.interval))}]"


def _share(one: Share) -> str:
    """``.620 [.410, .851]``."""
    return f"{spelled(one.value)} [{', '.join(map(spelled, one.interval))}]"
