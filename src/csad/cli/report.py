"""The command that writes a page, and a model card, on what was found of runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Device, Json, Quiet
from csad.errors import InputError

PAGE = "report.html"


@one_sentence
def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Run folders on the same data; the verdict is on the first.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="PAGE", help=f"Where the page goes; {PAGE} in the first run if not given.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="What it is held against; if not given, a vanilla run among the others."),
    ] = None,
    card: Annotated[Path | None, typer.Option(metavar="FILE", help="A model card too, as Markdown.")] = None,
    show_data: Annotated[
        bool, typer.Option("--show-data", help="Show some rows or pictures of the data on the page.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    backbone: OwnBackbones = None,
    device: Device = "auto",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page on runs: the verdict, before and after, who pays, what the model goes by, its limits."""
    from csad.experiments.reports.reporting import findings_of
    from csad.report.audit_words import audited_rows, headline
    from csad.report.card import model_card
    from csad.report.run_page import run_page

    console = Console(as_json, quiet)
    place = out if out is not None else runs[0] / PAGE
    every = load_runs([*runs, *([] if against is None else [against])], backbone, device)
    loaded, other = every[: len(runs)], None if against is None else every[-1]
    _check_places(place, card, force=force)
    found = findings_of(loaded, against=other, data_root=data_root, show_data=show_data, tell=console.say)
    _write(place, run_page(found), "--out")
    if card is not None:
        _write(card, model_card(found), "--card")
    audit = found.main.audit
    answer = {
        "report": str(place), "card": str(card) if card else None, "state": audit["state"], "words": audit["words"],
        "runs": {run.name: {"state": run.audit["state"], "words": run.audit["words"]} for run in found.runs},
        "before": found.before.name if found.before else None, "notes": list(found.notes), "shows_data": show_data,
    }  # fmt: skip

    def show() -> None:
        echo(headline(audit))
        echo(f"{audit['words']} The audit is of {audited_rows(audit)}.")
        for note in found.notes:
            echo(f"Note: {note}")
        echo(f"Written: {place}" + (f", {card}" if card else ""))

    console.answer(answer, show)


def _check_places(page: Path, card: Path | None, *, force: bool) -> None:
    """Nothing, or an error where a file could not be written, or would replace another unasked: before the work."""
    places = {"--out": page} | ({} if card is None else {"--card": card})
    for option, place in places.items():
        if place.is_dir() or not place.parent.is_dir():
            raise InputError(f"{place} cannot be written: it is a folder, or lies in none: give another {option}.")
        if not os.access(place.parent, os.W_OK):
            raise InputError(f"{place} cannot be written: its folder is read-only: give another {option}.")
        if place.exists() and not force:
            raise InputError(f"{place} exists: give --force to write over it, or another {option}.")
    wrong = [place for place, ends in ((page, (".html", ".htm")), (card, (".md",))) if place and not _ends(place, ends)]
    if wrong:
        raise InputError(f"{wrong[0]} must end in .html for a page, in .md for a card: give another name.")


def _ends(place: Path, ends: tuple[str, ...]) -> bool:
    return place.suffix.lower() in ends


def _write(place: Path, text: str, option: str) -> None:
    from csad.atomic import write_whole

    try:
        write_whole(place, text)
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror or error}): give another {option}.") from error
