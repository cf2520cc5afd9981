"""The command that trains: one run, or a sweep of runs; on the user's own table it says first what it found there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from csad.cli.backbones import backbones_in, find_modules_here
from csad.cli.completion import backbones, methods, tasks
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import (
    DataRoot,
    Deterministic,
    Device,
    Json,
    KeepWeights,
    NoRecord,
    Quiet,
    Settings,
    Tensorboard,
    Threshold,
    seeds_of,
)
from csad.cli.own_data import (
    Bias,
    Bins,
    Cost,
    Drop,
    Group,
    Image,
    ImagePlace,
    KeepBias,
    SeriesColumn,
    SeriesColumns,
    SeriesPlace,
    Split,
    Target,
    TargetKind,
    ToldData,
    Width,
    own_settings,
    show_choice,
)
from csad.errors import InputError


@one_sentence
def train(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A data set (csad list datasets), a table (.csv, .parquet) or an .npz of x, y, b.",
            autocompletion=tasks,
        ),
    ],
    method: Annotated[str, typer.Option(help="csad list methods.", autocompletion=methods)] = "csad",
    seed: Annotated[str, typer.Option(help="Weights and order of mini-batches follow from it; several: 0,1,2.")] = "0",
    target: Target = "",
    bias: Bias = None,
    drop: Drop = None,
    group: Group = "",
    split: Split = "",
    width: Width = None,
    bins: Bins = None,
    target_kind: TargetKind = "",
    keep_bias: KeepBias = False,
    image: Image = "",
    images: ImagePlace = None,
    series: SeriesColumn = "",
    series_in: SeriesPlace = None,
    series_columns: SeriesColumns = None,
    cost: Cost = None,
    threshold: Threshold = None,
    set_: Settings = None,
    preset: Annotated[str, typer.Option(help="Named settings of the task, such as authors.")] = "",
    backbone: Annotated[
        str, typer.Option(help="csad list backbones, or package.module:Class.", autocompletion=backbones)
    ] = "",
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/TASK-METHOD-SEED if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Begin anew over an existing run.")] = False,
    keep_weights: KeepWeights = False,
    tensorboard: Tensorboard = False,
    device: Device = "auto",
    deterministic: Deterministic = False,
    no_record: NoRecord = False,
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a method on a task and keep the run as a folder; several values or seeds make a sweep of runs."""
    from csad.data.tables.owned import hearing
    from csad.experiments.folder import Folder
    from csad.experiments.plan import from_words
    from csad.experiments.sweep import is_sweep
    from csad.experiments.tensorboard import for_tensorboard
    from csad.experiments.train import train as train_run

    own = {
        "target": target, "bias": bias, "drop": drop, "group": group, "split": split, "width": width, "bins": bins,
        "target_kind": target_kind, "keep_bias": keep_bias, "image": image, "images": images,
        "series": series, "series_in": series_in, "series_columns": series_columns,
    }  # fmt: skip
    given, seeds = own_settings(task, from_words(set_ or []), own), seeds_of(seed)
    if backbone:
        given["net.backbone"] = backbone
    find_modules_here(backbones_in(given))
    console = Console(as_json, quiet)
    data = ToldData(console)
    options: dict[str, Any] = {
        "preset": preset, "settings": given, "resume": resume, "force": force, "device": device,
        "deterministic": deterministic, "record": not no_record, "data_root": data_root,
    }  # fmt: skip
    if is_sweep(task, method, seeds, given):
        if cost is not None:
            raise InputError("--cost says how debias_weight is chosen for one run, not for several: leave it out.")
        if threshold is not None:
            raise InputError("--threshold is for one run, not for several: give it to csad predict.")
        with hearing(data), for_tensorboard(tensorboard):
            _sweep(console, task, method, seeds, out, keep_weights, options, data)
        return
    options["settings"] = {name: value[0] if isinstance(value, list) else value for name, value in given.items()}
    place = out or Path("runs") / f"{Path(task).stem}-{method}-{seeds[0]}"
    Folder(place).check_free(resume=resume, force=force)
    console.title = f"{Path(task).stem} {method} seed {seeds[0]}"
    try:
        with hearing(data), for_tensorboard(tensorboard):
            run = train_run(
                task, method, seed=seeds[0], out=place, listener=console, cost=cost, threshold=threshold, **options
            )
    finally:
        console.close()
    show_figures(console, run.result | data.about | {"run": str(place)}, str(place))


