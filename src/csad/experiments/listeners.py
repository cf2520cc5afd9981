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


class Unadvised:
    """Passes on how trainings go, but not their advice: of runs of which only one will be kept."""

    def __init__(self, teller: Teller) -> None:
        self.title = ""
        self._teller = teller
        self._own_title = teller.title

    def say(self, text: str) -> None:
        """The line."""
        self._teller.say(text)

    def close(self) -> None:
        """The end of what is shown; the teller has its own title again."""
        self._teller.close()
        self._teller.title = self._own_title

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """The progress, under the present title."""
        self._teller.title = self.title
        self._teller.progress(stage, place, steps, losses)

    def warn(self, text: str) -> None:
        """Nothing: whose run is kept hears its advice then."""
