"""Pretraining that several runs share, done once: states after common stages, by a key of what made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csad.methods.method import Line, Method, Stage, Update
from csad.runs.parse import FORMER
from csad.training import checkpoint
from csad.training.checkpoint import State
from csad.training.log import Log

# The training settings of a stage besides its own numbers (epochs, rate).
SHARED = ("batch_size", "partial", "balance", "weight_decay", "optimizer", "precision")


def common_stages(method: Method) -> int:
    """How many stages at the beginning are the same for every method and its settings."""
    count = 0
    for stage in method.schedule():
        if not stage.common:
            break
        count += 1
    return count


def pretraining_key(config: Mapping[str, Any], method: Method, stages: int) -> str:
    """A key that runs share exactly if their first stages are the same computation."""
    identity = {
        "csad": config["csad"],
        "data": config["about"]["fingerprint"],
        "task": config["about"]["name"],
        "net": config["net"],
        "weights": config["about"].get("weights", ""),
        "seed": config["seed"],
        "train": {FORMER.get(name, name): config["train"][name] for name in SHARED},
        "stages": [_stage_identity(stage) for stage in method.schedule()[:stages]],
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:20]


def _stage_identity(stage: Stage) -> list[Any]:
    lines = [_line_identity(line) for line in stage.updates]
    return [stage.name, stage.epochs, stage.rate, stage.decay, stage.decay_every, stage.renew, lines]


def _line_identity(line: Line) -> list[Any]:
    optimizer = [line.optimizer] if isinstance(line, Update) else []
    return [line.name, line.moves, line.repeat, line.batch, *optimizer]


@dataclass(frozen=True)
class Pretrained:
    """A folder of states, one file and one log for each key."""

    path: Path

    def holds(self, key: str) -> bool:
        """Whether there is a state for the key; it is written after the log."""
        return self._state(key).exists()

    def save(self, key: str, state: State, parts: Sequence[str]) -> None:
        """Write the state of these parts."""
        weights = {name: value for name, value in state.weights.items() if name.split(".")[0] in parts}
        checkpoint.save(self._state(key), State(state.place, weights, state.optimizers))

    def load(self, key: str) -> tuple[State, Log]:
        """The state, and the log of the stages that led to it."""
        return checkpoint.read_checkpoint(self._state(key)), Log(self.log(key))

    def _state(self, key: str) -> Path:
        return self.path / f"{key}.safetensors"

    def log(self, key: str) -> Path:
        """The file of the log of the stages that led to the state."""
        self.path.mkdir(parents=True, exist_ok=True)
        return self.path / f"{key}.jsonl"


def moved_parts(method: Method, stages: int) -> tuple[str, ...]:
    """The parts that the first stages move."""
    return tuple({part for stage in method.schedule()[:stages] for line in stage.updates for part in line.moves})
