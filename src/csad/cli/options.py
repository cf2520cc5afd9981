"""Options that several commands have, each with one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csad.cli.completion import devices
from csad.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
DataRoot = Annotated[
    Path | None, typer.Option("--data-root", envvar="CSAD_DATA", help="The folder that holds the data sets.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.", autocompletion=devices)]
Deterministic = Annotated[bool, typer.Option("--deterministic", help="Only deterministic algorithms.")]
NoRecord = Annotated[bool, typer.Option("--no-record", help="On a GPU, step by step instead of as a CUDA graph.")]
Tensorboard = Annotated[
    bool, typer.Option("--tensorboard", help="Losses and validation figures for TensorBoard too: RUN/tensorboard.")
]
KeepWeights = Annotated[bool, typer.Option("--keep-weights", help="Of many runs, keep the weights too.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting: debias_weight=2, train.epochs=3, data.x=…, net.x=…; several "
        "values make a sweep: debias_weight=.1,1,10."
    ),
]  # fmt: skip
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting for all rows, in place of the table's own."),
]
Folder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="PROBABILITY",
        help="Of two classes, the second is predicted where its probability is above; 0.5: the likelier one.",
    ),
]


def seeds_of(text: str) -> list[int]:
    """The seeds of --seed: one, or several with commas between."""
    try:
        seeds = [int(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"--seed must be whole numbers with commas between, not '{text}'.") from None
    if min(seeds) < 0:
        raise InputError(f"--seed must be 0 or more, not {min(seeds)}.")
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seed names a seed twice: {text}.")
    return seeds
