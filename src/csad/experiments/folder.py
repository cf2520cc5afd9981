"""A run is a folder: config.toml, rows.json, preparation.json, log.jsonl, checkpoint/, result.json; no pickle."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csad.atomic import write_whole
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Number, Task
from csad.data.tables.owned import OwnTable
from csad.data.tables.preparations import AnyPreparation, preparation_from
from csad.errors import InputError
from csad.experiments.digests import FILE as ROWS
from csad.experiments.digests import check_rows, rows_text
from csad.experiments.sealed import sealed, unsealed
from csad.experiments.values import toml

# What commands of csad write into a run's folder, and what stands there while one of them does.
OURS = (
    "config.toml", "rows.json", "preparation.json", "log.jsonl", "tensorboard", "checkpoint", "epochs", "answers",
    "choice.json", "result.json", "audit.json", "report.html", "audit-before-resume.json", "report-before-resume.html",
)  # fmt: skip


@dataclass(frozen=True)
class Folder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """The resolved settings: enough to run it again."""
        return self.path / "config.toml"

    @property
    def preparation(self) -> Path:
        """How the rows of a table of one's own become x; no other run has it."""
        return self.path / "preparation.json"

    @property
    def log(self) -> Path:
        """One JSON line per logged step."""
        return self.path / "log.jsonl"

    @property
    def checkpoint(self) -> Path:
        """Weights, optimisers and place."""
        return self.path / "checkpoint" / "state.safetensors"

    @property
    def result(self) -> Path:
        """The figures, once the run has come to its end."""
        return self.path / "result.json"

    def answers(self, split: str) -> Path:
        """What it said of each row of a split, if it is one of several methods that are compared row by row."""
        return self.path / "answers" / f"{split}.safetensors"

    def check_free(self, *, resume: bool, force: bool) -> None:
        """Nothing, or an error where plainly no run can begin: better before data are read, which may take long."""
        if self.path.exists() and not self.path.is_dir():
            raise self._not_ours()
        if not resume and not force and self._holds_run():
            raise self._taken()

    def check_home(self) -> None:
        """Nothing, or an error where runs cannot be kept below this folder, since it is one itself."""
        if self._holds_run():
            raise InputError(f"{self.path} holds a run itself, and several are kept below --out: give another --out.")

    def check(self, config: Mapping[str, Any], *, resume: bool, force: bool) -> bool:
        """Whether there is an earlier sitting to go on from; an error where none may begin. Nothing is written."""
        if resume and force:
            raise InputError("--resume goes on with a run and --force begins it anew: give one of the two.")
        if self._holds_run():
            if resume:
                self._same(config)
                return True
            if not force:
                raise self._taken()
        elif self.path.exists() and (not self.path.is_dir() or self._holds_others()):
            raise self._not_ours()
        elif resume:
            raise InputError(f"{self.path} holds no run to go on with: leave --resume out to begin one.")
        return False

    def begin(self, config: Mapping[str, Any], *, resume: bool, force: bool, dataset: Dataset | None = None) -> bool:
        """Whether there is an earlier sitting to go on from; an existing run is never overwritten unasked.

        Beside the config it keeps a digest of each split of the ``dataset``, and how x is made of a table of one's own.
        """
        again = self.check(config, resume=resume, force=force)
        if again and dataset is not None:
            check_rows(self.path, dataset)
        fresh = not self.path.exists()
        try:
            if not again:
                self._empty()
                self.path.mkdir(parents=True, exist_ok=True)
                write_whole(self.config, toml(dict(config)))
                if dataset is not None:
                    write_whole(self.path / ROWS, rows_text(dataset))
            if isinstance(dataset, OwnTable):
                write_whole(self.preparation, sealed(dataset.preparation.to_dict()))
        except OSError as error:
            if fresh:
                shutil.rmtree(self.path, ignore_errors=True)
            raise InputError(f"{self.path} cannot be written ({error.strerror}): give another --out.") from error
        return again

    def _taken(self) -> InputError:
        advice = "give --resume to go on with it, --force to begin anew, or another --out"
        return InputError(f"{self.path} already holds a run: {advice}.")

    def _not_ours(self) -> InputError:
        return InputError(f"{self.path} exists and is not a run of csad: give another --out.")

    def _empty(self) -> None:
        """Removes what csad wrote of the run; its config last, so that it is a run until it is gone. The rest stays."""
        entries = set(self.path.iterdir()) - set(self.others()) if self.path.is_dir() else set()
        for entry in sorted(entries, key=lambda entry: (entry == self.config, entry)):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def others(self) -> list[Path]:
        """What lies there that the run did not bring along, such as notes, or a file that was exported."""
        return [entry for entry in sorted(self.path.iterdir()) if entry.name.removesuffix(".new") not in OURS]

    def _holds_others(self) -> bool:
        """Whether there is anything but what a kill leaves of a run that was just begun."""
        return any(entry.name != f"{self.config.name}.new" for entry in self.path.iterdir())

    def _holds_run(self) -> bool:
        """Whether csad made this folder: others have a config.toml too, and must not be emptied."""
        try:
            return self.config.is_file() and "csad" in self.read_config()
        except OSError as error:
            raise InputError(f"{self.path} cannot be a run folder ({error.strerror}): give another --out.") from error

    def read_config(self) -> dict[str, Any]:
        """The run's settings."""
        if not self.config.is_file():
            several = sorted(self.path.glob("*/config.toml"))
            if several:
                raise InputError(f"{self.path} holds several runs: give one of them, as '{several[0].parent}'.")
            raise InputError(
                f"{self.path} is not a run folder (it holds no config.toml): give one that csad train made."
            )
        try:
            return tomllib.loads(self.config.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            advice = f"remove {self.path} and train the run again, or give another --out"
            raise InputError(f"{self.config} cannot be read ({error}): {advice}.") from error

    def read_preparation(self) -> AnyPreparation | None:
        """How rows become x, of a run that was trained on a table of one's own."""
        if not self.preparation.exists():
            return None
        return preparation_from(unsealed(self.preparation))

    def read_result(self) -> dict[str, Any] | None:
        """The figures of a run that came to its end."""
        if not self.result.exists():
            return None
        try:
            found: dict[str, Any] = json.loads(self.result.read_text(encoding="utf-8"))
            found["metrics"]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{self.result} cannot be read ({error}): remove it and go on with the run.") from error
        return found

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Writes the figures: the last thing a run does, so that one without them is not finished."""
        write_whole(self.result, json.dumps(result, indent=2) + "\n")

    def _same(self, config: Mapping[str, Any]) -> None:
        before, now = _flat(self.read_config()), _flat(tomllib.loads(toml(dict(config))))
        changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        if "about.fingerprint" in changed:
            raise InputError(f"{self.path} was begun with other training data: give the same, or another --out.")
        changed -= {"about.pixels"}  # which runs of earlier times do not tell, and the fingerprint knows
        if changed:
            told = ", ".join(sorted(changed))
            advice = "give the same ones to go on with it, or another --out"
            raise InputError(f"{self.path} was begun with other settings ({told}): {advice}.")


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """``{"section.key": value}``."""
    flat = {key: value for key, value in config.items() if not isinstance(value, dict)}
    tables = {key: table for key, table in config.items() if isinstance(table, dict)}
    return flat | {f"{section}.{key}": value for section, table in tables.items() for key, value in table.items()}


def describe(task: Task) -> dict[str, Any]:
    """The task as plain values, so that a run can be loaded without its data."""
    return {
        "name": task.name,
        "shape": task.shape,
        "target": _label(task.target),
        "target_names": task.target.names if isinstance(task.target, Classes) else (),
        "biases": tuple(_label(bias) for bias in task.biases),
        "bias_names": task.bias_names,
        "bias_classes": tuple(bias.names if isinstance(bias, Classes) else () for bias in task.biases),
        "related": task.related.rule,
        "tolerance": task.related.tolerance,
    }


def task_from(about: Mapping[str, Any]) -> Task:
    """The task that ``describe`` described."""
    target = Classes(about["target"], tuple(about["target_names"])) if about["target"] else Number()
    return Task(
        name=about["name"],
        shape=tuple(about["shape"]),
        target=target,
        biases=tuple(
            Classes(count, tuple(names)) if count else Number()
            for count, names in zip(about["biases"], about["bias_classes"], strict=True)
        ),
        bias_names=tuple(about["bias_names"]),
        related=Related(about["related"], tuple(about["tolerance"])),
    )


def _label(label: Classes | Number) -> int:
    """The number of classes, 0 for a number."""
    return int(label.count) if isinstance(label, Classes) else 0
