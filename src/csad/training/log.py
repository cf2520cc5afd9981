"""The log of a training: one JSON line per logged step, in memory and in a file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from csad.atomic import append, write_whole


class Log:
    """Lines such as ``{"stage": …, "epoch": …, "step": …, "losses": {…}}``; a line may hold a "warning" instead."""

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
        """Add a line."""
        self.lines.append(dict(line))
        if self.path:
            append(self.path, json.dumps(line) + "\n")

    def copy_to(self, path: Path) -> None:
        """Write all lines to another file."""
        write_whole(path, "".join(json.dumps(line) + "\n" for line in self.lines))

    def cut(self, step: int) -> None:
        """Forget the lines from a step on: they will be written again."""
        self.lines = [line for line in self.lines if line["step"] < step]
        if self.path:
            self.copy_to(self.path)

    def curves(self, stage: str) -> dict[str, list[float]]:
        """The losses of a stage so far, by update."""
        curves: dict[str, list[float]] = {}
        for line in self.lines:
            if line["stage"] == stage:
                for name, value in line.get("losses", {}).items():
                    curves.setdefault(name, []).append(value)
        return curves

    def points(self, key: str) -> dict[str, list[tuple[float, float]]]:
        """(step, value) of all numbers that lines have under a key, "losses" or "validation", by name."""
        points: dict[str, list[tuple[float, float]]] = {}
        for line in self.lines:
            for name, value in line.get(key, {}).items():
                points.setdefault(name, []).append((line["step"], value))
        return points

    def starts(self) -> list[tuple[float, str]]:
        """The first step of each stage, and the stage."""
        steps: dict[str, float] = {}
        for line in self.lines:
            steps.setdefault(line.get("stage", ""), line["step"])
        return [(step, stage) for stage, step in steps.items() if stage]

    def warnings(self) -> list[str]:
        """The warnings, each once."""
        return list(dict.fromkeys(line["warning"] for line in self.lines if "warning" in line))

    def seconds(self) -> float:
        """How long the training had run at the last line."""
        return max((line.get("seconds", 0.0) for line in self.lines), default=0.0)


def _read(text: str) -> dict[str, Any] | None:
    """A line of the log; None if a crash has cut it off."""
    try:
        line = json.loads(text)
    except json.JSONDecodeError:
        return None
    return line if isinstance(line, dict) and isinstance(line.get("step"), int) else None


class NanGuard:
    """Checks every loss of every step for NaN without leaving the device; ``first`` reads the result."""

    def __init__(self) -> None:
        self.first_bad: dict[str, Tensor] = {}

    def check(self, losses: Mapping[str, Tensor], step: int) -> None:
        """Remember, per update and run, the first step whose loss is not finite."""
        for name, loss in losses.items():
            bad = torch.where(torch.isfinite(loss), math.inf, float(step))
            self.first_bad[name] = torch.minimum(self.first_bad[name], bad) if name in self.first_bad else bad

    def first(self, each: Callable[[Tensor], list[float]]) -> list[tuple[str, int] | None]:
        """For each run the update and the step with the first loss that is not finite, if there is one."""
        steps = {name: each(bad) for name, bad in self.first_bad.items()}
        first: list[tuple[str, int] | None] = []
        for of_run in zip(*steps.values(), strict=True):
            step, name = min(zip(of_run, steps, strict=True))
            first.append((name, int(step)) if math.isfinite(step) else None)
        return first
