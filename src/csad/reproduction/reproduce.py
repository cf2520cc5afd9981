"""A table of the paper from one command: it trains the runs, resumes where it stopped, and writes four forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from csad.atomic import write_whole
from csad.auditing.metrics.groups import cell_numbers
from csad.data.samples import Classes, Dataset, Samples
from csad.errors import Diverged, InputError
from csad.messages import message
from csad.report.plots.distribution import distribution
from csad.reproduction.compare import compared
from csad.reproduction.result_table import ResultTable, as_json, as_latex, as_markdown, cell_of
from csad.reproduction.spec import SpecRow, TableSpec, read_spec
from csad.reproduction.tradeoff import tradeoff
from csad.runs.best_epoch import rule_of
from csad.runs.build import plan_run
from csad.runs.evaluate import classes_of_bias
from csad.runs.folder import Folder
from csad.runs.planned_run import PreparedRun, RunRequest
from csad.sweeps.campaign import Campaign, RunOptions
from csad.sweeps.forecast import carry_out
from csad.sweeps.row_predictions import RowPredictions, read_row_predictions


def other_data_note(dataset: Dataset, papers: Mapping[str, int]) -> str:
    """A note if splits have other numbers of rows than the paper's; else empty."""
    rows = {split: len(dataset.splits[split]) for split in papers if split in dataset.splits}
    if rows == dict(papers):
        return ""
    ours, theirs = (", ".join(f"{split} {n:,}" for split, n in counts.items()) for counts in (rows, papers))
    return message("data-differ-from-paper", rows=ours, paper_rows=theirs)


def smallest_cell(dataset: Dataset, split: str) -> int:
    """How many rows the smallest cell of target and all biases has in a split, of those that have any."""
    samples = dataset.splits[split]
    groups = list(classes_of_bias(samples, dataset.task).values())
    known = np.all([group >= 0 for group in groups], axis=0)
    if not known.any():
        return 0
    cells = cell_numbers([samples.y.cpu().numpy()[known], *(group[known] for group in groups)])
    return int(np.bincount(cells).min())  # cells are numbered without gaps


def too_few_rows_note(dataset: Dataset, split: str, column: str, fewest: int) -> str:
    """A note if the smallest cell of a column has fewer tested rows than are needed; else empty."""
    count = smallest_cell(dataset, split) if fewest else 0
    if count >= fewest:
        return ""
    biases = " × ".join(dataset.task.bias_names)
    return message("cell-too-small-to-compare", column=column, biases=biases, count=count)


SHOWN = ("train", "test")


def facts_by_target(dataset: Dataset, fact: str) -> dict[str, dict[str, NDArray[np.float64]]]:
    """A fact of each person, by split (train and test) and by the name of the target class."""
    target = dataset.task.target
    if not isinstance(target, Classes):
        raise InputError("no-classes-for-fact", dataset=dataset.task.name, fact=fact)
    by_split = {}
    for split in SHOWN:
        samples = dataset.splits[split]
        facts, y = _of_people(samples, fact, dataset.task.name)
        by_split[split] = {name: facts[y == place] for place, name in enumerate(target.words)}
    return by_split


