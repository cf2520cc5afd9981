"""How a user hears of anything that csad does: one listener for trainings, sweeps, tables and the estimator."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csad.data.events import listening
from csad.errors import InputError

if TYPE_CHECKING:
    from csad.data.own.dataset import TableDataset
    from csad.methods.method import Stage
    from csad.training.checkpoint import Place
    from csad.training.log import Log


class TrainingWarning(UserWarning):
    """Advice on a training, such as a loss that no longer changes; a Python warning if no listener takes it.

    Turn it into an error with ``warnings.simplefilter("error", csad.TrainingWarning)``, or hide it with ``"ignore"``.
    """


class Listener:
    """Hears what csad does. Override what you want to hear: each method does nothing, but advice is a Python warning.

    A listener is passed as ``listener=`` to ``csad.train``, ``csad.sweep``, ``csad.reproduce`` and ``csad.check``.
    """

    def started(self, title: str) -> None:
        """Called before a training, or several as one program, with its name."""

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Called at each logged step, with how many steps the whole training makes and the mean losses of its runs."""

    def log_line(self, log: Log, line: Mapping[str, Any]) -> None:
        """Called with each line that the log of a run takes: losses, validation metrics or advice."""

    def ended(self) -> None:
        """Called after a training, whether it came to its end or not."""

    def message(self, text: str) -> None:
        """Called with a line on what is done next, or on what the user may not expect."""

    def table_read(self, table: TableDataset) -> None:
        """Called with each table of the user's that was read, before anything is done with it."""

    def warn(self, text: str) -> None:
        """Called once with each piece of advice; a ``TrainingWarning`` by default."""
        warnings.warn(text, TrainingWarning, stacklevel=2)


class ForwardingListener(Listener):
    """Passes everything on to another listener; a base for those that change or add something."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def started(self, title: str) -> None:
        """Pass on the title."""
        self.listener.started(title)

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Pass on the progress."""
        self.listener.progress(stage, place, steps, losses)

    def log_line(self, log: Log, line: Mapping[str, Any]) -> None:
        """Pass on the line."""
        self.listener.log_line(log, line)

    def ended(self) -> None:
        """Pass on the end."""
        self.listener.ended()

    def message(self, text: str) -> None:
        """Pass on the message."""
        self.listener.message(text)

    def table_read(self, table: TableDataset) -> None:
        """Pass on the table."""
        self.listener.table_read(table)

    def warn(self, text: str) -> None:
        """Pass on the advice."""
        self.listener.warn(text)


class WithoutAdvice(ForwardingListener):
    """Passes on everything but advice: for runs of which only one will be kept."""

    def warn(self, text: str) -> None:
        """Do nothing: the advice on the run that is kept is given later."""


@contextmanager
def hearing_data(listener: Listener) -> Iterator[None]:
    """Pass on to a listener what the reading of data reports: how far it is, and tables that were read.

    Without a listener of the user's, that is a plain Listener, progress goes to the terminal.
    """
    if type(listener) is Listener:
        yield
        return
    with listening(progress=listener.message, table=listener.table_read):
        yield


class PlainListener(Listener):
    """Writes progress and advice to stderr as plain lines, a line of progress now and then."""

    EVERY = 5.0  # seconds between lines of progress

    def __init__(self) -> None:
        self.title = ""
        self._last = 0.0

    def started(self, title: str) -> None:
        """Name the training in the lines that follow."""
        self.title = title

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Write a line if the last one is some seconds old, or the training is done."""
        step = place.step + 1
        if time.monotonic() - self._last > self.EVERY or step == steps:
            self._last = time.monotonic()
            values = "  ".join(f"{name} {value:.3f}" for name, value in losses.items())
            self.message(f"{self.title} {stage.name} {step}/{steps}  {values}")

    def message(self, text: str) -> None:
        """Write the message."""
        print(text, file=sys.stderr)

    def warn(self, text: str) -> None:
        """Write the advice with the title."""
        self.message(f"{self.title}: warning: {text}")


FOLDER = "tensorboard"  # in a run's folder


class TensorBoard(ForwardingListener):
    """Passes everything on, and writes losses, validation metrics and advice of each kept run as event files.

    They are complete once ``close`` was called.
    """

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise InputError("tensorboard-not-installed") from error
        self._make: Any = SummaryWriter
        self._writers: dict[Path, Any] = {}

    def log_line(self, log: Log, line: Mapping[str, Any]) -> None:
        """Write the line of a run that is kept, into its folder.

        The first time all lines are written: those from before it was resumed, and of stages that runs share.
        """
        super().log_line(log, line)
        if log.path is None:
            return
        if log.path in self._writers:
            _write(self._writers[log.path], line)
            return
        folder = log.path.parent / FOLDER
        if folder.is_symlink():  # it may lead to events of others
            folder.unlink()
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        self._writers[log.path] = self._make(str(folder))
        for earlier in log.lines:
            _write(self._writers[log.path], earlier)

    def close(self) -> None:
        """Write what is still in memory."""
        for writer in self._writers.values():
            writer.close()


@contextmanager
def tensorboard_events(listener: Listener, wanted: bool) -> Iterator[Listener]:
    """The listener; if event files are ``wanted``, one that writes them too until the block ends."""
    if not wanted:
        yield listener
        return
    events = TensorBoard(listener)
    try:
        yield events
    finally:
        events.close()


def _write(writer: Any, line: Mapping[str, Any]) -> None:
    """Write losses, validation metrics and advice of a line."""
    for kind in ("losses", "validation"):
        for name, value in line.get(kind, {}).items():
            writer.add_scalar(f"{kind}/{name}", value, line["step"])
    if "warning" in line:
        writer.add_text("warning", line["warning"], line["step"])
