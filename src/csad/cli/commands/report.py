"""The command that writes a page, and a model card, about runs."""

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
        list[Path], typer.Argument(metavar="RUN…", help="Run folders on the same data. The verdict is about the first.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="PAGE", help=f"The page to write. Default: {PAGE} in the first run.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The run to compare with. Default: a vanilla run among the others."),
    ] = None,
    card: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a model card, as Markdown.")] = None,
    show_data: Annotated[
        bool, typer.Option("--show-data", help="Show some rows or pictures of the data on the page.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    backbone: OwnBackbones = None,
    device: Device = "auto",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about runs: verdict, comparison, accuracy of each group, what the model uses, limits."""
    from csad.report.card import model_card
    from csad.report.gather import findings_of
    from csad.report.page import run_page
    from csad.report.wording import audited_rows, headline

    console = Console(as_json, quiet)
    place = out if out is not None else runs[0] / PAGE
    every = load_runs([*runs, *([] if against is None else [against])], backbone, device)
    loaded, other = every[: len(runs)], None if against is None else every[-1]
    _check_places(place, card, force=force)
    findings = findings_of(loaded, against=other, data_root=data_root, show_data=show_data, tell=console.message)
    _write(place, run_page(findings), "--out")
    if card is not None:
        _write(card, model_card(findings), "--card")
    audit = findings.main.audit
    answer = {
        "report": str(place), "card": str(card) if card else None, "state": audit.state, "words": audit.words,
        "runs": {run.name: {"state": run.audit.state, "words": run.audit.words} for run in findings.runs},
        "before": findings.before.name if findings.before else None, "notes": list(findings.notes),
        "shows_data": show_data,
    }  # fmt: skip

    def show() -> None:
        echo(headline(audit))
        echo(f"{audit.words} The audit used {audited_rows(findings.main.record)}.")
        for note in findings.notes:
            echo(f"Note: {note}")
        echo(f"Written: {place}" + (f", {card}" if card else ""))

    console.answer(answer, show)


def _check_places(page: Path, card: Path | None, *, force: bool) -> None:
    """Raise InputError if a file cannot be written, or exists and --force is not given."""
    places = {"--out": page} | ({} if card is None else {"--card": card})
    for option, place in places.items():
        if place.is_dir() or not place.parent.is_dir():
            raise InputError("report-path-invalid", file=place, option=option)
        if not os.access(place.parent, os.W_OK):
            raise InputError("report-folder-read-only", file=place, option=option)
        if place.exists() and not force:
            raise InputError("report-file-exists", file=place, option=option)
    misnamed = [
        place for place, ends in ((page, (".html", ".htm")), (card, (".md",))) if place and not _ends(place, ends)
    ]
    if misnamed:
        raise InputError("report-file-ending", file=misnamed[0])


def _ends(place: Path, ends: tuple[str, ...]) -> bool:
    return place.suffix.lower() in ends


def _write(place: Path, text: str, option: str) -> None:
    from csad.atomic import write_whole

    try:
        write_whole(place, text)
    except OSError as error:
        raise InputError("report-write-failed", file=place, reason=error.strerror or error, option=option) from error
