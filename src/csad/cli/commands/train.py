"""The command that trains one run, or a sweep of runs."""

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
from csad.cli.table_options import (
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
    TableNotices,
    Target,
    TargetKind,
    Width,
    table_settings,
)
from csad.errors import InputError


@one_sentence
def train(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A data set (csad list datasets), a table (.csv, .parquet), or an .npz file of x, y, b.",
            autocompletion=tasks,
        ),
    ],
    method: Annotated[
        str, typer.Option(help="The method's name: see csad list methods.", autocompletion=methods)
    ] = "csad",
    seed: Annotated[str, typer.Option(help="Random seed of weights and mini-batches, or several: 0,1,2.")] = "0",
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
        str, typer.Option(help="A name (csad list backbones), or package.module:Class.", autocompletion=backbones)
    ] = "",
    out: Annotated[Path | None, typer.Option(help="The run folder. Default: runs/TASK-METHOD-SEED.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a run that was stopped.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run.")] = False,
    keep_weights: KeepWeights = False,
    tensorboard: Tensorboard = False,
    device: Device = "auto",
    deterministic: Deterministic = False,
    no_record: NoRecord = False,
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a method on a task and save the run as a folder. Several values or seeds make a sweep of runs."""
    from csad.runs.folder import Folder
    from csad.runs.listeners import tensorboard_events
    from csad.runs.settings import from_words
    from csad.sweeps.sweep import is_sweep
    from csad.sweeps.train import train as train_run

    table_options = {
        "target": target, "bias": bias, "drop": drop, "group": group, "split": split, "width": width, "bins": bins,
        "target_kind": target_kind, "keep_bias": keep_bias, "image": image, "images": images,
        "series": series, "series_in": series_in, "series_columns": series_columns,
    }  # fmt: skip
    settings, seeds = table_settings(task, from_words(set_ or []), table_options), seeds_of(seed)
    if backbone:
        settings["net.backbone"] = backbone
    find_modules_here(backbones_in(settings))
    console = Console(as_json, quiet)
    data = TableNotices(console)
    options: dict[str, Any] = {
        "preset": preset, "settings": settings, "resume": resume, "force": force, "device": device,
        "deterministic": deterministic, "record": not no_record, "data_root": data_root,
    }  # fmt: skip
    if _has_lists(seeds, settings) and is_sweep(task, method, seeds, settings):
        if cost is not None:
            raise InputError("cost-with-several-runs")
        if threshold is not None:
            raise InputError("threshold-with-several-runs")
        with tensorboard_events(data, tensorboard) as options["listener"]:
            _sweep(console, task, method, seeds, out, keep_weights, options, data)
        return
    options["settings"] = {name: value[0] if isinstance(value, list) else value for name, value in settings.items()}
    place = out or Path("runs") / f"{Path(task).stem}-{method}-{seeds[0]}"
    Folder(place).check_free(resume=resume, force=force)
    with tensorboard_events(data, tensorboard) as options["listener"]:
        run = train_run(task, method, seed=seeds[0], out=place, cost=cost, threshold=threshold, **options)
    show_metrics(console, run.result | data.about | {"run": str(place)}, str(place))


def _has_lists(seeds: Sequence[int], settings: Mapping[str, Any]) -> bool:
    """Whether there may be several values: a list of them, or a comma, which may also stand within one value."""
    values = [value for value in settings.values() if isinstance(value, list | str)]
    return len(seeds) > 1 or any("," in value if isinstance(value, str) else len(value) > 1 for value in values)


def _sweep(
    console: Console,
    task: str,
    method: str,
    seeds: list[int],
    out: Path | None,
    keep_weights: bool,
    options: dict[str, Any],
    data: TableNotices,
) -> None:
    from csad.sweeps.sweep import sweep

    result = sweep(task, method, seeds=seeds, out=out, keep_weights=keep_weights, **options)
    lines = result.summary()
    answer = {
        "task": task, "method": method, "seeds": seeds, "varied": result.varied, "summary": lines,
        "runs": result.runs, "lost": result.lost, "out": str(result.out), **data.about,
    }  # fmt: skip

    def show() -> None:
        names = _shown([line["mean"] for line in lines])
        rows = [
            [*map(str, line["values"].values()), str(line["n"]), *(_spread(line, split, name) for split, name in names)]
            for line in lines
        ]
        columns = [*result.varied, "runs", *(f"{split} {name}" for split, name in names)]
        console.table(f"{method} on {task}, seeds {','.join(map(str, seeds))}", columns, rows)
        echo(f"Runs: {result.out}")

    console.answer(answer, show)
    console.tell_lost(result.lost)


def _shown(lines: Sequence[Mapping[str, Mapping[str, float]]]) -> list[tuple[str, str]]:
    """The first metric of each split but that of training, and for the last split those of the biases.

    Lines of other rows may have other metrics: the table has a column for each of them.
    """
    places = dict.fromkeys((split, name) for figures in lines for split in figures for name in figures[split])
    splits = list(dict.fromkeys(split for split, _ in places if split != "train"))
    firsts = ((split, next(iter(figures[split]))) for split in splits for figures in lines if figures.get(split))
    shown = list(dict.fromkeys(firsts))
    from csad.auditing.metrics.metric import METRICS

    summaries = [name for _, name in places if name in METRICS and METRICS[name].summary]
    return shown + [place for place in places if place[0] in splits[-1:] and place[1] in summaries]


def _spread(line: dict[str, Any], split: str, name: str) -> str:
    mean, std = (line[part].get(split, {}).get(name) for part in ("mean", "std"))
    if mean is None:
        return "–"
    return f"{mean:.4f}" if std is None else f"{mean:.4f} ± {std:.4f}"


def show_metrics(console: Console, result: dict[str, Any], place: str) -> None:
    """Show the metrics of a run, split by split."""
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
            _show_choice(console, result["choice"])
        if "threshold" in result:
            echo(f"threshold: {result['threshold']['why']}")
        _show_unit(result.get("data", {}))
        echo(f"Run: {place}")

    console.answer(result, show)


def _show_unit(data: dict[str, Any]) -> None:
    """Show the unit of the errors of a numeric target."""
    if spread := data.get("target_spread"):
        unit = f"the square root of an error, times {spread:,.6g}, is in the unit of the target"
        echo(f"Errors: predicting the mean of the training rows gives about 1; {unit}.")


def _show_choice(console: Console, choice: Mapping[str, Any]) -> None:
    """Show the weights that were tried, the chosen trial, and the reason."""
    rows = [
        [
            "vanilla" if trial["debias_weight"] is None else f"{trial['debias_weight']:g}",
            f"{trial['score']:.3f}",
            f"{trial['leakage']:.3f}",
            "" if trial["epoch"] is None else f"{trial['epoch']} of {choice['epochs']}",
            "chosen" if trial["debias_weight"] == choice["debias_weight"] else "",
        ]
        for trial in (choice["vanilla"], *choice["tried"])
    ]
    rows += [[f"{weight:g}", "–", "–", "–", "diverged"] for weight in choice["lost"]]
    title = f"Tuning of debias_weight on {choice['rows']:,} validation rows"
    console.table(title, ["debias_weight", choice["score"], "leakage (AUC)", "after epoch", ""], rows)
    echo(f"debias_weight: {choice['why']}")
