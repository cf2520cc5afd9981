"""A table of the paper from one command: runs, goes on where it stopped, and is written in four forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from csad.atomic import write_whole
from csad.errors import Diverged
from csad.experiments.answers import Answers, read_answers
from csad.experiments.build import plan_run
from csad.experiments.comparison import compared
from csad.experiments.folder import Folder
from csad.experiments.forecast import carry_out
from csad.experiments.many import Campaign, Means
from csad.experiments.papers_data import others_told, too_few_told
from csad.experiments.people import facts_by_target
from csad.experiments.probing import LEAKAGE
from csad.experiments.selection import rule_of
from csad.experiments.table import Row, Table, read_table
from csad.experiments.wanted import Ready, Wanted
from csad.report.distribution import distribution
from csad.report.latex import as_latex
from csad.report.tables import ResultTable, as_json, as_markdown, cell_of
from csad.report.tradeoff import tradeoff


class Entry(NamedTuple):
    """A row in a column and the seeds of its runs, which make a cell for each metric."""

    row: Row
    column: str
    seeds: Sequence[int]

    def places(self, table: Table, folder: Path, others: Path) -> dict[int, Path]:
        """Where the run of each seed is kept: below ``folder``, or below that of the table which has the row."""
        home = folder if self.row.home == table.name else others / self.row.home
        below = home / self.row.name / self.row.trained_in(table, self.column)
        return {seed: below / str(seed) for seed in self.seeds}


class Reproduced(NamedTuple):
    """A table, where it was written (without an ending), and the runs that diverged and are in no cell."""

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
    **means: Unpack[Means],
) -> Reproduced:
    """The table, its runs trained where they are not there yet; written to ``out`` as JSON, Markdown, LaTeX and a plot.

    Some rows, columns or seeds, or other settings, make a part of the table, written as TABLE-part beside the whole.
    ``settings`` are laid over those of every row, and told in the table's notes.
    """
    table = read_table(name).with_settings(settings or {})
    numbers = table.chosen_seeds(seeds)
    entries = [
        Entry(row, column, numbers) for row in table.chosen_rows(rows) for column in table.chosen_columns(columns)
    ]
    folder = Path(out) if out is not None else Path("runs") / name
    Folder(folder).check_home()
    campaign = Campaign.at(folder / "shared", **means)
    # Rows of another table are looked for where that table is kept by itself; not if this one is kept elsewhere.
    others = folder.parent if out is None and not settings else folder
    result, lost = fill(campaign, table, entries, folder, others, command)
    # A part of a table never takes the place of the whole one.
    path = folder / (f"{name}-part" if rows or columns or seeds or settings else name)
    write(result, path)
    drawn = _drawn(campaign, table, entries[0], result)
    if drawn:
        write_whole(path.with_name(f"{path.name}.svg"), drawn)
    return Reproduced(result, path, lost)


def fill(
    campaign: Campaign, table: Table, entries: Sequence[Entry], folder: Path, others: Path, command: str
) -> tuple[ResultTable, list[str]]:
    """The table with these entries filled, their runs trained where they are not there yet; and the runs lost.

    Runs are kept in ``folder``, those of rows that belong to another table in the folder of that name in ``others``.
    """
    places = [entry.places(table, folder, others) for entry in entries]
    wanted: dict[Path, Wanted] = {}
    for entry, own in zip(entries, places, strict=True):
        for seed, out in own.items():
            run = wanted.get(out) or _wanted(campaign, table, entry, seed, out)
            # Columns that look at several splits of a run ask for it once.
            wanted[out] = replace(run, splits=tuple(dict.fromkeys((*run.splits, table.split_in(entry.column)))))
    ready = {out: campaign.ready(run, resume=True, force=False) for out, run in wanted.items()}
    runs = list(ready.values())
    campaign.begin(runs, resume=True, force=False)
    lost = carry_out(campaign, table.name, runs, "Give the same command again to go on.")
    campaign.programs.clear()
    made = [[ready[out] for out in own.values()] for own in places]
    result = _result(table, entries, made, command)
    if table.compared:
        campaign.teller.say("Comparing the methods row by row, over rows and runs that are drawn anew …")
        result = compared(result, table.compared, _answers(table, entries, made), table.gap)
    return result, lost


def _wanted(campaign: Campaign, table: Table, entry: Entry, seed: int, out: Path) -> Wanted:
    row = entry.row
    _, plan = plan_run(table.task, row.method, row.given(table, entry.column, seed), row.preset, campaign.dataset)
    name = f"{row.name} {row.trained_in(table, entry.column)} seed {seed}"
    return Wanted(name, table.task, row.method, seed, plan, out, metrics=table.metrics, answers=bool(table.compared))


def _result(table: Table, entries: Sequence[Entry], ready: Sequence[Sequence[Ready]], command: str) -> ResultTable:
    environment: dict[str, Any] = {}
    found, missing = [], []
    others, few = ({column: "" for _, column, _ in entries} for _ in range(2))
    for (row, column, _), runs in zip(entries, ready, strict=True):
        others[column] = others_told(runs[0].dataset, table.paper_rows)
        few[column] = too_few_told(runs[0].dataset, table.split_in(column), column, table.fewest)
        results = {run.wanted.seed: result for run in runs if (result := run.result())}
        missing += [run.wanted.name for run in runs if run.wanted.seed not in results]
        split = table.split_in(column)
        environment = next((result["environment"] for result in results.values()), environment)
        for metric in table.metrics if results else ():
            values = {seed: float(result["metrics"][split][metric]) for seed, result in results.items()}
            paper = None if others[column] else row.paper_in(table, column, metric)
            found.append(cell_of(row.name, column, metric, values, paper))
    if not found:
        raise Diverged(f"No run of {table.name} came to its end: see the warnings above.")
    lost = f"Lost, and in no cell: {', '.join(dict.fromkeys(missing))}." if missing else ""
    told = dict.fromkeys(note for note in (*others.values(), *table.notes, *few.values(), lost) if note)
    return ResultTable(
        table=table.name,
        title=table.otherwise or table.title if any(others.values()) else table.title,
        selection=_selection(ready),
        command=command,
        environment=environment,
        cells=found,
        labels={row.name: row.label for row in table.rows} | _metric_labels(table),
        column_title=table.column_title,
        notes=list(told),
        spread=table.spread,
    )


def _selection(ready: Sequence[Sequence[Ready]]) -> str:
    """The rule by which runs take their weights; where rows differ in it, each rule that there is."""
    rules = [rule_of(run.method.course.select_by) for runs in ready for run in runs]
    return "; ".join(dict.fromkeys(rules))


def _answers(
    table: Table, entries: Sequence[Entry], ready: Sequence[Sequence[Ready]]
) -> dict[str, dict[str, dict[int, Answers]]]:
    """What the finished runs said, by column, row and seed."""
    found: dict[str, dict[str, dict[int, Answers]]] = {}
    for (row, column, _), runs in zip(entries, ready, strict=True):
        split = table.split_in(column)
        if own := {run.wanted.seed: read_answers(run, split) for run in runs if run.result()}:
            found.setdefault(column, {})[row.name] = own
    return found


def _drawn(campaign: Campaign, table: Table, entry: Entry, result: ResultTable) -> str:
    """The table's plot as SVG, if it has one; a distribution is that of the data of the first entry's first run."""
    if table.plot:
        return tradeoff(result, table.plot["x"], table.plot["y"])
    if not table.distribution:
        return ""
    row, column, seeds = entry
    given = row.given(table, column, seeds[0])
    dataset, _ = plan_run(table.task, row.method, given, row.preset, campaign.dataset)
    found = facts_by_target(dataset, table.distribution)
    named = {
        split: {table.labels.get(name, name): values for name, values in groups.items()}
        for split, groups in found.items()
    }
    title = f"{table.task}: {table.distribution} of those who are trained and tested on"
    return distribution(named, title=title, x_label=table.distribution, y_label="people")


def _metric_labels(table: Table) -> dict[str, str]:
    known = LEAKAGE | table.labels
    return {metric: known[metric] for metric in table.metrics if metric in known}


def write(result: ResultTable, path: Path) -> None:
    """The table as JSON, Markdown and LaTeX, each in one move; ``path`` has no ending."""
    write_whole(path.with_name(f"{path.name}.json"), json.dumps(as_json(result), indent=2, ensure_ascii=False) + "\n")
    write_whole(path.with_name(f"{path.name}.md"), as_markdown(result))
    write_whole(path.with_name(f"{path.name}.tex"), as_latex(result))
