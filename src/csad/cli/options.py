"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csad.cli.completion import devices
from csad.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
DataRoot = Annotated[
    Path | None, typer.Option("--data-root", envvar="CSAD_DATA", help="Folder that holds the data sets.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.", autocompletion=devices)]
Deterministic = Annotated[bool, typer.Option("--deterministic", help="Use deterministic algorithms only.")]
NoRecord = Annotated[bool, typer.Option("--no-record", help="On a GPU, run each step without a CUDA graph.")]
Tensorboard = Annotated[
    bool,
    typer.Option("--tensorboard", help="Also write losses and validation metrics for TensorBoard, in RUN/tensorboard."),
]
KeepWeights = Annotated[bool, typer.Option("--keep-weights", help="Keep the weights of every run of a sweep.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting, as debias_weight=2, train.epochs=3, data.x=… or "
        "net.x=…. Several values make a sweep: debias_weight=.1,1,10."
    ),
]  # fmt: skip
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting for all rows; it replaces the table's own."),
]
Folder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]


Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="PROBABILITY",
        help="Predict the second of two classes when its probability exceeds this. 0.5 predicts the more likely class.",
    ),
]


def seeds_of(text: str) -> list[int]:
    """Parse --seed: one seed, or several with commas between."""
    try:
        seeds = [int(word) for word in text.split(",")]
    except ValueError:
        raise InputError("seed-not-whole-number", value=text) from None
    if min(seeds) < 0:
        raise InputError("negative-seed-option", seed=min(seeds))
    if len(set(seeds)) < len(seeds):
        raise InputError("seed-named-twice", seeds=text)
    return seeds