def _of_people(samples: Samples, fact: str, task: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The fact and the target of each person; of each row if the data do not tell whose they are."""
    extra: Mapping[str, NDArray[np.float64]] = {name: values.cpu().numpy() for name, values in samples.extra.items()}
    if fact not in extra:
        raise InputError("fact-not-recorded", dataset=task, fact=fact, known=", ".join(extra) or "nothing")
    persons = torch.arange(len(samples)) if samples.persons is None else samples.persons
    first = np.unique(persons.cpu().numpy(), return_index=True)[1]
    return extra[fact][first].astype(np.float64), samples.y.cpu().numpy()[first]


class Entry(NamedTuple):
    """A row in a column and the seeds of its runs, which make a cell for each metric."""

    row: SpecRow
    column: str
    seeds: Sequence[int]

    def places(self, table: TableSpec, folder: Path, others: Path) -> dict[int, Path]:
        """The folder of each seed's run: below ``folder``, or below that of the table that has the row."""
        home = folder if self.row.home == table.name else others / self.row.home
        below = home / self.row.name / self.row.trained_in(table, self.column)
        return {seed: below / str(seed) for seed in self.seeds}


class Reproduced(NamedTuple):
    """A table, its path (without an ending), and the runs that diverged and are in no cell."""

    table: ResultTable
    path: Path
    lost: list[str]


def reproduce(
    name: str,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    seeds: int | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    command: str = "",
    **options: Unpack[RunOptions],
) -> Reproduced:
    """Reproduce a table of the paper; finished runs are used again. Write it as JSON, Markdown, LaTeX and a plot.

    A part of a table (some rows, columns or seeds, or other settings) is written as NAME-part.

    Args:
        name: the table, such as "adult".
        rows: the names of some of its rows; by default all.
        columns: the names of some of its columns; by default all.
        seeds: how many runs a cell has; by default as many as the table's.
        settings: settings that replace those of every row; the table's notes name them.
        out: the folder of runs and table; by default runs/NAME.
        command: the command line, for the table's caption.
        **options: how runs are carried out (``device``, ``data_root``, ``listener``, …), as for ``csad.sweep``.
    """
    table = read_spec(name).with_settings(settings or {})
    numbers = table.chosen_seeds(seeds)
    entries = [
        Entry(row, column, numbers) for row in table.chosen_rows(rows) for column in table.chosen_columns(columns)
    ]
    folder = Path(out) if out is not None else Path("runs") / name
    Folder(folder).check_home()
    campaign = Campaign.at(folder / "shared", **options)
    # Rows of another table are read from that table's folder, unless this table has a folder of its own.
    others = folder.parent if out is None and not settings else folder
    result, lost = fill(campaign, table, entries, folder, others, command)
    # A part of a table never takes the place of the whole one.
    path = folder / (f"{name}-part" if rows or columns or seeds or settings else name)
    write(result, path)
    plot = _plot(campaign, table, entries[0], result)
    if plot:
        write_whole(path.with_name(f"{path.name}.svg"), plot)
    return Reproduced(result, path, lost)


def fill(
    campaign: Campaign, table: TableSpec, entries: Sequence[Entry], folder: Path, others: Path, command: str
) -> tuple[ResultTable, list[str]]:
    """The table with these entries filled, and the runs lost; runs that are missing are trained.

    Runs are written below ``folder``; those of another table's rows below the folder of that name in ``others``.
    """
    places = [entry.places(table, folder, others) for entry in entries]
    requests: dict[Path, RunRequest] = {}
    for entry, folders in zip(entries, places, strict=True):
        for seed, out in folders.items():
            run = requests.get(out) or _request(campaign, table, entry, seed, out)
            # Columns of several splits of a run share one request.
            requests[out] = replace(run, splits=tuple(dict.fromkeys((*run.splits, table.split_in(entry.column)))))
    runs = campaign.begin(list(requests.values()), resume=True, force=False)
    ready = dict(zip(requests, runs, strict=True))
    lost = carry_out(campaign, table.name, runs, "Run the same command again to continue.")
    campaign.trainer.clear()
    prepared = [[ready[out] for out in folders.values()] for folders in places]
    result = _result(table, entries, prepared, command)
    if table.compared:
        campaign.listener.message("Comparing the methods row by row on bootstrapped rows and runs …")
        result = compared(result, table.compared, _predictions(table, entries, prepared), table.gap)
    return result, lost


def _request(campaign: Campaign, table: TableSpec, entry: Entry, seed: int, out: Path) -> RunRequest:
    row = entry.row
    _, plan = plan_run(
        table.task, row.method, row.settings_for(table, entry.column, seed), row.preset, campaign.dataset
    )
    name = f"{row.name} {row.trained_in(table, entry.column)} seed {seed}"
    return RunRequest(
        name, table.task, row.method, seed, plan, out, metrics=table.metrics, row_predictions=bool(table.compared)
    )


def _result(
    table: TableSpec, entries: Sequence[Entry], ready: Sequence[Sequence[PreparedRun]], command: str
) -> ResultTable:
    environment: dict[str, Any] = {}
    cells, missing = [], []
    others, few = ({column: "" for _, column, _ in entries} for _ in range(2))
    for (row, column, _), runs in zip(entries, ready, strict=True):
        others[column] = other_data_note(runs[0].dataset, table.paper_rows)
        few[column] = too_few_rows_note(runs[0].dataset, table.split_in(column), column, table.fewest)
        results = {run.request.seed: result for run in runs if (result := run.result())}
        missing += [run.request.name for run in runs if run.request.seed not in results]
        split = table.split_in(column)
        environment = next((result["environment"] for result in results.values()), environment)
        for metric in table.metrics if results else ():
            values = {seed: float(result["metrics"][split][metric]) for seed, result in results.items()}
            paper = None if others[column] else row.paper_in(table, column, metric)
            cells.append(cell_of(row.name, column, metric, values, paper))
    if not cells:
        raise Diverged(f"No run of {table.name} finished. See the warnings above.")
    lost = message("lost-runs-in-table", runs=", ".join(dict.fromkeys(missing))) if missing else ""
    notes = dict.fromkeys(note for note in (*others.values(), *table.notes, *few.values(), lost) if note)
    return ResultTable(
        table=table.name,
        title=table.otherwise or table.title if any(others.values()) else table.title,
        selection=_selection(ready),
        command=command,
        environment=environment,
        cells=cells,
        labels={row.name: row.label for row in table.rows} | _metric_labels(table),
        column_title=table.column_title,
        notes=list(notes),
        spread=table.spread,
    )


def _selection(ready: Sequence[Sequence[PreparedRun]]) -> str:
    """The rules by which runs select their weights, each once."""
    rules = [rule_of(run.method.course.select_by) for runs in ready for run in runs]
    return "; ".join(dict.fromkeys(rules))


def _predictions(
    table: TableSpec, entries: Sequence[Entry], ready: Sequence[Sequence[PreparedRun]]
) -> dict[str, dict[str, dict[int, RowPredictions]]]:
    """The predictions of the finished runs, by column, row and seed."""
    predictions: dict[str, dict[str, dict[int, RowPredictions]]] = {}
    for (row, column, _), runs in zip(entries, ready, strict=True):
        split = table.split_in(column)
        if by_seed := {run.request.seed: read_row_predictions(run, split) for run in runs if run.result()}:
            predictions.setdefault(column, {})[row.name] = by_seed
    return predictions


def _plot(campaign: Campaign, table: TableSpec, entry: Entry, result: ResultTable) -> str:
    """The table's plot as SVG, or empty; a distribution is of the data of the first entry's first run."""
    if table.plot:
        return tradeoff(result, table.plot["x"], table.plot["y"])
    if not table.distribution:
        return ""
    row, column, seeds = entry
    settings = row.settings_for(table, column, seeds[0])
    dataset, _ = plan_run(table.task, row.method, settings, row.preset, campaign.dataset)
    facts = facts_by_target(dataset, table.distribution)
    named = {
        split: {table.labels.get(name, name): values for name, values in groups.items()}
        for split, groups in facts.items()
    }
    title = f"{table.task}: {table.distribution} of the people in the training and test rows"
    return distribution(named, title=title, x_label=table.distribution, y_label="people")


def _metric_labels(table: TableSpec) -> dict[str, str]:
    return {metric: table.labels[metric] for metric in table.metrics if metric in table.labels}


def write(result: ResultTable, path: Path) -> None:
    """The table as JSON, Markdown and LaTeX, each in one move; ``path`` has no ending."""
    write_whole(path.with_name(f"{path.name}.json"), json.dumps(as_json(result), indent=2, ensure_ascii=False) + "\n")
    write_whole(path.with_name(f"{path.name}.md"), as_markdown(result))
    write_whole(path.with_name(f"{path.name}.tex"), as_latex(result))
