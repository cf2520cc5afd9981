"""All that a report says of runs: audits, training, what the models use; gathered once for page and card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from csad.auditing.audit import AuditRecord
from csad.auditing.of_run import audit_for, check_same_data, request_like, stored_audit
from csad.data.own.dataset import TableDataset
from csad.data.own.linked_files import PLACES
from csad.data.samples import Classes, Dataset, Number
from csad.errors import InputError
from csad.messages import message
from csad.report.explain import color_maps, column_importance, is_table, mean_attention
from csad.report.findings import Attention, Findings, Importance, RunSummary
from csad.report.shown_data import shown_data
from csad.runs.build import name_of
from csad.runs.run import Run, data_of, made_with

PATHS = (*PLACES, "weights")  # settings that hold paths, of which a report shows the last part alone


def summarize_run(run: Run, name: str, record: AuditRecord) -> RunSummary:
    """The run with its audit as a report shows it: curves, warnings, settings."""
    curves, held_out = (
        {figure.replace("_", " "): points for figure, points in run.log.points(key).items()}
        for key in ("losses", "validation")
    )
    unfinished = [] if run.result else [message("run-not-finished")]
    return RunSummary(
        name,
        run.config["method"],
        record,
        curves,
        held_out,
        breaks=run.log.starts(),
        warnings=[*unfinished, *run.log.warnings()],
        settings={
            section: {key: _shown_value(key, value) for key, value in run.config[section].items()}
            for section in ("settings", "train", "net", "data")
        },
        facts=_facts(run),
        choice=run.result.get("choice") or {},
    )


def _facts(run: Run) -> dict[str, str]:
    facts = {"task": name_of(run.config["task"]), "method": run.config["method"], "seed": str(run.config["seed"])}
    if run.result:
        facts |= {
            "weights of": run.result["selection"],
            **({"threshold": run.result["threshold"]["why"]} if "threshold" in run.result else {}),
            "updates of the target branch": f"{run.result['target_updates']:,}",
            "training time in seconds": f"{run.result['seconds']:,.0f}",
            "made with": made_with(run.result["environment"]),
        }
    return facts | {"parameters": f"{sum(weight.numel() for weight in run.method.parameters()):,}"}


def describe_data(run: Run, dataset: Dataset) -> dict[str, str]:
    """What the data are, without any of their rows."""
    rows = ", ".join(f"{name} {len(samples):,}" for name, samples in dataset.splits.items())
    task = dataset.task
    facts = {"data": name_of(run.config["task"]), "rows": rows, "target": _kind(task.target)}
    facts |= {f"bias {name}": _kind(kind) for name, kind in zip(task.bias_names, task.biases, strict=True)}
    if not isinstance(dataset, TableDataset):
        return facts | {"inputs": f"x of shape {' × '.join(map(str, task.shape))}"}
    notices = {"notices": " ".join(dataset.notices)} if dataset.notices else {}
    return facts | {"inputs": dataset.preparation.describe()} | notices


def describe_columns(dataset: Dataset) -> list[list[str]]:
    """For each column of a user's table its name, what it holds, and what becomes of it."""
    return [list(line) for line in dataset.columns] if isinstance(dataset, TableDataset) else []


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


BEFORE = "vanilla"  # the method that others are compared with
FEWEST = 16  # rows whose mean attention map hides each single one


def findings_of(
    runs: Sequence[Run],
    *,
    against: Run | None = None,
    data_root: Path | None = None,
    show_data: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Findings:
    """All that a report shows of runs on the same data; the verdict is on the first.

    An audit that a folder lacks, or that is of other weights or rows, is made first and written there.

    Args:
        runs: the runs, each with a folder.
        against: the run that the first is compared with; by default the first vanilla run among the rest.
        data_root: the folder of the data sets, as for ``csad.train``.
        show_data: whether rows and pictures of the data are shown.
        tell: a function that receives a line on each step.
    """
    tell = tell or (lambda _: None)
    main = runs[0]
    if against is None and main.config["method"] != BEFORE:
        against = next((run for run in runs[1:] if run.config["method"] == BEFORE), None)
    if against is not None and _folder(against) == _folder(main):
        raise InputError("run-against-itself")
    every = _without_duplicates([*runs, *([against] if against else [])])
    for run in every[1:]:
        check_same_data(main, run)
    dataset = data_of(main, data_root)
    every = [replace(run, view=dataset.view) for run in every]
    request, names = request_like(stored_audit(main, dataset)), _names(every)
    summaries, notes = [], []
    for k, (run, name) in enumerate(zip(every, names, strict=True)):
        record, note = audit_for(run, name, dataset, request, None if k else against, tell)
        summaries.append(summarize_run(run, name, record))
        notes += [note] if note else []
    pair, before = {names[0]: every[0]}, None
    if against is not None:
        k = [_folder(run) for run in every].index(_folder(against))
        pair, before = {names[k]: every[k]} | pair, summaries[k]
    title = f"{summaries[0].name} on {name_of(main.config['task'])}"
    findings = Findings(title, summaries, before, notes, describe_data(main, dataset), describe_columns(dataset))
    tell("Computing what the models rely on …")
    findings = _explained(findings, pair, dataset, request.split, show_data)
    if show_data:
        columns = [column.column for column in findings.ranked_columns]
        findings = replace(findings, shown=shown_data(pair, dataset, request.split, columns))
    return findings


def _explained(findings: Findings, pair: Mapping[str, Run], dataset: Dataset, split: str, show_data: bool) -> Findings:
    samples = dataset.splits[split]
    if not is_table(dataset):
        findings = replace(findings, color_maps=color_maps(pair, dataset, split))
        if len(samples) < FEWEST and not show_data:
            hidden = message("attention-map-hidden", rows=len(samples))
            return replace(findings, notes=[*findings.notes, hidden])
        maps, rows = mean_attention(pair, samples)
        return replace(findings, attention=Attention(maps, len(dataset.task.shape) == 2, rows))
    measured = {name: column_importance(run, samples) for name, run in pair.items()}
    columns = zip(*(importances for importances, _ in measured.values()), strict=True)
    importance = [
        Importance(
            column[0].column,
            {name: (of_run.mean, of_run.std) for name, of_run in zip(measured, column, strict=True)},
            {name: of_run.changed for name, of_run in zip(measured, column, strict=True)},
        )
        for column in columns
    ]
    return replace(findings, importance=importance, repeats=next(iter(measured.values()))[1])


def _without_duplicates(runs: Sequence[Run]) -> list[Run]:
    """The runs, each once; a folder may be named in several ways."""
    unique: dict[Path, Run] = {}
    for run in runs:
        unique.setdefault(_folder(run), run)
    return list(unique.values())


def _folder(run: Run) -> Path:
    if run.folder is None:
        raise InputError("run-without-folder")
    return run.folder.resolve()


def _names(runs: Sequence[Run]) -> list[str]:
    """``csad seed 0``; with the folder's name if others have the same name."""
    names = [f"{run.config['method']} seed {run.config['seed']}" for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({_folder(run).name})"
        for name, run in zip(names, runs, strict=True)
    ]
