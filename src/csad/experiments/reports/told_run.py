"""One run, and its data, as a report tells them: plain words and numbers, no path, no row of the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from csad.data.samples import Classes, Dataset, Number
from csad.data.tables.file_columns import PLACES
from csad.data.tables.owned import OwnTable
from csad.experiments.account import made_with
from csad.experiments.reading import name_of
from csad.experiments.run import Run
from csad.report.findings import Told

PATHS = (*PLACES, "weights")  # settings that hold paths: of these the name alone is told


def told_run(run: Run, name: str, audit: Mapping[str, Any]) -> Told:
    """The run with its audit as a report tells it: curves, warnings, settings."""
    curves, held_out = (
        {figure.replace("_", " "): points for figure, points in run.log.points(key).items()}
        for key in ("losses", "validation")
    )
    unfinished = [] if run.result else ["This run has not come to its end: its figures are of its last checkpoint."]
    sections = {
        name: {key: _shown_value(key, value) for key, value in run.config[name].items()}
        for name in ("settings", "train", "net", "data")
    }
    warned = [*unfinished, *run.log.warnings()]
    choice = run.result.get("choice") or {}
    return Told(
        name, run.config["method"], audit, curves, held_out, run.log.starts(), warned, sections, _facts(run), choice
    )


def _facts(run: Run) -> dict[str, str]:
    found = {"task": name_of(run.config["task"]), "method": run.config["method"], "seed": str(run.config["seed"])}
    if run.result:
        found |= {
            "weights of": run.result["selection"],
            **({"threshold": run.result["threshold"]["why"]} if "threshold" in run.result else {}),
            "updates of the target branch": f"{run.result['target_updates']:,}",
            "seconds of training": f"{run.result['seconds']:,.0f}",
            "made with": made_with(run.result["environment"]),
        }
    return found | {"parameters": f"{sum(weight.numel() for weight in run.method.parameters()):,}"}


def described(run: Run, dataset: Dataset) -> dict[str, str]:
    """What the data are, without any row of theirs."""
    rows = ", ".join(f"{name} {len(samples):,}" for name, samples in dataset.splits.items())
    task = dataset.task
    found = {"data": name_of(run.config["task"]), "rows": rows, "target": _kind(task.target)}
    found |= {f"bias {name}": _kind(kind) for name, kind in zip(task.bias_names, task.biases, strict=True)}
    if not isinstance(dataset, OwnTable):
        return found | {"inputs": f"x of shape {' × '.join(map(str, task.shape))}"}
    notices = {"notices": " ".join(dataset.notices)} if dataset.notices else {}
    return found | {"inputs": dataset.preparation.told()} | notices


def column_lines(dataset: Dataset) -> list[list[str]]:
    """Each column of a table of one's own: its name, what it holds, what becomes of it."""
    return [list(line) for line in dataset.columns] if isinstance(dataset, OwnTable) else []


def _kind(kind: Classes | Number) -> str:
    if isinstance(kind, Number):
        return "a number"
    names = ", ".join(kind.names[:12]) + (", …" if len(kind.names) > 12 else "")
    return f"{kind.count} classes" + (f": {names}" if names else "")


def _shown_value(key: str, value: Any) -> str:
    if key in PATHS and isinstance(value, str) and value:
        return Path(value).name
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value == "" else str(value)
