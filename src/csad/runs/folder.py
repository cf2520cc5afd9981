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
from csad.auditing.metrics.metric import METRICS
from csad.data.own.dataset import TableDataset
from csad.data.own.load_preprocessor import load_preprocessor
from csad.data.own.preprocessor import AnyPreprocessor
from csad.data.samples import Dataset
from csad.errors import InputError
from csad.messages import message
from csad.runs.digests import ROWS_FILE, check_rows, read_with_digest, rows_text, write_with_digest
from csad.runs.parse import current_names, toml

# What commands of csad write into a run's folder, for good or for as long as they run.
OURS = (
    "config.toml", "rows.json", "preparation.json", "log.jsonl", "tensorboard", "checkpoint", "epochs", "answers",
    "choice.json", "result.json", "audit.json", "report.html", "audit-before-resume.json", "report-before-resume.html",
)  # fmt: skip


TRAIN_ALIKE = ("0.1.0", "0.2.0")  # versions of csad that train to the same weights: each resumes the other's runs
REPORTS = ("audit.json", "report.html")  # what commands write into a run's folder about its weights


@dataclass(frozen=True)
class Folder:
    """The folder of one run, and the files in it."""

    path: Path

    @property
    def config(self) -> Path:
        """The file of the resolved settings: enough to run it again."""
        return self.path / "config.toml"

    @property
    def preparation(self) -> Path:
        """The file that says how rows of the user's own table become x; other runs have none."""
        return self.path / "preparation.json"

    @property
    def log(self) -> Path:
        """The file with one JSON line per logged step."""
        return self.path / "log.jsonl"

    @property
    def checkpoint(self) -> Path:
        """The file of weights, optimizers and place in the schedule."""
        return self.path / "checkpoint" / "state.safetensors"

    @property
    def result(self) -> Path:
        """The file of the metrics; a run without it is not finished."""
        return self.path / "result.json"

    def row_predictions(self, split: str) -> Path:
        """The file of what the run predicts for each row of a split; only runs that are compared by row have one."""
        return self.path / "answers" / f"{split}.safetensors"

    def check_free(self, *, resume: bool, force: bool) -> None:
        """Raise InputError if plainly no run can begin here. Called before data are read, which may take long."""
        if self.path.exists() and not self.path.is_dir():
            raise self._not_ours()
        if not resume and not force and self._holds_run():
            raise self._occupied()

    def check_home(self) -> None:
        """Raise InputError if this folder is a run itself, so that runs cannot be kept below it."""
        if self._holds_run():
            raise InputError("out-is-a-run", folder=self.path)

    def check(self, config: Mapping[str, Any], *, resume: bool, force: bool) -> bool:
        """Whether there is a run to resume; raise InputError if none may begin. Nothing is written."""
        if resume and force:
            raise InputError("resume-and-force")
        if self._holds_run():
            if resume:
                self._same(config)
                return True
            if not force:
                raise self._occupied()
        elif self.path.exists() and (not self.path.is_dir() or self._holds_others()):
            raise self._not_ours()
        elif resume:
            raise InputError("no-run-to-resume", folder=self.path)
        return False

    def begin(self, config: Mapping[str, Any], *, resume: bool, force: bool, dataset: Dataset | None = None) -> bool:
        """Make the folder; return whether there is a run to resume. An existing run is never overwritten unasked.

        With the config it keeps a digest of each split of the ``dataset`` and how rows of the user's table become x.
        """
        resumes = self.check(config, resume=resume, force=force)
        if resumes and dataset is not None:
            check_rows(self.path, dataset)
        fresh = not self.path.exists()
        try:
            if not resumes:
                self._empty()
                self.path.mkdir(parents=True, exist_ok=True)
                write_whole(self.config, toml(dict(config)))
                if dataset is not None:
                    write_whole(self.path / ROWS_FILE, rows_text(dataset))
            if isinstance(dataset, TableDataset):
                write_whole(self.preparation, write_with_digest(dataset.preparation.to_dict()))
        except OSError as error:
            if fresh:
                shutil.rmtree(self.path, ignore_errors=True)
            raise InputError("out-not-writable", file=self.path, reason=error.strerror) from error
        return resumes

    def _occupied(self) -> InputError:
        return InputError("run-exists-already", folder=self.path)

    def _not_ours(self) -> InputError:
        return InputError("folder-not-a-run", path=self.path)

    def _empty(self) -> None:
        """Remove what csad wrote; the config last, so that the folder is a run until all is gone. Other files stay."""
        entries = set(self.path.iterdir()) - set(self.others()) if self.path.is_dir() else set()
        for entry in sorted(entries, key=lambda entry: (entry == self.config, entry)):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def others(self) -> list[Path]:
        """Files that csad did not write with the run, such as notes or an exported model."""
        return [entry for entry in sorted(self.path.iterdir()) if entry.name.removesuffix(".new") not in OURS]

    def _holds_others(self) -> bool:
        """Whether the folder holds more than what a killed process leaves of a run that had just begun."""
        return any(entry.name != f"{self.config.name}.new" for entry in self.path.iterdir())

    def _holds_run(self) -> bool:
        """Whether csad made this folder. Other programs write a config.toml too; such folders must not be emptied."""
        try:
            return self.config.is_file() and "csad" in self.read_config()
        except OSError as error:
            raise InputError("run-folder-inaccessible", folder=self.path, reason=error.strerror) from error

    def read_config(self) -> dict[str, Any]:
        """Read the run's settings."""
        if not self.config.is_file():
            several = sorted(self.path.glob("*/config.toml"))
            if several:
                raise InputError("folder-holds-several-runs", folder=self.path, example=several[0].parent)
            raise InputError("run-config-missing", folder=self.path)
        try:
            return current_names(tomllib.loads(self.config.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            advice = f"remove {self.path} and train the run again, or give another --out"
            raise InputError("run-config-unreadable", file=self.config, reason=error, advice=advice) from error

    def read_preparation(self) -> AnyPreprocessor | None:
        """Read how rows become x; None if the run was not trained on the user's own table."""
        if not self.preparation.exists():
            return None
        return load_preprocessor(read_with_digest(self.preparation))

    def read_result(self) -> dict[str, Any] | None:
        """Read the result; None if the run is not finished."""
        if not self.result.exists():
            return None
        try:
            result: dict[str, Any] = json.loads(self.result.read_text(encoding="utf-8"))
            splits = result["metrics"].items()
            result["metrics"] = {
                split: {METRICS.canonical(n): v for n, v in values.items()} for split, values in splits
            }
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError("run-result-unreadable", file=self.result, reason=error) from error
        return result

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write the result. It is written last, so that a run without it is not finished."""
        write_whole(self.result, json.dumps(result, indent=2) + "\n")

    def rename_stale_reports(self) -> str:
        """Rename reports that describe the weights before training resumed; return a notice, or an empty text."""
        renamed = []
        for name in REPORTS:
            path = self.path / name
            if path.is_file():
                aside = path.with_name(f"{path.stem}-before-resume{path.suffix}")
                path.replace(aside)
                renamed.append(f"{name} is now {aside.name}")
        if not renamed:
            return ""
        return message("reports-renamed-on-resume", moves="; ".join(renamed))

    def to_be_removed(self) -> str:
        """What goes with the weights, and what stays though it may tell of them, when a run begins anew."""
        reports = [name for name in REPORTS if (self.path / name).is_file()]
        others = [entry.name for entry in self.others()] if self.path.is_dir() else []
        sentences = []
        if reports:
            sentences.append(message("earlier-reports-removed", files=" and ".join(reports), folder=self.path))
        if others:
            sentences.append(message("other-files-kept", files=", ".join(others), folder=self.path))
        return " ".join(sentences)

    def _same(self, config: Mapping[str, Any]) -> None:
        """Raise InputError if the run began with another config."""
        before, now = _flat(self.read_config()), _flat(tomllib.loads(toml(dict(config))))
        changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        if "about.fingerprint" in changed:
            raise InputError("training-data-changed", folder=self.path)
        if all(version in TRAIN_ALIKE for version in (before.get("csad"), now["csad"])):
            changed -= {"csad"}
        changed -= {"about.pixels"}  # configs of earlier versions lack it, and the fingerprint depends on it
        if changed:
            names = ", ".join(sorted(changed))
            raise InputError("run-settings-changed", folder=self.path, settings=names)


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """``{"section.key": value}``."""
    flat = {key: value for key, value in config.items() if not isinstance(value, dict)}
    tables = {key: table for key, table in config.items() if isinstance(table, dict)}
    return flat | {f"{section}.{key}": value for section, table in tables.items() for key, value in table.items()}
