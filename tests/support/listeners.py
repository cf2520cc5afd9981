"""Listeners that tests share."""

import signal

from csad.runs.listeners import Listener


class Heard(Listener):
    """Remembers all that a training, or many, say."""

    def __init__(self):
        self.steps, self.warnings, self.said, self.titles = [], [], [], []

    @property
    def stages(self):
        return [stage for stage, _, _ in self.steps]

    def started(self, title):
        self.titles.append(title)

    def progress(self, stage, place, steps, losses):
        self.steps.append((stage.name, place.step, steps))

    def warn(self, text):
        self.warnings.append(text)

    def message(self, text):
        self.said.append(text)


class StopAt(Heard):
    """Asks for a stop at a step, as Ctrl-C does."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def progress(self, stage, place, steps, losses):
        super().progress(stage, place, steps, losses)
        if place.step == self.step:
            signal.raise_signal(signal.SIGINT)
