"""The commands: demo, train, reproduce, evaluate, list, doctor."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from csad import __version__
from csad.cli.console import Console, one_sentence
from csad.cli.options import DataRoot, Deterministic, Device, Folder, Json, KeepWeights, NoRecord, Quiet, Settings
from csad.cli.tables import reproduce
from csad.errors import InputError, unknown

app = typer.Typer(
    help="Train models that do not lean on a known bias, and prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"csad {__version__}")
        raise typer.Exit


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A line for the user, without the file and the line of code that Python would add."""
    typer.echo(f"csad: warning: {message}", err=True)


@app.callback()
def csad(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train models that do not lean on a known bias, and prove it."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # package.module:Class is looked for where the user stands, too
    warnings.showwarning = _show_warning


@app.command()
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
    seeds = _seeds(seed)
    summary = run_demo(out, seeds, console, force=force, device=device)

    def show() -> None:
        rows = [
            [name, f"{row['accuracy']:.3f}", f"{row['std']:.3f}" if len(seeds) > 1 else "", str(row["target_updates"])]
            for name, row in summary["methods"].items()
        ]
        console.table("Accuracy on test digits in random colours", ["method", "mean", "std", "target updates"], rows)
        typer.echo(f"CSAD is {100 * summary['gain']:+.1f} points above vanilla. Report: {summary['report']}")

    console.answer(summary, show)


@app.command()
@one_sentence
def train(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A data set (csad list datasets) or an .npz of x, y, b.")],
    method: Annotated[str, typer.Option(help="csad list methods.")] = "csad",
    seed: Annotated[str, typer.Option(help="Weights and order of mini-batches follow from it; several: 0,1,2.")] = "0",
    set_: Settings = None,
    preset: Annotated[str, typer.Option(help="Named settings of the task, such as authors.")] = "",
    backbone: Annotated[str, typer.Option(help="csad list backbones, or package.module:Class.")] = "",
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/TASK-METHOD-SEED if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Begin anew over an existing run.")] = False,
    keep_weights: KeepWeights = False,
    device: Device = "auto",
    deterministic: Deterministic = False,
    no_record: NoRecord = False,
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a method on a task and keep the run as a folder; several values or seeds make a sweep of runs."""
    from csad.experiments.plan import from_words
    from csad.experiments.sweep import is_sweep
    from csad.experiments.train import train as train_run

    given, seeds = from_words(set_ or []), _seeds(seed)
    if backbone:
        given["net.backbone"] = backbone
    console = Console(as_json, quiet)
    options: dict[str, Any] = {
        "preset": preset, "settings": given, "resume": resume, "force": force, "device": device,
        "deterministic": deterministic, "record": not no_record, "data_root": data_root,
    }  # fmt: skip
    if is_sweep(task, method, seeds, given):
        _sweep(console, task, method, seeds, out, keep_weights, options)
        return
    place = out or Path("runs") / f"{Path(task).stem}-{method}-{seeds[0]}"
    console.title = f"{Path(task).stem} {method} seed {seeds[0]}"
    try:
        run = train_run(task, method, seed=seeds[0], out=place, listener=console, **options)
    finally:
        console.close()
    _show_figures(console, run.result | {"run": str(place)}, str(place))


def _sweep(
    console: Console,
    task: str,
    method: str,
    seeds: list[int],
    out: Path | None,
    keep_weights: bool,
    options: dict[str, Any],
) -> None:
    from csad.experiments.sweep import sweep

    made = sweep(task, method, seeds=seeds, out=out, keep_weights=keep_weights, teller=console, **options)
    lines = made.summary()
    answer = {
        "task": task, "method": method, "seeds": seeds, "varied": made.varied, "summary": lines,
        "runs": made.runs, "lost": made.lost, "out": str(made.out),
    }  # fmt: skip

    def show() -> None:
        splits = [split for split in (lines[0]["mean"] if lines else {}) if split != "train"]
        names = [(split, next(iter(lines[0]["mean"][split]))) for split in splits]
        rows = [
            [*map(str, line["values"].values()), str(line["n"]), *(_spread(line, split, name) for split, name in names)]
            for line in lines
        ]
        columns = [*made.varied, "runs", *(f"{split} {name}" for split, name in names)]
        console.table(f"{method} on {task}, seeds {','.join(map(str, seeds))}", columns, rows)
        typer.echo(f"Runs: {made.out}")

    console.answer(answer, show)
    console.tell_lost(made.lost)


def _spread(line: dict[str, Any], split: str, name: str) -> str:
    mean, std = line["mean"][split][name], line["std"][split][name]
    return f"{mean:.4f}" if std is None else f"{mean:.4f} ± {std:.4f}"


def _seeds(text: str) -> list[int]:
    try:
        seeds = [int(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"--seed must be whole numbers with commas between, not '{text}'.") from None
    if min(seeds) < 0:
        raise InputError(f"--seed must be 0 or more, not {min(seeds)}.")
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seed names a seed twice: {text}.")
    return seeds


app.command()(reproduce)


@app.command()
@one_sentence
def evaluate(
    run: Folder, data_root: DataRoot = None, device: Device = "auto", as_json: Json = False, quiet: Quiet = False
) -> None:
    """Read a run and its data again, and show its figures on every split."""
    from csad.experiments.run import data_of, load
    from csad.experiments.run import evaluate as evaluate_run

    found = load(run, device=device)
    about = {key: found.config[key] for key in ("task", "method", "seed")}
    metrics = evaluate_run(found, data_of(found, data_root))
    _show_figures(Console(as_json, quiet), about | {"metrics": metrics, "run": str(run)}, str(run))


def _show_figures(console: Console, result: dict[str, Any], place: str) -> None:
    metrics: dict[str, dict[str, float]] = result["metrics"]

    def show() -> None:
        names = list(dict.fromkeys(name for figures in metrics.values() for name in figures))
        columns = [
            [f"{figures[name]:.4f}" if name in figures else "–" for name in names] for figures in metrics.values()
        ]
        title = f"{result['method']} on {result['task']}, seed {result['seed']}"
        console.table(title, ["figure", *metrics], [list(row) for row in zip(names, *columns, strict=True)])
        typer.echo(f"Run: {place}")

    console.answer(result, show)


@app.command("list")
@one_sentence
def list_(
    what: Annotated[
        str, typer.Argument(help="methods, datasets, backbones, bounds, tables or settings; all if not given.")
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


@app.command()
@one_sentence
def doctor(data_root: DataRoot = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Check this machine: versions, devices, data, and a training of a few steps."""
    from csad.cli.doctor import examine

    findings = examine(data_root)
    console = Console(as_json, quiet)
    sound = all(finding.state != "broken" for finding in findings)

    def show() -> None:
        console.table("csad doctor", ["what", "state", "finding"], [list(finding) for finding in findings])
        typer.echo("All that csad needs is here." if sound else "Something that csad needs is broken: see above.")

    console.answer({"sound": sound, "findings": [f._asdict() for f in findings]}, show)
    if not sound:
        raise typer.Exit(1)
