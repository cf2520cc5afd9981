"""The command that reproduces a table of the paper, or checks one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from csad.cli.backbones import backbones_in, find_modules_here
from csad.cli.completion import table_names
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Deterministic, Device, Json, KeepWeights, NoRecord, Overrides, Quiet
from csad.errors import InputError


@one_sentence
def reproduce(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="The table's name: see csad list tables.", autocompletion=table_names)
    ],
    methods: Annotated[str, typer.Option(help="Train these rows only, as csad,vanilla.")] = "",
    columns: Annotated[str, typer.Option(help="Train these columns only, as 0.020,0.050.")] = "",
    seeds: Annotated[
        int | None,
        typer.Option(help="Number of seeds. Default: that of the table; with --check, that of the committed table."),
    ] = None,
    set_: Overrides = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare a committed table with new runs of other seeds: pass or fail.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The table that --check reads. Default: docs/results/TABLE.json."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for runs and table. Default: runs/TABLE, or runs/TABLE-check.")
    ] = None,
    keep_weights: KeepWeights = False,
    device: Device = "auto",
    deterministic: Deterministic = False,
    no_record: NoRecord = False,
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce a table of the paper, with the paper's numbers beside ours. Finished runs are not trained again."""
    import shlex

    from csad.reproduction.reproduce import reproduce as make_table
    from csad.reproduction.result_table import as_json as table_as_json
    from csad.reproduction.result_table import as_rows, captions
    from csad.runs.settings import from_words

    console = Console(as_json, quiet)
    options_given = [f"--{name} {shlex.quote(str(value))}" for name, value in
            (("methods", methods), ("columns", columns), ("seeds", seeds), ("against", against)) if value]  # fmt: skip
    options_given += [f"--set {shlex.quote(word)}" for word in set_ or []]
    settings = from_words(set_ or [])
    find_modules_here(backbones_in(settings))
    options: dict[str, Any] = {
        "rows": _names(methods), "columns": _names(columns), "seeds": seeds, "settings": settings,
        "out": out, "keep_weights": keep_weights, "device": device, "deterministic": deterministic,
        "record": not no_record, "data_root": data_root, "listener": console,
        "command": " ".join(["csad reproduce", table, *["--check"] * check, *options_given]),
    }  # fmt: skip
    if check:
        _check(console, table, against, options)
        return
    if against is not None:
        raise InputError("against-without-check")
    reproduced = make_table(table, **options)

    def show() -> None:
        console.table(reproduced.table.title, *as_rows(reproduced.table))
        for line in captions(reproduced.table):
            echo(line)
        plot = ", .svg" if reproduced.path.with_name(f"{reproduced.path.name}.svg").exists() else ""
        echo(f"Written: {reproduced.path}.json, .md, .tex{plot}")

    console.answer(
        table_as_json(reproduced.table) | {"out": str(reproduced.path.parent), "lost": reproduced.lost}, show
    )
    console.tell_lost(reproduced.lost)


def _check(console: Console, table: str, against: Path | None, options: dict[str, Any]) -> None:
    from csad.reproduction.check import check, check_as_json, check_as_rows, check_captions

    checked = check(table, against=against, **options)

    def show() -> None:
        console.table(f"Check of {table}: {checked.check.fresh.title}", *check_as_rows(checked.check))
        for line in check_captions(checked.check):
            echo(line)
        echo(f"Written: {checked.path}.json, .md, .tex")

    console.answer(check_as_json(checked.check) | {"out": str(checked.path.parent), "lost": checked.lost}, show)
    console.tell_lost(checked.lost)
    if not checked.check.passed:
        raise typer.Exit(1)


def _names(text: str) -> list[str]:
    names = [word.strip() for word in text.split(",") if word.strip()]
    if text and not names:
        raise InputError("empty-name-list", value=text)
    return names