def _sweep(
    console: Console,
    task: str,
    method: str,
    seeds: list[int],
    out: Path | None,
    keep_weights: bool,
    options: dict[str, Any],
    data: ToldData,
) -> None:
    from csad.experiments.sweep import sweep

    made = sweep(task, method, seeds=seeds, out=out, keep_weights=keep_weights, teller=console, **options)
    lines = made.summary()
    answer = {
        "task": task, "method": method, "seeds": seeds, "varied": made.varied, "summary": lines,
        "runs": made.runs, "lost": made.lost, "out": str(made.out), **data.about,
    }  # fmt: skip

    def show() -> None:
        names = _shown([line["mean"] for line in lines])
        rows = [
            [*map(str, line["values"].values()), str(line["n"]), *(_spread(line, split, name) for split, name in names)]
            for line in lines
        ]
        columns = [*made.varied, "runs", *(f"{split} {name}" for split, name in names)]
        console.table(f"{method} on {task}, seeds {','.join(map(str, seeds))}", columns, rows)
        echo(f"Runs: {made.out}")

    console.answer(answer, show)
    console.tell_lost(made.lost)


def _shown(lines: Sequence[Mapping[str, Mapping[str, float]]]) -> list[tuple[str, str]]:
    """The first figure of each split but that of training; of the last one how the biases fare, too.

    Lines of other rows may have other figures: there is a place for all of them.
    """
    places = dict.fromkeys((split, name) for figures in lines for split in figures for name in figures[split])
    splits = list(dict.fromkeys(split for split, _ in places if split != "train"))
    firsts = ((split, next(iter(figures[split]))) for split in splits for figures in lines if figures.get(split))
    told = list(dict.fromkeys(firsts))
    fare = ("bias_conflicting", "equalised_odds_")
    return told + [place for place in places if place[0] in splits[-1:] and place[1].startswith(fare)]


def _spread(line: dict[str, Any], split: str, name: str) -> str:
    mean, std = (line[part].get(split, {}).get(name) for part in ("mean", "std"))
    if mean is None:
        return "–"
    return f"{mean:.4f}" if std is None else f"{mean:.4f} ± {std:.4f}"


def show_figures(console: Console, result: dict[str, Any], place: str) -> None:
    """Shows the figures of a run, split by split."""
    metrics: dict[str, dict[str, float]] = result["metrics"]

    def show() -> None:
        names = list(dict.fromkeys(name for figures in metrics.values() for name in figures))
        columns = [
            [f"{figures[name]:.4f}" if name in figures else "–" for name in names] for figures in metrics.values()
        ]
        title = f"{result['method']} on {result['task']}, seed {result['seed']}"
        console.table(title, ["figure", *metrics], [list(row) for row in zip(names, *columns, strict=True)])
        if result.get("settings", {}).get("train", {}).get("select_by"):
            echo(f"weights: {result['selection']}")
        if "choice" in result:
            show_choice(console, result["choice"])
        if "threshold" in result:
            echo(f"threshold: {result['threshold']['why']}")
        _show_unit(result.get("data", {}))
        echo(f"Run: {place}")

    console.answer(result, show)


def _show_unit(data: dict[str, Any]) -> None:
    """Says in what unit the errors of a number stand."""
    if spread := data.get("target_spread"):
        told = f"the root of a squared error, times {spread:,.6g}, is in the unit of the target"
        echo(f"Errors: guessing the mean of the training rows gives about 1; {told}.")
