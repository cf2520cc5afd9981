"""The command that predicts for the rows of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Device, Folder, Json, Quiet, Threshold
from csad.errors import InputError


@one_sentence
def predict(
    run: Folder,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A table of raw values (.csv, .parquet), or x as .npz or .npy.")
    ],
    out: Annotated[Path, typer.Option(help="Where predictions go.")] = Path("predictions.csv"),
    id_: Annotated[
        str, typer.Option("--id", metavar="COLUMN", help="What rows are known by; row numbers from 1 if not given.")
    ] = "",
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            "--series-in",
            metavar="PLACE",
            help="Folder, .zip or .tar of pictures or series; if not given, that of the training.",
        ),
    ] = None,
    threshold: Threshold = None,
    excel_safe: Annotated[
        bool,
        typer.Option("--excel-safe", help="Write an apostrophe in front of what a spreadsheet takes for a formula."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    backbone: OwnBackbones = None,
    device: Device = "auto",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict for each row of a file: the class or number, and the probability of each class, as a CSV file."""
    from csad.deploy.decision import HALF, checked_threshold
    from csad.deploy.predictions import check_free, formula_notice, write_predictions

    console = Console(as_json, quiet)
    check_free(out, file, force=force)
    if run.suffix.lower() == ".onnx":  # an exported file, for which torch need not be there
        from csad.deploy import predict_file as predict_by_file

        if backbone:
            raise InputError(f"--backbone is for a run: {run} holds its backbone itself, so leave it out.")
        found = predict_by_file(run, file, id_column=id_, images=images or "")
    else:
        from csad.experiments.predicting import predict_file

        [loaded] = load_runs([run], backbone, device)
        found = predict_file(loaded, file, id_column=id_, images=images or "", data_root=data_root)
    if threshold is not None:
        found = replace(found, threshold=checked_threshold(threshold, len(found.classes)))
    if not excel_safe and (notice := formula_notice(found, out)):
        found = replace(found, notices=(*found.notices, notice))
    write_predictions(out, found, safe=excel_safe)
    for notice in found.notices:
        console.notice(notice)
    answer = {
        "run": str(run), "file": str(file), "out": str(out), "rows": len(found.ids), "id": found.id_name,
        "classes": list(found.classes), "counts": found.counts(), "notices": list(found.notices),
        "threshold": found.threshold if len(found.classes) == 2 else None,
    }  # fmt: skip

    def show() -> None:
        if found.classes:
            rows = [[name, str(count)] for name, count in found.counts().items()]
            console.table("Predictions", ["class", "rows"], rows)
        if found.threshold != HALF:
            echo(f"'{found.classes[1]}' is said where its probability is above {found.threshold:.3g}.")
        echo(f"Written: {out}, {len(found.ids):,} rows of {file.name}")

    console.answer(answer, show)
