"""What the page is told of each trained model: plain numbers, every rate a fraction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """How well a fresh linear probe reads one bias column from features."""

    features: str
    column: str
    score: float
    chance: float


@dataclass(frozen=True)
class Contestant:
    """One trained model as the page shows it.

    ``cells`` are colour rows × digit columns, None where no test picture fell; ``curves`` map a loss to its
    (step, value) pairs; ``breaks`` are (step, stage) where a stage of training starts.
    """

    name: str
    accuracy: float
    cells: Sequence[Sequence[float | None]]
    curves: Mapping[str, Sequence[tuple[float, float]]]
    breaks: Sequence[tuple[float, str]]
    probes: Sequence[Probe]
    target_updates: int
    seconds: float
    warnings: Sequence[str] = ()
