"""Losses and validation figures for TensorBoard: each line of a run's log, as it is written, beside that log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from csad.errors import InputError
from csad.training.log import Log, heard_lines

FOLDER = "tensorboard"  # in a run's folder


@contextmanager
def for_tensorboard(wanted: bool) -> Iterator[None]:
    """While this lasts, where it is ``wanted``, each run that is kept has event files in its folder too."""
    if not wanted:
        yield
        return
    events = Events()
    try:
        with heard_lines(events.hear):
            yield
    finally:
        events.close()


class Events:
    """Event files of any number of runs, one folder each."""

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise InputError(
                "--tensorboard needs the package tensorboard: pip install 'csad[tensorboard]', or leave it out."
            ) from error
        self._make: Any = SummaryWriter
        self._writers: dict[Path, Any] = {}

    def hear(self, log: Log, line: Mapping[str, Any]) -> None:
        """Writes what a line tells; of a run that is not kept, nothing.

        The first time, all lines are written anew: those of an earlier sitting, and of stages that runs share.
        """
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
        for one in log.lines:
            _write(self._writers[log.path], one)

    def close(self) -> None:
        """Writes what is still in memory."""
        for writer in self._writers.values():
            writer.close()


def _write(writer: Any, line: Mapping[str, Any]) -> None:
    """Losses, validation figures and advice."""
    for kind in ("losses", "validation"):
        for name, value in line.get(kind, {}).items():
            writer.add_scalar(f"{kind}/{name}", value, line["step"])
    if "warning" in line:
        writer.add_text("warning", line["warning"], line["step"])
