"""The command that makes a table of the paper, or checks one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from csad.cli.backbones import backbones_in, find_modules_here
from csad.cli.completion import tables
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Deterministic, Device, Json, KeepWeights, NoRecord, Overrides, Quiet
from csad.errors import InputError


@one_sentence
def reproduce(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="csad list tables.", autocompletion=tables)],
    methods: Annotated[str, typer.Option(help="Some rows only: csad,vanilla.")] = "",
    columns: Annotated[str, typer.Option(help="Some columns only: 0.020,0.050.")] = "",
    seeds: Annotated[
        int | None,
        typer.Option(help="How many seeds; if not given the table's own, with --check as many as committed."),
    ] = None,
    set_: Overrides = None,
    check: Annotated[
        bool, typer.Option("--check", help="Hold a committed table against fresh runs with other seeds: pass or fail.")
    ] = False,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What --check reads; docs/results/TABLE.json if not given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where runs and table go; runs/TABLE, or runs/TABLE-check, if not given.")
    ] = None,
    keep_weights: KeepWeights = False,
    device: Device = "auto",
    deterministic: Deterministic = False,
    no_record: NoRecord = False,
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a table of the paper, the paper's numbers beside ours; what is there already is not done again."""
    import shlex

    from csad.experiments.plan import from_words
    from csad.experiments.reproduce import reproduce as make_table
    from csad.report.tables import as_json as table_as_json
    from csad.report.tables import as_rows, captions

    console = Console(as_json, quiet)
    told = [f"--{name} {shlex.quote(str(value))}" for name, value in
            (("methods", methods), ("columns", columns), ("seeds", seeds), ("against", against)) if value]  # fmt: skip
    told += [f"--set {shlex.quote(word)}" for word in set_ or []]
    settings = from_words(set_ or [])
    find_modules_here(backbones_in(settings))
    options: dict[str, Any] = {
        "rows": _names(methods), "columns": _names(columns), "seeds": seeds, "settings": settings,
        "out": out, "keep_weights": keep_weights, "device": device, "deterministic": deterministic,
        "record": not no_record, "data_root": data_root, "teller": console,
        "command": " ".join(["csad reproduce", table, *["--check"] * check, *told]),
    }  # fmt: skip
    if check:
        _check(console, table, against, options)
        return
    if against is not None:
        raise InputError("--against names the file that --check reads: give --check too.")
    made = make_table(table, **options)

    def show() -> None:
        console.table(made.table.title, *as_rows(made.table))
        for line in captions(made.table):
            echo(line)
        drawn = ", .svg" if made.path.with_name(f"{made.path.name}.svg").exists() else ""
        echo(f"Written: {made.path}.json, .md, .tex{drawn}")

    console.answer(table_as_json(made.table) | {"out": str(made.path.parent), "lost": made.lost}, show)
    console.tell_lost(made.lost)


def _check(console: Console, table: str, against: Path | None, options: dict[str, Any]) -> None:
    from csad.experiments.check import check
    from csad.report.checks import as_json, as_rows, captions

    made = check(table, against=against, **options)

    def show() -> None:
        console.table(f"Check of {table}: {made.check.fresh.title}", *as_rows(made.check))
        for line in captions(made.check):
            echo(line)
        echo(f"Written: {made.path}.json, .md, .tex")

    console.answer(as_json(made.check) | {"out": str(made.path.parent), "lost": made.lost}, show)
    console.tell_lost(made.lost)
    if not made.check.passed:
        raise typer.Exit(1)


def _names(text: str) -> list[str]:
    names = [word.strip() for word in text.split(",") if word.strip()]
    if text and not names:
        raise InputError(f"'{text}' names nothing: give names with commas between them, or leave the option out.")
    return names
