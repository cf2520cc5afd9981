"""What a training prints for later: one JSON line per logged step, in memory and in a file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from csad.atomic import append, write_whole

_hearer: ContextVar[Callable[[Log, Mapping[str, Any]], None] | None] = ContextVar("hearer", default=None)


class Log:
    """Lines such as ``{"stage": …, "epoch": …, "step": …, "losses": {…}}``; a line with "warning" holds advice."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        if path and path.exists():
            self.lines = [
                line
                for text in path.read_text(encoding="utf-8", errors="replace").splitlines()
                if (line := _read(text)) is not None
            ]

    def write(self, line: Mapping[str, Any]) -> None:
        """Adds a line."""
        self.lines.append(dict(line))
        if (hear := _hearer.get()) is not None:
            hear(self, line)
        if self.path:
            append(self.path, json.dumps(line) + "\n")

    def copy_to(self, path: Path) -> None:
        """Writes all lines to another file."""
        write_whole(path, "".join(json.dumps(line) + "\n" for line in self.lines))

    def cut(self, step: int) -> None:
        """Forgets the lines from a step on: they will be written again."""
        self.lines = [line for line in self.lines if line["step"] < step]
        if self.path:
            self.copy_to(self.path)

    def curves(self, stage: str) -> dict[str, list[float]]:
        """The losses of a stage so far, by update."""
        found: dict[str, list[float]] = {}
        for line in self.lines:
            if line["stage"] == stage:
                for name, value in line.get("losses", {}).items():
                    found.setdefault(name, []).append(value)
        return found

    def points(self, key: str) -> dict[str, list[tuple[float, float]]]:
        """(step, value) of all figures that lines have under a key, "losses" or "validation", by name."""
        found: dict[str, list[tuple[float, float]]] = {}
        for line in self.lines:
            for name, value in line.get(key, {}).items():
                found.setdefault(name, []).append((line["step"], value))
        return found

    def starts(self) -> list[tuple[float, str]]:
        """The first step of each stage, and the stage."""
        found: dict[str, float] = {}
        for line in self.lines:
            found.setdefault(line.get("stage", ""), line["step"])
        return [(step, stage) for stage, step in found.items() if stage]

    def warnings(self) -> list[str]:
        """The advice given, each once."""
        return list(dict.fromkeys(line["warning"] for line in self.lines if "warning" in line))

    def seconds(self) -> float:
        """How long the training had run at the last line."""
        return max((line.get("seconds", 0.0) for line in self.lines), default=0.0)


@contextmanager
def heard_lines(hear: Callable[[Log, Mapping[str, Any]], None]) -> Iterator[None]:
    """While this lasts, ``hear`` is called with every line that any log takes, and that log."""
    token = _hearer.set(hear)
    try:
        yield
    finally:
        _hearer.reset(token)


def _read(text: str) -> dict[str, Any] | None:
    """A line of the log; None for one that a crash has cut off."""
    try:
        line = json.loads(text)
    except json.JSONDecodeError:
        return None
    return line if isinstance(line, dict) and isinstance(line.get("step"), int) else None


class Guard:
    """Watches every loss of every step for NaN without leaving the device; ``first`` reads the verdict."""

    def __init__(self) -> None:
        self.first_bad: dict[str, Tensor] = {}

    def see(self, losses: Mapping[str, Tensor], step: int) -> None:
        """Remembers, per update and run, the first step whose loss is not finite."""
        for name, loss in losses.items():
            bad = torch.where(torch.isfinite(loss), math.inf, float(step))
            self.first_bad[name] = torch.minimum(self.first_bad[name], bad) if name in self.first_bad else bad

    def first(self, each: Callable[[Tensor], list[float]]) -> list[tuple[str, int] | None]:
        """For each run the update and the step that first gave what is not a number, if any did."""
        steps = {name: each(bad) for name, bad in self.first_bad.items()}
        found: list[tuple[str, int] | None] = []
        for of_run in zip(*steps.values(), strict=True):
            step, name = min(zip(of_run, steps, strict=True))
            found.append((name, int(step)) if math.isfinite(step) else None)
        return found
