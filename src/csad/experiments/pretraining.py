"""Pretraining that several runs share, done once: the states that common stages lead to, kept by what made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csad.methods.method import Line, Method, Stage, Update
from csad.training import checkpoint
from csad.training.checkpoint import State
from csad.training.log import Log

# Of the training settings, those that a stage's own numbers (epochs, rate) do not tell.
SHARED = ("batch_size", "partial", "balance", "weight_decay", "optimiser", "precision")


def common_stages(method: Method) -> int:
    """How many stages at the beginning are alike whatever the method and its own settings."""
    count = 0
    for stage in method.schedule():
        if not stage.common:
            break
        count += 1
    return count


def key(config: Mapping[str, Any], method: Method, stages: int) -> str:
    """A word that runs share exactly when their first stages are the same computation."""
    told = {
        "csad": config["csad"],
        "data": config["about"]["fingerprint"],
        "task": config["about"]["name"],
        "net": config["net"],
        "weights": config["about"].get("weights", ""),
        "seed": config["seed"],
        "train": {name: config["train"][name] for name in SHARED},
        "stages": [_told(stage) for stage in method.schedule()[:stages]],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:20]


def _told(stage: Stage) -> list[Any]:
    lines = [_line(line) for line in stage.updates]
    return [stage.name, stage.epochs, stage.rate, stage.decay, stage.decay_every, stage.renew, lines]


def _line(line: Line) -> list[Any]:
    own = [line.optimiser] if isinstance(line, Update) else []
    return [line.name, line.moves, line.repeat, line.batch, *own]


@dataclass(frozen=True)
class Pretrained:
    """A folder of states, one file and one log for each key."""

    path: Path

    def holds(self, key: str) -> bool:
        """Whether it is there; the state is written last."""
        return self._state(key).exists()

    def keep(self, key: str, state: State, parts: Sequence[str]) -> None:
        """Writes what the stages have made of these parts."""
        weights = {name: value for name, value in state.weights.items() if name.split(".")[0] in parts}
        checkpoint.save(self._state(key), State(state.place, weights, state.optimisers))

    def take(self, key: str) -> tuple[State, Log]:
        """The state, and the log of how it came about."""
        return checkpoint.load(self._state(key)), Log(self.log(key))

    def _state(self, key: str) -> Path:
        return self.path / f"{key}.safetensors"

    def log(self, key: str) -> Path:
        """The file that tells how the state came about."""
        self.path.mkdir(parents=True, exist_ok=True)
        return self.path / f"{key}.jsonl"


def moved_parts(method: Method, stages: int) -> tuple[str, ...]:
    """The parts that the first stages move."""
    return tuple({part for stage in method.schedule()[:stages] for line in stage.updates for part in line.moves})
