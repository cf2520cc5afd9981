"""Listeners that tests share."""

import signal


class Heard:
    """Remembers all that a training, or many, say."""

    def __init__(self):
        self.title = ""
        self.steps, self.warnings, self.said = [], [], []

    @property
    def stages(self):
        return [stage for stage, _, _ in self.steps]

    def progress(self, stage, place, steps, losses):
        self.steps.append((stage.name, place.step, steps))

    def warn(self, text):
        self.warnings.append(text)

    def say(self, text):
        self.said.append(text)

    def close(self):
        pass


class StopAt(Heard):
    """Asks for a stop at a step, as Ctrl-C does."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def progress(self, stage, place, steps, losses):
        super().progress(stage, place, steps, losses)
        if place.step == self.step:
            signal.raise_signal(signal.SIGINT)
