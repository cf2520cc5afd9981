"""Who hears how trainings go."""

from __future__ import annotations

import warnings
from typing import Protocol

from csad.methods.method import Stage
from csad.training.checkpoint import Place
from csad.training.stages import Listener


class Teller(Listener, Protocol):
    """A listener that can also say a line and be told what it listens to."""

    title: str

    def say(self, text: str) -> None:
        """Shows a line."""

    def close(self) -> None:
        """Ends what is shown of the present training."""


class TrainingWarning(UserWarning):
    """Advice that a training gives while it runs."""


class Silent:
    """Hears trainings out; advice becomes a Python warning."""

    title = ""

    def say(self, text: str) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """Nothing was shown."""

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Nothing is shown."""

    def warn(self, text: str) -> None:
        """A TrainingWarning."""
        warnings.warn(text, TrainingWarning, stacklevel=2)
