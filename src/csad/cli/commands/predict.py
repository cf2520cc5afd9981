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
    out: Annotated[Path, typer.Option(help="The file for the predictions.")] = Path("predictions.csv"),
    id_: Annotated[
        str, typer.Option("--id", metavar="COLUMN", help="Column that names the rows. Default: row numbers from 1.")
    ] = "",
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            "--series-in",
            metavar="PLACE",
            help="Folder, .zip or .tar of pictures or series. Default: that of the training.",
        ),
    ] = None,
    threshold: Threshold = None,
    excel_safe: Annotated[
        bool,
        typer.Option("--excel-safe", help="Write an apostrophe before text that a spreadsheet would run as a formula."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    backbone: OwnBackbones = None,
    device: Device = "auto",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict each row of a file, and write classes with probabilities, or numbers, as CSV."""
    from csad.deploy.decision import HALF, checked_threshold
    from csad.deploy.predictions import check_free, formula_notice, write_predictions

    console = Console(as_json, quiet)
    check_free(out, file, force=force)
    if run.suffix.lower() == ".onnx":  # an exported file, which works without torch
        from csad.deploy.files import predict_file as predict_by_file

        if backbone:
            raise InputError("backbone-option-not-needed", file=run)
        predictions = predict_by_file(run, file, id_column=id_, images=images or "")
    else:
        from csad.runs.predict import predict_file

        [loaded] = load_runs([run], backbone, device)
        predictions = predict_file(loaded, file, id_column=id_, images=images or "", data_root=data_root)
    if threshold is not None:
        predictions = replace(predictions, threshold=checked_threshold(threshold, len(predictions.classes)))
    if not excel_safe and (notice := formula_notice(predictions, out)):
        predictions = replace(predictions, notices=(*predictions.notices, notice))
    write_predictions(out, predictions, safe=excel_safe)
    for notice in predictions.notices:
        console.notice(notice)
    answer = {
        "run": str(run), "file": str(file), "out": str(out), "rows": len(predictions.ids), "id": predictions.id_name,
        "classes": list(predictions.classes), "counts": predictions.counts(), "notices": list(predictions.notices),
        "threshold": predictions.threshold if len(predictions.classes) == 2 else None,
    }  # fmt: skip

    def show() -> None:
        if predictions.classes:
            rows = [[name, str(count)] for name, count in predictions.counts().items()]
            console.table("Predictions", ["class", "rows"], rows)
        if predictions.threshold != HALF:
            name, threshold = predictions.classes[1], predictions.threshold
            echo(f"A row is predicted '{name}' when its probability exceeds {threshold:.3g}.")
        echo(f"Written: {out} ({len(predictions.ids):,} rows of {file.name})")

    console.answer(answer, show)
