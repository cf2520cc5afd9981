"""The command that trains on embedded data: a first look at what csad does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Device, Json, Quiet, seeds_of


@one_sentence
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the runs and the page.")] = Path("demo"),
    seed: Annotated[str, typer.Option(help="One seed, or several: 0,1,2.")] = "0",
    force: Annotated[bool, typer.Option("--force", help="Train again, even if finished runs exist.")] = False,
    device: Device = "cpu",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare vanilla and CSAD on coloured digits, without a download. Takes a few minutes and writes report.html."""
    from csad.report.demo import run_demo

    console = Console(as_json, quiet)
    seeds = seeds_of(seed)
    summary = run_demo(out, seeds, console, force=force, device=device)

    def show() -> None:
        rows = [
            [name, f"{row['accuracy']:.3f}", f"{row['std']:.3f}" if len(seeds) > 1 else "", str(row["target_updates"])]
            for name, row in summary["methods"].items()
        ]
        console.table("Accuracy on test digits in random colors", ["method", "mean", "std", "target updates"], rows)
        echo(f"CSAD minus vanilla: {100 * summary['gain']:+.1f} points. Report: {summary['report']}")

    console.answer(summary, show)
