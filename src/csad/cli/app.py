"""The commands; those with much to say have a file of their own."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from csad import __version__
from csad.cli.audit import audit
from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.cache import cache
from csad.cli.completion import lists
from csad.cli.console import Console, echo, one_sentence
from csad.cli.export import export
from csad.cli.once import Once
from csad.cli.options import DataRoot, Device, Folder, Json, Quiet, seeds_of
from csad.cli.predict import predict
from csad.cli.report import report
from csad.cli.simulate import simulate
from csad.cli.tables import reproduce
from csad.cli.train import show_figures, train
from csad.errors import unknown

app = typer.Typer(
    help="Train models that do not lean on a known bias, and prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
command = partial(app.command, cls=Once)


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"csad {__version__}")
        raise typer.Exit


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A line for the user, without the file and the line of code that Python would add."""
    echo(f"csad: warning: {message}", err=True)


@app.callback()
def csad(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train models that do not lean on a known bias, and prove it."""
    warnings.showwarning = _show_warning


@command()
@one_sentence
def demo(
    out: Annotated[Path, typer.Option(help="Where runs and page go.")] = Path("demo"),
    seed: Annotated[str, typer.Option(help="One seed, or several: 0,1,2.")] = "0",
    force: Annotated[bool, typer.Option("--force", help="Train again even where finished runs are there.")] = False,
    device: Device = "cpu",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Vanilla against CSAD on coloured digits: no download, a few minutes, ends with report.html."""
    from csad.experiments.demo import run_demo

    console = Console(as_json, quiet)
    seeds = seeds_of(seed)
    summary = run_demo(out, seeds, console, force=force, device=device)

    def show() -> None:
        rows = [
            [name, f"{row['accuracy']:.3f}", f"{row['std']:.3f}" if len(seeds) > 1 else "", str(row["target_updates"])]
            for name, row in summary["methods"].items()
        ]
        console.table("Accuracy on test digits in random colours", ["method", "mean", "std", "target updates"], rows)
        echo(f"CSAD is {100 * summary['gain']:+.1f} points above vanilla. Report: {summary['report']}")

    console.answer(summary, show)


command()(train)
command()(predict)
command()(reproduce)
command()(audit)
command()(report)
command()(export)
command()(simulate)
command()(cache)


@command()
@one_sentence
def evaluate(
    run: Folder,
    backbone: OwnBackbones = None,
    data_root: DataRoot = None,
    device: Device = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read a run and its data again, and show its figures on every split."""
    from csad.experiments.reading import name_of
    from csad.experiments.run import data_of
    from csad.experiments.run import evaluate as evaluate_run

    [found] = load_runs([run], backbone, device)
    about = {key: found.config[key] for key in ("method", "seed")} | {"task": name_of(found.config["task"])}
    metrics = evaluate_run(found, data_of(found, data_root))
    show_figures(Console(as_json, quiet), about | {"metrics": metrics, "run": str(run)}, str(run))


@command("list")
@one_sentence
def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="methods, datasets, backbones, bounds, tables or settings; all if not given.", autocompletion=lists
        ),
    ] = "",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What there is to choose from, with settings."""
    from csad.cli.inventory import KINDS, inventory

    if what and what not in KINDS:
        raise unknown("list", what, KINDS)
    found = {kind: inventory(kind) for kind in ([what] if what else KINDS)}
    console = Console(as_json, quiet)

    def show() -> None:
        for kind, entries in found.items():
            rows = [[e["name"], e["about"], "  ".join(f"{k}={v}" for k, v in e["settings"].items())] for e in entries]
            console.table(kind, ["name", "what it is", "settings"], rows)

    console.answer(found, show)


@command()
@one_sentence
def doctor(data_root: DataRoot = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Check this machine: versions, devices, data, and a training of a few steps."""
    from csad.cli.doctor import examine

    findings = examine(data_root)
    console = Console(as_json, quiet)
    sound = all(finding.state != "broken" for finding in findings)

    def show() -> None:
        console.table("csad doctor", ["what", "state", "finding"], [list(finding) for finding in findings])
        echo("All that csad needs is here." if sound else "Something that csad needs is broken: see above.")

    console.answer({"sound": sound, "findings": [f._asdict() for f in findings]}, show)
    if not sound:
        raise typer.Exit(1)
