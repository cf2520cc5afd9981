"""All that a report tells of runs: audits, training, what the models go by; gathered once for page and card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from csad.data.samples import Dataset
from csad.errors import InputError
from csad.experiments.audits.found import audit_for, kept_audit, wanted_by
from csad.experiments.audits.of_run import check_same_data
from csad.experiments.reading import data_of, name_of
from csad.experiments.reports.explaining import attention_of, is_table, worth_of_columns
from csad.experiments.reports.shown_rows import shown_rows
from csad.experiments.reports.told_run import column_lines, described, told_run
from csad.experiments.run import Run
from csad.report.explained import ranked_columns
from csad.report.findings import Attention, Findings, Importance, Shown

BEFORE = "vanilla"  # the method that others are held against
FEWEST = 16  # rows of which a mean map hides each single one


def findings_of(
    runs: Sequence[Run],
    *,
    against: Run | None = None,
    data_root: Path | None = None,
    show_data: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Findings:
    """What a page tells of runs on the same data; the verdict is on the first.

    It is held ``against`` another, or the first vanilla one among the rest. An audit that a folder lacks, or that
    is of other weights or rows, is made first and kept there.
    """
    tell = tell or (lambda _: None)
    main = runs[0]
    if against is None and main.config["method"] != BEFORE:
        against = next((run for run in runs[1:] if run.config["method"] == BEFORE), None)
    if against is not None and _place(against) == _place(main):
        raise InputError("A run cannot be held against itself: give another run with --against.")
    every = _each_once([*runs, *([against] if against else [])])
    for run in every[1:]:
        check_same_data(main, run)
    dataset = data_of(main, data_root)
    every = [replace(run, view=dataset.view) for run in every]
    wanted, names = wanted_by(kept_audit(main, dataset)), _names(every)
    told, notes = [], []
    for k, (run, name) in enumerate(zip(every, names, strict=True)):
        audit, note = audit_for(run, name, dataset, wanted, None if k else against, tell)
        told.append(told_run(run, name, audit))
        notes += [note] if note else []
    pair, before = {names[0]: every[0]}, None
    if against is not None:
        k = [_place(run) for run in every].index(_place(against))
        pair, before = {names[k]: every[k]} | pair, told[k]
    found = Findings(
        f"{told[0].name} on {name_of(main.config['task'])}", told, before, notes, described(main, dataset),
        column_lines(dataset),
    )  # fmt: skip
    tell("Looking at what the models go by …")
    found = _explained(found, pair, dataset, wanted.split, show_data)
    return replace(found, shown=_shown(found, pair, dataset, wanted.split)) if show_data else found


def _explained(found: Findings, pair: Mapping[str, Run], dataset: Dataset, split: str, show_data: bool) -> Findings:
    samples = dataset.splits[split]
    if not is_table(dataset):
        if len(samples) < FEWEST and not show_data:
            hidden = f"Where it looks is not drawn: in the mean of {len(samples)} rows a single one could be seen."
            return replace(found, notes=[*found.notes, hidden])
        maps, rows = attention_of(pair, samples)
        return replace(found, attention=Attention(maps, len(dataset.task.shape) == 2, rows))
    worth = {name: worth_of_columns(run, samples) for name, run in pair.items()}
    columns = zip(*(found for found, _ in worth.values()), strict=True)
    importance = [
        Importance(
            several[0].column,
            {name: (one.mean, one.std) for name, one in zip(worth, several, strict=True)},
            {name: one.changed for name, one in zip(worth, several, strict=True)},
        )
        for several in columns
    ]
    return replace(found, importance=importance, repeats=next(iter(worth.values()))[1])


def _shown(found: Findings, pair: Mapping[str, Run], dataset: Dataset, split: str) -> Shown:
    return shown_rows(pair, dataset, split, [one.column for one in ranked_columns(found)])


def _each_once(runs: Sequence[Run]) -> list[Run]:
    """The runs without those that come twice; a folder may be named in several ways."""
    found: dict[Path, Run] = {}
    for run in runs:
        found.setdefault(_place(run), run)
    return list(found.values())


def _place(run: Run) -> Path:
    if run.folder is None:
        raise InputError("A run that was not kept in a folder has no audit to report: train it with out=.")
    return run.folder.resolve()


def _names(runs: Sequence[Run]) -> list[str]:
    """``csad seed 0``; with the folder's name where others are called alike."""
    names = [f"{run.config['method']} seed {run.config['seed']}" for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({_place(run).name})"
        for name, run in zip(names, runs, strict=True)
    ]
