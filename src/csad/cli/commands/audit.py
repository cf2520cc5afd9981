"""The command that audits a run: a verdict in words, tables below it, and audit.json in the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Device, Folder, Json, Quiet
from csad.errors import unknown

# Values of --fail-on, and the verdicts that fail then: who accepts no doubt accepts no leak either.
FAILURES = {"leaks": ("leaks",), "cannot-tell": ("leaks", "cannot tell")}
FAILED = 3


@one_sentence
def audit(
    run: Folder,
    split: Annotated[str, typer.Option(help="Split of the run's data to audit.")] = "test",
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Another run on the same data to compare with, such as a vanilla one."),
    ] = None,
    margin: Annotated[float, typer.Option(help="Smallest AUC above chance that counts as a leak.")] = 0.05,
    level: Annotated[float, typer.Option(help="Confidence level of verdicts and intervals.")] = 0.95,
    among: Annotated[
        str, typer.Option(help="target: compare rows of the same target only; all: compare all rows.")
    ] = "target",
    rows: Annotated[int, typer.Option(help="Largest number of rows for the probes.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    fail_on: Annotated[
        str,
        typer.Option(
            help="leaks: exit with code 3 if the prediction leaks; cannot-tell: also if the rows are too few to tell."
        ),
    ] = "",
    backbone: OwnBackbones = None,
    device: Device = "auto",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test whether a run's predictions leak a bias, and how accurate they are for each group."""
    from csad.auditing.inputs import AuditSettings
    from csad.auditing.of_run import audit_run, check_same_data, check_writable, make_record, write_audit
    from csad.auditing.tables import audit_tables
    from csad.runs.build import name_of
    from csad.runs.run import data_of

    if fail_on and fail_on not in FAILURES:
        raise unknown("value of --fail-on", fail_on, FAILURES)
    settings = AuditSettings(among, margin=margin, level=level, most_rows=rows, seed=seed)
    console = Console(as_json, quiet)
    ours, *others = load_runs([run] if against is None else [run, against], backbone, device)
    theirs = others[0] if others else None
    check_writable(run)
    if theirs is not None:
        check_same_data(ours, theirs)  # before data are read, which may take long
    data = data_of(ours, data_root, call="csad.audit(run, X, y, b)")
    result = audit_run(ours, dataset=data, split=split, against=theirs, settings=settings, tell=console.message)
    record, path, notice = write_audit(make_record(result, ours, data, split, theirs), run)
    failed = bool(fail_on) and result.state in FAILURES[fail_on]

    def show() -> None:
        echo(f"{record.method} on {name_of(record.task)}, {split}, {result.rows:,} rows.")
        echo(result.words)
        if result.comparison is not None:
            echo(result.comparison.words)
        for table in audit_tables(result):
            console.table(table.title, table.head, table.rows)
        for note in result.all_notes:
            echo(f"Note: {note}")
        echo(f"Written: {path}")
        if notice:
            echo(notice)

    if notice and as_json:
        console.message(notice)
    console.answer(record.to_dict() | {"failed": failed}, show)
    if failed:
        raise typer.Exit(FAILED)
